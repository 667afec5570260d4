package gofence

import (
	"bytes"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/julienschmidt/httprouter"
)

// The bounds of bodies, in bytes. The original intended the same bounds.
const (
	maxSearchBody = 1 << 20
	maxAddBody    = 64 << 20
)

var bodies = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// searchBody answers POST /fence/{name}/search. Order of checks: size, JSON,
// point, name.
func (h *Handler) searchBody(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	body := bodies.Get().(*bytes.Buffer)
	defer func() {
		if body.Cap() <= maxKept {
			body.Reset()
			bodies.Put(body)
		}
	}()
	l := h.bodies.Lease()
	defer l.Release()
	if err := readBody(w, r, body, l, maxSearchBody, "Body 1 MB max"); err != nil {
		refuse(w, err)
		return
	}
	h.respondSearch(w, func(a *answer) error { return h.toBody(a, []byte(ps.ByName("name")), body.Bytes()) })
}

// searchQuery answers GET /fence/{name}/search. Order of checks: lat, lon, name.
func (h *Handler) searchQuery(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	h.respondSearch(w, func(a *answer) error { return h.toQuery(a, []byte(ps.ByName("name")), []byte(r.URL.RawQuery)) })
}

// respondSearch sends the answer of ask.
func (h *Handler) respondSearch(w http.ResponseWriter, ask func(*answer) error) {
	a := answers.Get().(*answer)
	defer a.release()
	if err := ask(a); err != nil {
		refuse(w, err)
		return
	}
	respond(w, "application/json", a.text)
}

// parsePoint builds a query from the parameters of a GET. Order of checks: lat, lon.
func parsePoint(rawQuery string) (*PointMessage, error) {
	values, _ := url.ParseQuery(rawQuery) // malformed parameters are left out, as the original did
	lat, err := coordinate(values, "lat")
	if err != nil {
		return nil, err
	}
	lon, err := coordinate(values, "lon")
	if err != nil {
		return nil, err
	}
	p := make(Properties, len(values))
	for k := range values {
		p[k] = values.Get(k)
	}
	return newPoint(lon, lat, p), nil
}

// coordinate removes a parameter from values. A value that JSON cannot represent is refused.
func coordinate(values url.Values, key string) (float64, error) {
	v, err := strconv.ParseFloat(values.Get(key), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, badRequest("Query param '" + key + "' required as float")
	}
	values.Del(key)
	return v, nil
}
