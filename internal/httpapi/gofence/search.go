package gofence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"sync"

	"github.com/julienschmidt/httprouter"

	"paddock/fence"
)

// The bounds of a request and of its answer, in bytes. The first two are those
// that the original meant to hold; the last keeps one look-up among ten
// thousand overlapping fences from taking all memory.
const (
	maxSearchBody = 1 << 20
	maxAddBody    = 64 << 20
	maxAnswer     = 16 << 20
)

// maxKept is the largest buffer that waits in scratches for the next request.
const maxKept = 64 << 10

// scratch is what a search needs and nobody sees afterwards.
type scratch struct {
	body   bytes.Buffer
	refs   []fence.Ref
	answer []byte
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (s *scratch) release() {
	if s.body.Cap() > maxKept || cap(s.answer) > maxKept {
		return
	}
	s.body.Reset()
	scratches.Put(s)
}

// searchBody answers POST /fence/{name}/search. Order of checks: size, JSON,
// point, name.
func (h *Handler) searchBody(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	s := scratches.Get().(*scratch)
	defer s.release()
	l := h.bodies.Lease()
	defer l.Release()
	if err := readBody(w, r, &s.body, l, maxSearchBody, "Body 1 MB max"); err != nil {
		refuse(w, err)
		return
	}
	query, err := decodePoint(s.body.Bytes())
	if err != nil {
		refuse(w, badRequest("Invalid query "+err.Error()))
		return
	}
	name := ps.ByName("name")
	if !h.search(w, s, name, query) {
		refuse(w, badRequest("Invalid query "+unknownFence(name)))
	}
}

// searchQuery answers GET /fence/{name}/search. Order of checks: lat, lon, name.
func (h *Handler) searchQuery(w http.ResponseWriter, r *http.Request, ps httprouter.Params) {
	values := r.URL.Query()
	lat, err := coordinate(values, "lat")
	if err != nil {
		refuse(w, err)
		return
	}
	lon, err := coordinate(values, "lon")
	if err != nil {
		refuse(w, err)
		return
	}
	p := make(Properties, len(values))
	for k := range values {
		p[k] = values.Get(k)
	}
	s := scratches.Get().(*scratch)
	defer s.release()
	name := ps.ByName("name")
	if !h.search(w, s, name, newPoint(lon, lat, p)) {
		refuse(w, badRequest("Error search fence "+name))
	}
}

// coordinate takes a parameter out of values. What no JSON answer could show is
// no coordinate.
func coordinate(values url.Values, key string) (float64, error) {
	v, err := strconv.ParseFloat(values.Get(key), 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return 0, badRequest("Query param '" + key + "' required as float")
	}
	values.Del(key)
	return v, nil
}

// search answers a query from the named set; false if there is none, and then
// nothing is written.
func (h *Handler) search(w http.ResponseWriter, s *scratch, name string, query *PointMessage) bool {
	serving := h.serving.Load()
	set, ok := serving.catalog.Get(name)
	if !ok {
		serving.renderings.drop(name)
		return false
	}
	snap := set.Snapshot()
	at := query.Geometry.Coordinates
	s.refs = snap.Append(s.refs[:0], at[0], at[1])
	text, err := json.Marshal(query)
	if err != nil { // what was decoded from JSON, or is finite, marshals
		refuse(w, err)
		return true
	}
	s.answer = append(append(append(s.answer[:0], `{"query":`...), text...), `,"fences":[`...)
	rendered := serving.renderings.of(set, snap)
	for i, ref := range s.refs {
		if i > 0 {
			s.answer = append(s.answer, ',')
		}
		s.answer = rendered.append(s.answer, snap, ref)
		if len(s.answer) > maxAnswer {
			refuse(w, tooLarge(fmt.Sprintf("Answer 16 MB max, %d fences", len(s.refs))))
			return true
		}
	}
	s.answer = append(s.answer, "]}"...)
	respond(w, "application/json", s.answer)
	return true
}

// unknownFence is the reason that both POST routes give.
func unknownFence(name string) string {
	return fmt.Sprintf("FenceIndex does not contain fence %q", name)
}
