// Package lookup answers which fences hold a point, as JSON: the look-ups of
// every door, so that all of them give the same bytes.
//
// A Lookup is one request. It reads one snapshot of each set, without a lock, so
// that all of its answers agree.
package lookup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"

	"paddock/fence"
)

const (
	// MaxPoints bounds the points of one request.
	MaxPoints = 1_000_000
	// MaxAnswer bounds the answer of one request, in bytes: a few points may lie
	// in thousands of fences with long properties.
	MaxAnswer = 64 << 20
)

// Kind is what is wrong with a request.
type Kind uint8

const (
	// Invalid: the request is malformed.
	Invalid Kind = iota
	// NoSet: the set that it names does not exist.
	NoSet
	// TooLarge: it has more points, or its answer more bytes, than one may have.
	TooLarge
	// NoRoom: the door has no memory for its answer now.
	NoRoom
)

// Error refuses a request.
type Error struct {
	Kind   Kind
	Reason string
}

func (e *Error) Error() string { return e.Reason }

func fail(kind Kind, format string, args ...any) error {
	return &Error{Kind: kind, Reason: fmt.Sprintf(format, args...)}
}

// Lookup is one request. It belongs to one goroutine.
type Lookup struct {
	// Answer is what has been answered so far. It must not be used after an error.
	Answer []byte
	// Hold, if any, is asked whether the answer may take so many bytes in all.
	Hold func(bytes int64) bool

	sets []source
	refs []fence.Ref
}

type source struct {
	name string
	snap *fence.Snapshot
}

// Begin makes l a request to one set, or to all if set is "". What it has
// allocated before is used again.
func (l *Lookup) Begin(c *fence.Catalog, set string) error {
	l.End()
	for s := range c.All() {
		if set == "" || set == s.Name() {
			l.sets = append(l.sets, source{s.Name(), s.Snapshot()})
		}
	}
	if set != "" && len(l.sets) == 0 {
		return fail(NoSet, "no set %.64q; GET /v1/sets lists them", set)
	}
	return nil
}

// End lets go of the snapshots.
func (l *Lookup) End() {
	clear(l.sets)
	l.sets, l.Answer = l.sets[:0], l.Answer[:0]
}

func (l *Lookup) text(t string) { l.Answer = append(l.Answer, t...) }

// Point appends {"fences":[...]} for one point to the answer.
func (l *Lookup) Point(p fence.Point) error {
	l.text(`{"fences":[`)
	first := true
	for i := range l.sets {
		s := &l.sets[i]
		l.refs = s.snap.Append(l.refs[:0], p.Lon, p.Lat)
		for _, ref := range l.refs {
			if !first {
				l.text(",")
			}
			first = false
			l.found(s.name, s.snap.Fence(ref))
			if err := l.fits(); err != nil {
				return err
			}
		}
	}
	l.text("]}")
	return l.fits()
}

func (l *Lookup) found(set string, f *fence.Fence) {
	l.text(`{"set":`)
	l.Answer = appendString(l.Answer, set)
	l.text(`,"id":`)
	l.Answer = appendString(l.Answer, f.Key)
	l.text(`,"properties":`)
	if f.Properties == nil {
		l.text("null")
	} else {
		l.Answer = append(l.Answer, f.Properties...)
	}
	l.text("}")
}

// appendString appends s as JSON text. Most names are plain.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			text, _ := json.Marshal(s) // a string always encodes
			return append(b, text...)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// fits refuses an answer that has become too large.
func (l *Lookup) fits() error {
	if len(l.Answer) > MaxAnswer {
		return fail(TooLarge, "the answer is larger than %d bytes: ask for fewer points, or one set", MaxAnswer)
	}
	if l.Hold != nil && !l.Hold(int64(cap(l.Answer))) {
		return fail(NoRoom, "too many large requests at once: send it again later, or in smaller parts")
	}
	return nil
}

// Document answers a body that is one JSON value: a point, or {"points":[...]}.
func (l *Lookup) Document(body []byte) error {
	body = bytes.TrimSpace(bytes.TrimPrefix(body, []byte("\ufeff")))
	if len(body) == 0 {
		return fail(Invalid, `body: empty: send a point, {"points":[...]}, or one point a line as application/x-ndjson`)
	}
	var many struct {
		Points json.RawMessage `json:"points"`
	}
	err := json.Unmarshal(body, &many)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fail(Invalid, "body: malformed JSON: %v", err)
	}
	if many.Points != nil {
		return l.points(many.Points)
	}
	p, err := readPoint(body)
	if err != nil {
		return fail(Invalid, "body: %v", err)
	}
	if err := l.Point(p); err != nil {
		return err
	}
	l.text("\n")
	return nil
}

// points answers a JSON array of points. It keeps one at a time.
func (l *Lookup) points(array json.RawMessage) error {
	if array[0] != '[' {
		return fail(Invalid, "points: must be an array")
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	if _, err := dec.Token(); err != nil {
		return err // it has been found valid
	}
	var raw json.RawMessage
	l.text(`{"results":[`)
	for i := 0; dec.More(); i++ {
		if i == MaxPoints {
			return tooManyPoints()
		}
		if err := dec.Decode(&raw); err != nil {
			return err
		}
		p, err := readPoint(raw)
		if err != nil {
			return fail(Invalid, "points[%d]: %v", i, err)
		}
		if i > 0 {
			l.text(",")
		}
		if err := l.Point(p); err != nil {
			return err
		}
	}
	l.text("]}\n")
	return nil
}

// Points answers points that are numbers already, in the form of Document.
func (l *Lookup) Points(points iter.Seq[fence.Point]) error {
	l.text(`{"results":[`)
	i := 0
	for p := range points {
		if err := Check(p); err != nil {
			return fail(Invalid, "points[%d]: %v", i, err)
		}
		if i > 0 {
			l.text(",")
		}
		if err := l.Point(p); err != nil {
			return err
		}
		i++
	}
	l.text("]}\n")
	return nil
}

func tooManyPoints() error {
	return fail(TooLarge, "body: more than %d points; send them in parts", MaxPoints)
}

// Lines answers one line for each line; a bad one is answered with its error.
func (l *Lookup) Lines(body []byte) error {
	n := 0
	for line := range bytes.SplitSeq(bytes.TrimPrefix(body, []byte("\ufeff")), []byte{'\n'}) {
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			continue
		}
		if n++; n > MaxPoints {
			return tooManyPoints()
		}
		p, err := readPoint(line)
		if err != nil {
			l.text(`{"error":`)
			l.Answer = appendString(l.Answer, err.Error())
			l.text("}")
			err = l.fits()
		} else {
			err = l.Point(p)
		}
		if err != nil {
			return err
		}
		l.text("\n")
	}
	return nil
}
