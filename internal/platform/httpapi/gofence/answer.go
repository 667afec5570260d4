package gofence

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"paddock/fence"
	"paddock/internal/platform/lookup/pointquery"
)

// maxAnswer bounds an answer, in bytes, so that a look-up among ten thousand overlapping fences
// does not use up the memory.
const maxAnswer = 16 << 20

// maxKept is the largest buffer that the pool keeps.
const maxKept = 64 << 10

// answer is the answer to one search under construction. It belongs to one goroutine.
type answer struct {
	text []byte
	refs []fence.Ref
}

var answers = sync.Pool{New: func() any { return new(answer) }}

// release returns a to the pool. Its text must not be used after it.
func (a *answer) release() {
	if cap(a.text) <= maxKept {
		answers.Put(a)
	}
}

// toBody answers the body of a POST from the named set.
//
// hot: BenchmarkHot, TestHotAllocatesNothing
func (h *Handler) toBody(a *answer, name, body []byte) error {
	text, at, ok := pointquery.Append(append(a.text[:0], `{"query":`...), body)
	if !ok {
		query, err := decodePoint(body)
		if err != nil {
			return badRequest("Invalid query " + err.Error())
		}
		if text, err = echo(text, query); err != nil {
			return err
		}
		at.Lon, at.Lat = query.Geometry.Coordinates[0], query.Geometry.Coordinates[1]
	}
	a.text = text
	found, err := h.search(a, name, at)
	if !found {
		return badRequest("Invalid query " + unknownFence(string(name)))
	}
	return err
}

// toQuery answers the parameters of a GET from the named set.
//
// hot: BenchmarkPlain, TestPlainSearchesAllocateNothing
func (h *Handler) toQuery(a *answer, name, rawQuery []byte) error {
	text, at, ok := pointquery.AppendParameters(append(a.text[:0], `{"query":`...), rawQuery)
	if !ok {
		query, err := parsePoint(string(rawQuery))
		if err != nil {
			return err
		}
		if text, err = echo(text, query); err != nil {
			return err
		}
		at.Lon, at.Lat = query.Geometry.Coordinates[0], query.Geometry.Coordinates[1]
	}
	a.text = text
	found, err := h.search(a, name, at)
	if !found {
		return badRequest("Error search fence " + string(name))
	}
	return err
}

// echo appends a query. The error is always nil, because queries come from JSON or have finite
// numbers.
func echo(dst []byte, query *PointMessage) ([]byte, error) {
	text, err := json.Marshal(query)
	return append(dst, text...), err
}

// search completes an answer, which holds its query, with the fences of the named set. found is
// false if there is no such set.
func (h *Handler) search(a *answer, name []byte, at pointquery.Point) (found bool, err error) {
	serving := h.serving.Load()
	set, ok := serving.catalog.Get(string(name))
	if !ok {
		serving.renderings.drop(string(name))
		return false, nil
	}
	snap := set.Snapshot()
	a.refs = snap.Append(a.refs[:0], at.Lon, at.Lat)
	a.text = append(a.text, `,"fences":[`...)
	rendered := serving.renderings.of(serving.catalog, set, snap)
	for i, ref := range a.refs {
		if i > 0 {
			a.text = append(a.text, ',')
		}
		a.text = rendered.append(a.text, snap.Fence(ref))
		if len(a.text) > maxAnswer {
			return true, &refusal{http.StatusRequestEntityTooLarge, fmt.Sprintf("Answer 16 MB max, %d fences", len(a.refs))}
		}
	}
	a.text = append(a.text, "]}"...)
	return true, nil
}

// unknownFence returns the reason for an unknown name in both POST routes.
func unknownFence(name string) string {
	return fmt.Sprintf("FenceIndex does not contain fence %q", name)
}
