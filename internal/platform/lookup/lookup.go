// Package lookup finds the fences that hold a point and answers as JSON. All doors use it, so their
// answers have the same bytes.
//
// A Lookup is one request. It reads one snapshot of each set, without a lock, so all of its answers
// agree.
package lookup

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

const (
	// MaxPoints bounds the points of one request.
	MaxPoints = 1_000_000
	// MaxAnswer bounds the answer of one request, in bytes: a few points may lie in thousands of
	// fences with long properties.
	MaxAnswer = 64 << 20
)

// Kind is the reason for the refusal of a request.
type Kind uint8

const (
	// Invalid: the request is malformed.
	Invalid Kind = iota
	// NoSet: the named set does not exist.
	NoSet
	// TooLarge: the request has too many points, or its answer too many bytes.
	TooLarge
	// NoRoom: there is no memory for the answer at present.
	NoRoom
	// Gone: the set is not at the requested generation.
	Gone
	// Denied: the request may not use the set.
	Denied
)

// Status returns the status code of HTTP, which the bus uses too.
func (k Kind) Status() int {
	switch k {
	case NoSet:
		return http.StatusNotFound
	case TooLarge:
		return http.StatusRequestEntityTooLarge
	case NoRoom:
		return http.StatusServiceUnavailable
	case Gone:
		return http.StatusGone
	case Denied:
		return http.StatusForbidden
	default:
		return http.StatusBadRequest
	}
}

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
	// Answer is the answer so far. It is invalid after an error.
	Answer []byte
	// Hold, if set, reports whether the answer may use that many bytes in all.
	Hold func(bytes int64) bool
	// Sees, if set, reports whether the request may use a set. Others are left out, and a request
	// that names one is refused.
	Sees func(set string) bool

	// Limit bounds the answer in bytes; 0 means MaxAnswer.
	Limit      int
	bare       bool // omit the properties of fences
	sets       []source
	named      bool // the request names one set
	generation uint64
	scratch    []byte // buffer of readers
	refs       []fence.Ref
	pending    pending
}

// source is one of the requested sets.
type source struct {
	name  string
	snap  *fence.Snapshot
	found fence.Batch // for the points of a chunk
}

// Begin makes l a request to one set, or to all if set is "". It reuses the memory of earlier
// requests.
func (l *Lookup) Begin(c *fence.Catalog, set string) error {
	l.End()
	l.bare = false
	if l.named = set != ""; !l.named {
		for s := range c.All() {
			if l.Sees == nil || l.Sees(s.Name()) {
				l.ask(s)
			}
		}
		return nil
	}
	if l.Sees != nil && !l.Sees(set) {
		return fail(Denied, "the key is not for the set %.64q", set)
	}
	s, ok := c.Get(set)
	if !ok {
		return fail(NoSet, "no set %.64q; GET /v1/sets lists them", set)
	}
	l.ask(s)
	return nil
}

// ask adds a set, in the memory of an earlier one.
func (l *Lookup) ask(s *fence.Set) {
	l.sets = slices.Grow(l.sets, 1)[:len(l.sets)+1]
	now := &l.sets[len(l.sets)-1]
	now.name, now.snap = s.Name(), s.Snapshot()
}

// at refuses the request unless its one set is at that generation.
func (l *Lookup) at(generation uint64) error {
	if err := l.needSet("a generation"); err != nil {
		return err
	}
	if now := l.sets[0].snap.Generation(); now != generation {
		return fail(Gone, "set %q is at generation %d: %d is not kept; ask again for this one, or for none", l.sets[0].name, now, generation)
	}
	return nil
}

// needSet refuses a request without a set for a feature that needs one.
func (l *Lookup) needSet(what string) error {
	if !l.named {
		return fail(Invalid, "set missing: %s is that of one set", what)
	}
	return nil
}

// End releases the snapshots, and buffers that are too large to keep.
func (l *Lookup) End() {
	for i := range l.sets {
		s := &l.sets[i]
		s.name, s.snap = "", nil
		if cap(s.found.Refs) > keptRefs {
			s.found = fence.Batch{}
		}
	}
	if cap(l.sets) > keptSets {
		l.sets = nil
	}
	if cap(l.refs) > keptRefs {
		l.refs = nil
	}
	l.pending.reset()
	l.sets, l.Answer = l.sets[:0], l.Answer[:0]
}

// The buffers that a Lookup keeps between requests: refs for each set, and sets.
const (
	keptRefs = 8 * chunk
	keptSets = 64
)

func (l *Lookup) text(t string) { l.Answer = append(l.Answer, t...) }

// Point appends {"fences":[...]} for one point to the answer.
func (l *Lookup) Point(p geometry.Point) error {
	l.text(`{"fences":[`)
	first := true
	for i := range l.sets {
		s := &l.sets[i]
		l.refs = s.snap.Append(l.refs[:0], p.Lon, p.Lat)
		if err := l.fences(s, l.refs, &first); err != nil {
			return err
		}
	}
	l.text("]}")
	return l.fits()
}

// fences appends the fences of a set that hold a point. first reports whether the list is still
// empty.
func (l *Lookup) fences(s *source, refs []fence.Ref, first *bool) error {
	for _, ref := range refs {
		if !*first {
			l.text(",")
		}
		*first = false
		l.found(s.name, s.snap.Fence(ref))
		if err := l.fits(); err != nil {
			return err
		}
	}
	return nil
}

func (l *Lookup) found(set string, f *fence.Fence) {
	l.name(set, f)
	l.properties(f)
}

// name begins the object of a fence.
func (l *Lookup) name(set string, f *fence.Fence) {
	l.text(`{"set":`)
	l.Answer = appendString(l.Answer, set)
	l.text(`,"id":`)
	l.Answer = appendString(l.Answer, f.Key)
}

// properties ends the object of a fence.
func (l *Lookup) properties(f *fence.Fence) {
	switch {
	case l.bare:
	case f.Properties == nil:
		l.text(`,"properties":null`)
	default:
		l.text(`,"properties":`)
		l.Answer = append(l.Answer, f.Properties...)
	}
	l.text("}")
}

// appendString appends s as a JSON string. Most names need no escapes.
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
	if len(l.Answer) > l.limit() {
		return l.tooLarge()
	}
	return l.hold(int64(cap(l.Answer)))
}

func (l *Lookup) limit() int { return cmp.Or(l.Limit, MaxAnswer) }

func (l *Lookup) tooLarge() error {
	return fail(TooLarge, "the answer is larger than %d bytes: ask for fewer points, or one set", l.limit())
}

// hold asks for memory of the answer, in bytes in all.
func (l *Lookup) hold(n int64) error {
	if l.Hold != nil && !l.Hold(n) {
		return fail(NoRoom, "too many large requests at once: send it again later, or in smaller parts")
	}
	return nil
}
