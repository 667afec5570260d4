package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"paddock/fence"
)

// maxSearchPoints bounds the points of one request.
const maxSearchPoints = 1_000_000

// searcher answers look-ups from one snapshot of each set, so that all answers
// of a request agree.
type searcher struct {
	sets []searchSet
	refs []fence.Ref
}

type searchSet struct {
	name []byte // as JSON
	snap *fence.Snapshot
}

func (a *API) searcher(name string) (*searcher, error) {
	s := &searcher{}
	for set := range a.cfg.Catalog.All() {
		if name == "" || name == set.Name() {
			s.sets = append(s.sets, searchSet{quote(set.Name()), set.Snapshot()})
		}
	}
	if name != "" && len(s.sets) == 0 {
		return nil, fail(http.StatusNotFound, "no set %q; GET /v1/sets lists them", name)
	}
	return s, nil
}

// append appends {"fences":[...]} for one point.
func (s *searcher) append(b []byte, p fence.Point) []byte {
	b = append(b, `{"fences":[`...)
	first := true
	for i := range s.sets {
		set := &s.sets[i]
		s.refs = set.snap.Append(s.refs[:0], p.Lon, p.Lat)
		for _, ref := range s.refs {
			f := set.snap.Fence(ref)
			if !first {
				b = append(b, ',')
			}
			first = false
			b = append(append(b, `{"set":`...), set.name...)
			b = append(append(b, `,"id":`...), quote(f.Key)...)
			b = append(b, `,"properties":`...)
			if f.Properties == nil {
				b = append(b, "null"...)
			} else {
				b = append(b, f.Properties...)
			}
			b = append(b, '}')
		}
	}
	return append(b, `]}`...)
}

func (a *API) getSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "lon", "lat", "set")
	if err != nil {
		return err
	}
	var p fence.Point
	for name, to := range map[string]*float64{"lon": &p.Lon, "lat": &p.Lat} {
		v, err := strconv.ParseFloat(q.Get(name), 64)
		if err != nil {
			return fail(http.StatusBadRequest, "query: %s %q is not a number", name, q.Get(name))
		}
		*to = v
	}
	if err := checkPoint(p); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	s, err := a.searcher(q.Get("set"))
	if err != nil {
		return err
	}
	return answer(w, "application/json", append(s.append(nil, p), '\n'))
}

// postSearch takes a point, {"points":[...]}, or one point a line.
func (a *API) postSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set")
	if err != nil {
		return err
	}
	s, err := a.searcher(q.Get("set"))
	if err != nil {
		return err
	}
	body, err := readBody(w, r, a.cfg.MaxBody)
	if err != nil {
		return err
	}
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if slices.Contains([]string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, media) {
		return s.lines(w, body)
	}
	return s.document(w, body)
}

// document answers a body that is one JSON value.
func (s *searcher) document(w http.ResponseWriter, body []byte) error {
	var many struct {
		Points []json.RawMessage `json:"points"`
	}
	if err := json.Unmarshal(body, &many); err != nil && !json.Valid(body) {
		return fail(http.StatusBadRequest, "body: malformed JSON: %v", err)
	}
	if many.Points == nil {
		p, err := readPoint(body)
		if err != nil {
			return fail(http.StatusBadRequest, "body: %v", err)
		}
		return answer(w, "application/json", append(s.append(nil, p), '\n'))
	}
	if len(many.Points) > maxSearchPoints {
		return fail(http.StatusRequestEntityTooLarge, "body: %d points, the limit is %d", len(many.Points), maxSearchPoints)
	}
	b := []byte(`{"results":[`)
	for i, raw := range many.Points {
		p, err := readPoint(raw)
		if err != nil {
			return fail(http.StatusBadRequest, "points[%d]: %v", i, err)
		}
		if i > 0 {
			b = append(b, ',')
		}
		b = s.append(b, p)
	}
	return answer(w, "application/json", append(b, "]}\n"...))
}

// lines answers one line for each line; a bad one is answered with its error.
func (s *searcher) lines(w http.ResponseWriter, body []byte) error {
	var b []byte
	n := 0
	for line := range bytes.SplitSeq(body, []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if n++; n > maxSearchPoints {
			return fail(http.StatusRequestEntityTooLarge, "body: more than %d points", maxSearchPoints)
		}
		p, err := readPoint(line)
		if err != nil {
			b = append(append(b, `{"error":`...), quote(err.Error())...)
			b = append(b, "}\n"...)
			continue
		}
		b = append(s.append(b, p), '\n')
	}
	return answer(w, "application/x-ndjson", b)
}

// readPoint reads {"lon","lat"}, [lon,lat], a GeoJSON Point or a Feature with one.
func readPoint(raw []byte) (fence.Point, error) {
	var pair []*float64
	if len(raw) > 0 && raw[0] == '[' {
		if err := json.Unmarshal(raw, &pair); err != nil {
			return fence.Point{}, fmt.Errorf("not a pair of numbers")
		}
		return pointOf(pair)
	}
	var v struct {
		Lon, Lat    *float64
		Coordinates []*float64
		Geometry    *struct{ Coordinates []*float64 }
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return fence.Point{}, fmt.Errorf(`not a point: send {"lon","lat"}, [lon, lat], a GeoJSON Point or a Feature with one`)
	}
	switch {
	case v.Lon != nil && v.Lat != nil:
		p := fence.Point{Lon: *v.Lon, Lat: *v.Lat}
		return p, checkPoint(p)
	case v.Geometry != nil:
		return pointOf(v.Geometry.Coordinates)
	case v.Coordinates != nil:
		return pointOf(v.Coordinates)
	}
	return fence.Point{}, fmt.Errorf("lon or lat missing")
}

func pointOf(pair []*float64) (fence.Point, error) {
	if len(pair) < 2 || pair[0] == nil || pair[1] == nil {
		return fence.Point{}, fmt.Errorf("a point has two coordinates, lon and lat")
	}
	p := fence.Point{Lon: *pair[0], Lat: *pair[1]}
	return p, checkPoint(p)
}

func checkPoint(p fence.Point) error {
	switch {
	case !(math.Abs(p.Lat) <= 90) && math.Abs(p.Lon) <= 90:
		return fmt.Errorf("lat %v is out of range -90 to 90: lon and lat swapped?", p.Lat)
	case !(math.Abs(p.Lat) <= 90):
		return fmt.Errorf("lat %v is out of range -90 to 90", p.Lat)
	case !(math.Abs(p.Lon) <= 180):
		return fmt.Errorf("lon %v is out of range -180 to 180", p.Lon)
	}
	return nil
}

func answer(w http.ResponseWriter, mediaType string, body []byte) error {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
	return nil
}

// quote writes s as JSON text.
func quote(s string) []byte {
	b, _ := json.Marshal(s) // a string always encodes
	return b
}
