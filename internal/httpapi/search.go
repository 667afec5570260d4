package httpapi

import (
	"errors"
	"mime"
	"net/http"
	"slices"
	"strconv"

	"paddock/fence"
	"paddock/internal/budget"
	"paddock/internal/lookup"
)

// lookup begins a look-up whose answer takes memory of the lease.
func (a *API) lookup(set string, l *budget.Lease) (*lookup.Lookup, error) {
	s := &lookup.Lookup{Hold: l.Hold}
	return s, lookupProblem(s.Begin(a.cfg.Catalog, set))
}

// lookupProblem is the answer to a look-up that is refused.
func lookupProblem(err error) error {
	e, ok := errors.AsType[*lookup.Error](err)
	if !ok {
		return err
	}
	status := map[lookup.Kind]int{
		lookup.Invalid: http.StatusBadRequest, lookup.NoSet: http.StatusNotFound,
		lookup.TooLarge: http.StatusRequestEntityTooLarge, lookup.NoRoom: http.StatusServiceUnavailable,
	}[e.Kind]
	return fail(status, "%s", e.Reason)
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
	if err := lookup.Check(p); err != nil {
		return fail(http.StatusBadRequest, "query: %v", err)
	}
	l := a.memory.Lease()
	defer l.Release()
	s, err := a.lookup(q.Get("set"), l)
	if err != nil {
		return err
	}
	if err := s.Point(p); err != nil {
		return lookupProblem(err)
	}
	return answer(w, "application/json", append(s.Answer, '\n'))
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
	s, err := a.lookup(q.Get("set"), l)
	if err != nil {
		return err
	}
	body, err := a.readBody(w, r, l)
	if err != nil {
		return err
	}
	s.Hold = func(n int64) bool { return l.Hold(int64(cap(body)) + n) }
	look, mediaType := s.Document, "application/json"
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if slices.Contains([]string{"application/x-ndjson", "application/ndjson", "application/jsonl"}, media) {
		look, mediaType = s.Lines, "application/x-ndjson"
	}
	if err := look(body); err != nil {
		return lookupProblem(err)
	}
	return answer(w, mediaType, s.Answer)
}

func answer(w http.ResponseWriter, mediaType string, body []byte) error {
	w.Header().Set("Content-Type", mediaType)
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
	return nil
}
