package httpapi

import (
	"errors"
	"math"
	"mime"
	"net/http"
	"net/url"
	"strconv"

	"paddock/fence/geometry"
	"paddock/internal/platform/lookup"
	"paddock/internal/process/keyring"
)

// pointColumns is the media type of points in columns, and fenceColumns that of their answers:
// docs/reference/http.md.
const (
	pointColumns = "application/vnd.paddock.points"
	fenceColumns = "application/vnd.paddock.fences"
)

var searchParams = []string{"set", "generation", "properties"}

// terms reads the parameters of a search.
func terms(q url.Values) (lookup.Terms, error) {
	t := lookup.Terms{Set: q.Get("set"), Properties: q.Get("properties")}
	if !q.Has("generation") {
		return t, nil
	}
	generation, err := strconv.ParseUint(q.Get("generation"), 10, 64)
	if err != nil {
		return t, fail(http.StatusBadRequest, "query: generation %.64q is not a whole number", q.Get("generation"))
	}
	t.Generation = &generation
	return t, nil
}

// lookupProblem returns the answer to a refused look-up.
func lookupProblem(err error) error {
	if e, ok := errors.AsType[*lookup.Error](err); ok {
		return fail(e.Kind.Status(), "%s", e.Reason)
	}
	return err
}

func (a *API) getSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, append([]string{"lon", "lat", "distance", "nearest"}, searchParams...)...)
	if err != nil {
		return err
	}
	var p geometry.Point
	if p.Lon, err = degrees("lon", q.Get("lon")); err != nil {
		return err
	}
	if p.Lat, err = degrees("lat", q.Get("lat")); err != nil {
		return err
	}
	if err := lookup.Check(p); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	metres, nearest, err := nearness(q)
	if err != nil {
		return err
	}
	t, err := terms(q)
	if err != nil {
		return err
	}
	l := a.memory.Lease()
	defer l.Release()
	s := &lookup.Lookup{Hold: l.Hold, Sees: seen(r)}
	if err := s.Open(a.cfg.Catalog, t); err != nil {
		return lookupProblem(err)
	}
	if metres == 0 && nearest == 0 {
		err = s.Point(p)
	} else {
		err = s.Near(p, metres, nearest)
	}
	if err != nil {
		return lookupProblem(err)
	}
	return answer(w, "application/json", append(s.Answer, '\n'))
}

// seen returns which sets the key of a request is for; nil: all.
func seen(r *http.Request) func(set string) bool {
	if g := keyring.From(r.Context()); g.OfSets() {
		return g.Set
	}
	return nil
}

// nearness reads how far from the point fences may be, and how many of the nearest are asked for.
// Both are 0 for a search of the fences that hold the point.
func nearness(q url.Values) (metres float64, nearest int, err error) {
	if text := q.Get("distance"); q.Has("distance") {
		metres, err = strconv.ParseFloat(text, 64)
		if err != nil || !(metres > 0 && metres <= lookup.MaxDistance) {
			return 0, 0, fail(http.StatusBadRequest, "query: distance %.64q is not a number of metres above 0 and up to %d", text, lookup.MaxDistance)
		}
	}
	if text := q.Get("nearest"); q.Has("nearest") {
		nearest, err = strconv.Atoi(text)
		if err != nil || nearest < 1 || nearest > lookup.MaxNearest {
			return 0, 0, fail(http.StatusBadRequest, "query: nearest %.64q is not a whole number from 1 to %d", text, lookup.MaxNearest)
		}
		if metres == 0 {
			metres = math.Inf(1)
		}
	}
	return metres, nearest, nil
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

// postSearch takes a point, {"points":[...]}, one point a line, or points in
// columns.
func (a *API) postSearch(w http.ResponseWriter, r *http.Request) error {
	q, err := params(r, searchParams...)
	if err != nil {
		return err
	}
	t, err := terms(q)
	if err != nil {
		return err
	}
	s := &lookup.Lookup{Sees: seen(r)}
	if err := s.Open(a.cfg.Catalog, t); err != nil { // refuse before the client sends the body
		return lookupProblem(err)
	}
	s.End() // a slow client holds no snapshot
	l := a.memory.Lease()
	defer l.Release()
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	s.Hold = func(n int64) bool { return l.Hold(int64(cap(body)) + n) }
	mediaType, err := a.look(s, t, r.Header.Get("Content-Type"), body)
	if err != nil {
		return lookupProblem(err)
	}
	return answer(w, mediaType, s.Answer)
}

// look answers a body by its media type, and returns the media type of the answer.
func (a *API) look(s *lookup.Lookup, t lookup.Terms, contentType string, body []byte) (string, error) {
	answerWith := func(form func(body []byte) error) error {
		if err := s.Open(a.cfg.Catalog, t); err != nil {
			return err
		}
		return form(body)
	}
	media, _, _ := mime.ParseMediaType(contentType)
	switch media {
	case "application/x-ndjson", "application/ndjson", "application/jsonl":
		return "application/x-ndjson", answerWith(s.Lines)
	case pointColumns:
		return fenceColumns, answerWith(s.Columns)
	}
	return "application/json", s.JSON(a.cfg.Catalog, t, body)
}

func answer(w http.ResponseWriter, mediaType string, body []byte) error {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
	return nil
}
