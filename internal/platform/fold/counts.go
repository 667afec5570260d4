package fold

import (
	"cmp"
	"slices"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// countKey names a number of objects: of a rule, in a fence.
type countKey struct{ rule, set, fence string }

func (a *countKey) compare(b *countKey) int {
	return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.set, b.set), cmp.Compare(a.fence, b.fence))
}

// latchName returns the name of the latch, of tokens as in subjects.
func (a *countKey) latchName() string {
	b := append(make([]byte, 0, 64), "count/"...)
	b = append(subjects.AppendToken(b, a.rule), '/')
	b = append(subjects.AppendToken(b, a.set), '/')
	return string(subjects.AppendToken(b, a.fence))
}

// restoreCount gives a number the latch of its events.
func (s *Second) restoreCount(l Latch) {
	var names [3]string
	if parseLatchName(l.Name, "count", names[:]) {
		if t := s.counts[countKey{names[0], names[1], names[2]}]; t != nil {
			t.latch = l
		}
	}
}

// tally is a number of objects.
type tally struct {
	of    *second
	count int
	latch Latch // of count_begin; Begun is 0 if there is none
	place int   // in Second.touched, from 1; 0: it is not there
}

// touched is a tally that a record has changed, with the last of its changes up and of those down.
// Changes are in the order of their times.
type touched struct {
	countKey
	*tally
	up, down track.Count
}

// count adds a change of a number of objects.
func (s *Second) count(c *track.Count) {
	key := countKey{c.Rule, c.Set, c.Fence.Key}
	t := s.counts[key]
	if t == nil {
		t = &tally{of: s.ruleOf(c)}
		t.of.uses++
		s.counts[key] = t
	}
	t.count += c.Change
	if t.place == 0 {
		s.touch(key, t)
	}
	x := &s.touched[t.place-1]
	if c.Change >= 0 && (x.up.Fence == nil || c.At >= x.up.At) {
		x.up = *c
	}
	if c.Change <= 0 && (x.down.Fence == nil || c.At >= x.down.At) {
		x.down = *c
	}
}

// touch lists a tally, so that it is judged at the end of the record.
func (s *Second) touch(key countKey, t *tally) {
	s.touched = append(s.touched, touched{countKey: key, tally: t})
	t.place = len(s.touched)
}

// ruleOf returns the rule of a change.
func (s *Second) ruleOf(c *track.Count) *second {
	x := s.rule(c.Rule)
	if x.atLeast == 0 {
		x.atLeast = c.AtLeast
		x.follow(s.table, c.Rule)
	}
	return x
}

// release takes a tally out of the touched ones, and forgets it if nothing is left of it.
func (s *Second) release(x *touched) {
	if x.place = 0; x.count != 0 || x.latch.Begun > 0 {
		return
	}
	delete(s.counts, x.countKey)
	s.drop(x.rule, x.of)
}

// judgeCounts compares the numbers that a record has changed with what their rules ask for. The
// events are ordered by rule, set and fence.
func (s *Second) judgeCounts(r Round, events []track.Event) []track.Event {
	slices.SortFunc(s.touched, func(a, b touched) int { return a.compare(&b.countKey) })
	for i := range s.touched {
		x := &s.touched[i]
		switch enough := x.count >= x.of.atLeast; {
		case enough && x.latch.Begun == 0:
			c := cause(&x.up, &x.down, track.RuleAdded)
			x.latch = Latch{Name: x.latchName(), Begun: r.Number, Since: c.At}
			s.changes.Begun = append(s.changes.Begun, x.latch)
			events = append(events, x.event(track.CountBegin, c, r))
		case !enough && x.latch.Begun > 0:
			c := cause(&x.down, &x.up, track.RuleRemoved)
			events = append(events, x.event(track.CountEnd, c, r))
			s.changes.Ended = append(s.changes.Ended, x.latch)
			x.latch = Latch{}
		}
	}
	return events
}

// cause returns the change that made a number pass. If none did, the rule asks for another number,
// and otherwise is the reason.
func cause(first, other *track.Count, otherwise track.Reason) *track.Count {
	if first.Change != 0 {
		return first
	}
	c := *first
	if c.Fence == nil {
		c = *other
	}
	c.Reason = otherwise
	return &c
}

// event returns an event of a tally. An end is not before its begin.
func (x *touched) event(kind track.Kind, c *track.Count, r Round) track.Event {
	return track.Event{
		Kind: kind, Reason: c.Reason, Set: x.set, Fence: c.Fence, Rule: x.rule,
		At: max(c.At, x.latch.Since), Time: c.Time, Since: x.latch.Since, Arrived: r.At,
		Seq: r.Number, Visit: x.latch.Begun, Several: &track.Several{Count: x.count, AtLeast: x.of.atLeast},
	}
}
