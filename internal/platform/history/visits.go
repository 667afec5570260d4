package history

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// Visit is the time that an object spends in a fence.
type Visit struct {
	Set, Fence string
	Object
	Begin, End track.Millis
	Open       bool   // the object has not left; End is 0
	Number     uint64 // see ID
	Reason     string // of the end
}

// ID returns the id of the visit in events.
func (v *Visit) ID() string { return events.VisitID(v.Fleet, v.Object.ID, v.Number) }

// stepVisits is the number of events after which a step of the visits ends. A piece of the journal
// may exceed it.
const stepVisits = 2000

// changes are the visits of some events: by name the value that is put, or nil for one that goes.
type changes map[string][]byte

// takeEvents stores the visits of the next events, with the cursor behind them. The caller has the
// lock.
func (h *History) takeEvents() (more bool, err error) {
	end := h.j.Committed()
	if h.cursor >= end.Next() {
		return false, nil
	}
	next := h.cursor
	if oldest := h.j.OldestEvent(); next < oldest {
		h.gap("events", oldest-next)
		next = oldest
	}
	c := changes{}
	for taken := 0; taken < stepVisits && next < end.Next(); {
		fed, until, ok := h.visits.pop(next)
		if !ok {
			before := next
			if next, err = h.readEvents(next, min(until, end.Next()), c); err != nil {
				return false, err
			}
			taken += int(next - before)
			continue
		}
		for i := range fed.items {
			c.add(&fed.items[i])
		}
		next = fed.next
		taken += len(fed.items)
		h.visits.release(fed.items)
	}
	remove, put := []journal.Span(nil), []journal.Value{progressValue("events", next)}
	for name, b := range c {
		if b == nil {
			remove = append(remove, journal.Only(name))
		} else {
			put = append(put, journal.Value{Name: name, Bytes: b})
		}
	}
	if err := h.j.Change(remove, put...); err != nil {
		return false, err
	}
	h.cursor = next
	return next < end.Next(), nil
}

// readEvents adds the visits of the next piece of the journal, and of those behind it that begin
// before a cursor, until there are stepVisits. It returns the cursor behind them.
func (h *History) readEvents(next, until uint64, c changes) (uint64, error) {
	limit := next + stepVisits
	err := h.j.Pieces(next, func(p journal.Piece) error {
		if p.First > next { // others were removed since the oldest one was looked up
			h.gap("events", p.First-next)
		}
		if p.Gap { // it was reported when it was accepted
			next = p.Next()
			return nil
		}
		rest := p.Events
		for cursor := p.First; cursor < p.Next(); cursor++ {
			r, after, err := events.ParseRecord(rest)
			if err != nil {
				return fmt.Errorf("event %d: %w", cursor, err)
			}
			if rest = after; cursor >= next {
				if v, ok := visitOf(&r); ok {
					c.add(&v)
				}
			}
		}
		if next = p.Next(); next >= min(until, limit) {
			return journal.ErrEnough
		}
		return nil
	})
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return next, err
}

// visitOf returns the visit as an event tells it. ok is false if the event is neither the beginning
// nor the end of one.
func visitOf(r *events.Record) (v Visit, ok bool) {
	if r.Kind != track.Enter && r.Kind != track.Exit {
		return v, false
	}
	v = Visit{
		Set: r.Set, Fence: r.Fence, Object: Object{r.Fleet, r.Object},
		Begin: r.Visit.Since, Number: r.Visit.Number, Open: r.Kind != track.Exit,
	}
	if !v.Open {
		v.End, v.Reason = r.Visit.At, r.Visit.Reason.String()
	}
	return v, true
}

// add adds what an event changes.
func (c changes) add(v *Visit) {
	c[v.openName()] = nil
	if v.Open {
		c[v.openName()] = v.value()
		return
	}
	c[v.closedName()] = v.value()
}

// names returns the texts of a visit's names.
func (v *Visit) names() []byte {
	b := appendText(appendText(nil, v.Set), v.Fence)
	return append(b, v.Object.name()...)
}

func (v *Visit) openName() string { return visiting + string(v.names()) }

func (v *Visit) closedName() string {
	b := append(appendNumber([]byte(visited), int64(v.End)), v.names()...)
	return string(appendNumber(b, int64(v.Begin)))
}

// value returns what the names of a visit do not hold.
func (v *Visit) value() []byte {
	return append(binary.AppendUvarint(binary.AppendVarint(nil, int64(v.Begin)), v.Number), v.Reason...)
}

// parseVisit reads a stored visit.
func parseVisit(stored journal.Value) (v Visit, err error) {
	name, closed := strings.CutPrefix(stored.Name, visited)
	if closed {
		var end int64
		if end, name, closed = cutNumber(name); !closed {
			return v, errVisit
		}
		v.End = track.Millis(end)
	} else {
		name, v.Open = strings.TrimPrefix(name, visiting), true
	}
	_, ok := cutTexts(name, &v.Set, &v.Fence, &v.Fleet, &v.Object.ID)
	begin, n := binary.Varint(stored.Bytes)
	if !ok || n <= 0 {
		return v, errVisit
	}
	number, m := binary.Uvarint(stored.Bytes[n:])
	if m <= 0 {
		return v, errVisit
	}
	v.Begin, v.Number, v.Reason = track.Millis(begin), number, string(stored.Bytes[n+m:])
	return v, nil
}

var errVisit = fmt.Errorf("%w: a visit", journal.ErrDamaged)

// VisitQuery selects visits; "" is all.
type VisitQuery struct {
	Set, Fence, Fleet, ID string
	From, To              track.Millis // visits that end at From or later, and begin before To
	After                 string       // only those behind the one with this name
	Limit                 int
}

func (q *VisitQuery) selects(v *Visit) bool {
	same := func(want, is string) bool { return want == "" || want == is }
	return same(q.Set, v.Set) && same(q.Fence, v.Fence) && same(q.Fleet, v.Fleet) && same(q.ID, v.Object.ID) && v.Begin < q.To
}

// Visits returns the selected visits: ended ones by their end, then the open ones by set and fence.
// If more follow, next is the After of the next ones.
func (h *History) Visits(ctx context.Context, q VisitQuery) (found []Visit, next string, err error) {
	last := ""
	add := func(stored journal.Value) error {
		v, err := parseVisit(stored)
		if err != nil {
			return err
		}
		if !q.selects(&v) {
			return ctx.Err()
		}
		if len(found) == q.Limit {
			next = last
			return journal.ErrEnough
		}
		last, found = stored.Name, append(found, v)
		return nil
	}
	after := ""
	if q.After != "" {
		after = q.After + "\x00"
	}
	err = h.j.Values(visited, max(string(appendNumber([]byte(visited), int64(q.From))), after), add)
	if err == nil {
		err = h.j.Values(visiting, max(visiting, after), add)
	}
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return found, next, err
}

// visitsOf returns the names of all visits of an object.
func (h *History) visitsOf(o Object) (all []journal.Span, err error) {
	for _, kind := range []string{visited, visiting} {
		err = errors.Join(err, h.j.Values(kind, "", func(stored journal.Value) error {
			v, err := parseVisit(stored)
			if err == nil && v.Object == o {
				all = append(all, journal.Only(stored.Name))
			}
			return err
		}))
	}
	return all, err
}

// endedBefore returns the span of the visits that ended before a day.
func endedBefore(number int64) journal.Span {
	return journal.Span{From: visited, To: string(appendNumber([]byte(visited), max(number, math.MinInt64/int64(day))*int64(day)))}
}
