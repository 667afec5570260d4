package wireapi

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"sync"

	"paddock/fence"
	"paddock/internal/lookup"
	"paddock/wire"
)

// The compact form of a search: docs/wire/KINDS.md.
const (
	compactVersion = 1
	compactSet     = 1  // flag: a set is named
	compactMany    = 2  // flag: many points
	compactPoint   = 16 // bytes of a point
)

// compact is a search in the compact form. Its bytes are those of the body.
type compact struct {
	set    []byte
	many   bool
	points []byte
}

// parseCompact reads a body whose first byte is compactVersion.
func parseCompact(body []byte) (q compact, err error) {
	if len(body) < 2 {
		return q, errors.New("body: cut off")
	}
	flags, rest := body[1], body[2:]
	if unknown := flags &^ (compactSet | compactMany); unknown != 0 {
		return q, fmt.Errorf("flags: reserved bits %#02x", unknown)
	}
	if flags&compactSet != 0 {
		if len(rest) == 0 || len(rest) < 1+int(rest[0]) {
			return q, errors.New("set: cut off")
		}
		n := int(rest[0])
		if n == 0 {
			return q, errors.New("set: empty")
		}
		q.set, rest = rest[1:1+n], rest[1+n:]
	}
	q.many, q.points = flags&compactMany != 0, rest
	switch {
	case len(rest)%compactPoint != 0:
		return q, errors.New("points: cut off")
	case !q.many && len(rest) != compactPoint:
		return q, fmt.Errorf("points: %d without the flag for many", len(rest)/compactPoint)
	}
	return q, nil
}

// each yields the points.
func (q *compact) each(yield func(fence.Point) bool) {
	for b := q.points; len(b) > 0; b = b[compactPoint:] {
		p := fence.Point{
			Lon: math.Float64frombits(binary.LittleEndian.Uint64(b)),
			Lat: math.Float64frombits(binary.LittleEndian.Uint64(b[8:])),
		}
		if !yield(p) {
			return
		}
	}
}

var lookups = sync.Pool{New: func() any { return new(lookup.Lookup) }}

// keptAnswer is the largest buffer of an answer that is kept for the next one.
const keptAnswer = 64 << 10

// search serves fence.search. A long answer goes on as a stream by itself; its
// memory is counted until the peer has taken it.
func (a *API) search(_ context.Context, r *wire.Request) error {
	a.handlers.add(1)
	defer a.handlers.add(-1)
	a.counts.searches.Add(1)
	if r.Stream() != nil {
		return &wire.Error{Code: wire.OutOfRange, Msg: "body: larger than a frame; send it in parts"}
	}
	lease := a.large.Lease()
	defer lease.Release()
	l := lookups.Get().(*lookup.Lookup)
	defer func() {
		l.End()
		if l.Hold = nil; cap(l.Answer) > keptAnswer {
			l.Answer = nil
		}
		lookups.Put(l)
	}()
	l.Hold = lease.Hold
	if err := a.look(l, r.Body); err != nil {
		return err
	}
	return r.Respond(l.Answer)
}

// look answers a search. Its answer is that of POST /v1/search.
func (a *API) look(l *lookup.Lookup, body []byte) error {
	if len(body) > 0 && body[0] == compactVersion {
		return a.lookCompact(l, body)
	}
	set, err := setOf(body)
	if err != nil {
		return err
	}
	if err := l.Begin(a.cfg.Catalog, set); err != nil {
		return refusal(err)
	}
	return refusal(l.Document(body))
}

// setOf reads the set that a JSON object names.
func setOf(body []byte) (string, error) {
	if body = bytes.TrimLeft(body, " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return "", nil
	}
	var named struct {
		Set *string `json:"set"`
	}
	err := json.Unmarshal(body, &named)
	switch _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); {
	case wrongType:
		return "", invalid("set: must be a string")
	case err != nil || named.Set == nil: // what is wrong with the body, the look-up says
		return "", nil
	case *named.Set == "":
		return "", invalid("set: empty")
	}
	return *named.Set, nil
}

func (a *API) lookCompact(l *lookup.Lookup, body []byte) error {
	q, err := parseCompact(body)
	if err != nil {
		return invalid(err.Error())
	}
	if err := l.Begin(a.cfg.Catalog, string(q.set)); err != nil {
		return refusal(err)
	}
	if q.many {
		return refusal(l.Points(q.each))
	}
	for p := range q.each { // one
		if err := lookup.Check(p); err != nil {
			return invalid("body: " + err.Error())
		}
		if err := l.Point(p); err != nil {
			return refusal(err)
		}
	}
	l.Answer = append(l.Answer, '\n')
	return nil
}

func invalid(text string) error { return &wire.Error{Code: wire.InvalidArgument, Msg: text} }

// refusal is the answer to a look-up that is refused.
func refusal(err error) error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*lookup.Error](err)
	if !ok {
		return err
	}
	code := map[lookup.Kind]wire.Code{
		lookup.Invalid: wire.InvalidArgument, lookup.NoSet: wire.NotFound,
		lookup.TooLarge: wire.OutOfRange, lookup.NoRoom: wire.ResourceExhausted,
	}[e.Kind]
	return &wire.Error{Code: code, Msg: e.Reason}
}
