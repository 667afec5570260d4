package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"paddock/fence"
	"paddock/internal/budget"
)

const (
	// maxSearchPoints bounds the points of one request.
	maxSearchPoints = 1_000_000
	// maxAnswer bounds the answer of one request, in bytes: a few points may lie
	// in thousands of fences with long properties.
	maxAnswer = 64 << 20
)

// searcher answers the look-ups of one request from one snapshot of each set,
// so that all of them agree.
type searcher struct {
	sets   []searchSet
	refs   []fence.Ref
	lease  *budget.Lease
	body   int64 // bytes of the request's body
	answer []byte
}

type searchSet struct {
	name []byte // as JSON
	snap *fence.Snapshot
}

func (a *API) searcher(name string, l *budget.Lease) (*searcher, error) {
	s := &searcher{lease: l}
	for set := range a.cfg.Catalog.All() {
		if name == "" || name == set.Name() {
			s.sets = append(s.sets, searchSet{quote(set.Name()), set.Snapshot()})
		}
	}
	if name != "" && len(s.sets) == 0 {
		return nil, fail(http.StatusNotFound, "no set %.64q; GET /v1/sets lists them", name)
	}
	return s, nil
}

func (s *searcher) text(t string) { s.answer = append(s.answer, t...) }

// look appends {"fences":[...]} for one point to the answer.
func (s *searcher) look(p fence.Point) error {
	s.text(`{"fences":[`)
	first := true
	for i := range s.sets {
		set := &s.sets[i]
		s.refs = set.snap.Append(s.refs[:0], p.Lon, p.Lat)
		for _, ref := range s.refs {
			if !first {
				s.text(",")
			}
			first = false
			s.found(set, set.snap.Fence(ref))
			if err := s.fits(); err != nil {
				return err
			}
		}
	}
	s.text("]}")
	return s.fits()
}

func (s *searcher) found(set *searchSet, f *fence.Fence) {
	s.text(`{"set":`)
	s.answer = append(s.answer, set.name...)
	s.text(`,"id":`)
	s.answer = append(s.answer, quote(f.Key)...)
	s.text(`,"properties":`)
	if f.Properties == nil {
		s.text("null")
	} else {
		s.answer = append(s.answer, f.Properties...)
	}
	s.text("}")
}

// fits refuses an answer that has become too large.
func (s *searcher) fits() error {
	if len(s.answer) > maxAnswer {
		return fail(http.StatusRequestEntityTooLarge, "the answer is larger than %d bytes: ask for fewer points, or one set", maxAnswer)
	}
	return hold(s.lease, s.body+int64(cap(s.answer)))
}

func (a *API) getSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "lon", "lat", "set")
	if err != nil {
		return err
	}
	var p fence.Point
	if p.Lon, err = degrees("lon", q.Get("lon")); err != nil {
		return err
	}
	if p.Lat, err = degrees("lat", q.Get("lat")); err != nil {
		return err
	}
	if err := checkPoint(p); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	l := a.memory.Lease()
	defer l.Release()
	s, err := a.searcher(q.Get("set"), l)
	if err != nil {
		return err
	}
	return s.point(w, p)
}

// point answers a request for one point.
func (s *searcher) point(w http.ResponseWriter, p fence.Point) error {
	if err := s.look(p); err != nil {
		return err
	}
	return answer(w, "application/json", append(s.answer, '\n'))
}

func degrees(name, text string) (float64, error) {
	if text == "" {
		return 0, fail(http.StatusBadRequest, "query: %s missing", name)
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fail(http.StatusBadRequest, "query: %s %.64q is not a number", name, text)
	}
	return v, nil
}

// postSearch takes a point, {"points":[...]}, or one point a line.
func (a *API) postSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, "set")
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	s, err := a.searcher(q.Get("set"), l)
	if err != nil {
		return err
	}
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	s.body = int64(cap(body))
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if slices.Contains([]string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, media) {
		return s.lines(w, body)
	}
	return s.document(w, bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff"))))
}

// document answers a body that is one JSON value.
func (s *searcher) document(w http.ResponseWriter, body []byte) error {
	if len(body) == 0 {
		return fail(http.StatusBadRequest, `body: empty: send a point, {"points":[...]}, or one point a line as application/x-ndjson`)
	}
	var many struct {
		Points json.RawMessage `json:"points"`
	}
	err := json.Unmarshal(body, &many)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fail(http.StatusBadRequest, "body: malformed JSON: %v", err)
	}
	if many.Points != nil {
		return s.points(w, many.Points)
	}
	p, err := readPoint(body)
	if err != nil {
		return fail(http.StatusBadRequest, "body: %v", err)
	}
	return s.point(w, p)
}

// points answers a JSON array of points. It keeps one at a time.
func (s *searcher) points(w http.ResponseWriter, array json.RawMessage) error {
	if array[0] != '[' {
		return fail(http.StatusBadRequest, "points: must be an array")
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	if _, err := dec.Token(); err != nil {
		return err // it has been found valid
	}
	s.text(`{"results":[`)
	var raw json.RawMessage
	for i := 0; dec.More(); i++ {
		if i == maxSearchPoints {
			return tooManyPoints()
		}
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		p, err := readPoint(raw)
		if err != nil {
			return fail(http.StatusBadRequest, "points[%d]: %v", i, err)
		}
		if i > 0 {
			s.text(",")
		}
		if err := s.look(p); err != nil {
			return err
		}
	}
	return answer(w, "application/json", append(s.answer, "]}\n"...))
}

func tooManyPoints() error {
	return fail(http.StatusRequestEntityTooLarge, "body: more than %d points; send them in parts", maxSearchPoints)
}

// lines answers one line for each line; a bad one is answered with its error.
func (s *searcher) lines(w http.ResponseWriter, body []byte) error {
	n := 0
	for line := range bytes.SplitSeq(bytes.TrimPrefix(body, []byte("\ufeff")), []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if n++; n > maxSearchPoints {
			return tooManyPoints()
		}
		p, err := readPoint(line)
		if err != nil {
			s.text(`{"error":`)
			s.answer = append(s.answer, quote(err.Error())...)
			s.text("}")
			err = s.fits()
		} else {
			err = s.look(p)
		}
		if err != nil {
			return err
		}
		s.text("\n")
	}
	return answer(w, "application/x-ndjson", s.answer)
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
