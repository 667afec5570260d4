package track

import (
	"cmp"
	"slices"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// change is one membership that begins or ends, before it has become an event.
type change struct {
	kind   Kind
	reason Reason
	set    *TrackedSet
	ref    fence.Ref
	fence  *fence.Fence
	rule   string // of events of one rule
	at     Millis
	since  Millis
	visit  uint64
	member int // index in Shard.members, for one that begins
	detail
}

// detail is what only some kinds of events have.
type detail struct {
	left      Millis
	direction rule.Direction
	passed    bool // path is that of the event
	path
}

// begin empties the scratch for the memberships, pending changes and events of an object.
func (s *Shard) begin() {
	s.members, s.pending, s.changes, s.kept = s.members[:0], s.pending[:0], s.changes[:0], true
}

// finish appends the events and stores the memberships and pending changes since begin. The
// object has the bond next from then on.
func (s *Shard) finish(o *object, next *bond, c cause, events []Event) []Event {
	s.scope, s.view = next.scope, o.era.view
	if c.edited {
		s.view = s.era.view
		s.reveal(o, o.scope, &c)
		s.keepPassages(o)
		s.recount(o, o.scope, &c)
		s.redate(o)
	}
	if len(o.marks) > 0 {
		s.forget(o, &c)
	}
	if c.isFix() && next.scope != nil {
		s.detect(o, &c)
	}
	events = s.emit(o, &c, events)
	if o.bond = next; c.edited || !s.kept {
		s.keep(o)
	}
	changed := len(s.pending) > 0 || len(o.pending) > 0
	if changed {
		x := s.own(o)
		x.pending = store(x.pending, s.pending)
	}
	if changed || o.slot > 0 || next.scope != nil && next.scope.dwells {
		s.arm(o)
	}
	s.tidy(o)
	s.members, s.pending = trim(s.members), trim(s.pending)
	return events
}

const (
	// keptScratch is how many elements a slice of scratch keeps room for. An object
	// that is in more fences has it made again.
	keptScratch = 4096
	// keptRoom is how many elements the memberships of an object keep room for
	// when they become fewer.
	keptRoom = 16
)

// store returns src in the place of dst, unless that has far too much room.
func store[T any](dst, src []T) []T {
	if cap(dst) > keptRoom && cap(dst) > 4*len(src) {
		dst = nil
	}
	if cap(dst) < len(src) { // no more than that
		dst = make([]T, 0, len(src))
	}
	return append(dst[:0], src...)
}

// trim returns s, or nil if it has grown beyond what is kept.
func trim[T any](s []T) []T {
	if cap(s) > keptScratch {
		return nil
	}
	return s
}

// leave ends a membership at a time.
func (s *Shard) leave(o *object, m *membership, at Millis, c cause) {
	s.kept = false
	set := o.era.view.find(m.set)
	f := set.Snapshot.Fence(m.ref)
	x, reason := o.scope.of(m.set), c.reason
	if c.edited {
		reason = s.whyLeft(m)
	}
	if s.countsIn(x) {
		s.tellCounts(x, set, f, -1, reason, max(at, m.since), c.time)
	}
	if c.isFix() && x.detects.Has(rule.DwellTime) {
		s.tellLapsed(m, set, at, &c)
	}
	if !s.tells(o, x, rule.Exit, f) {
		return
	}
	// A visit that began by this process's clock may end by a device's that is
	// behind; it does not end before it began.
	since := o.shownSince(m)
	s.changes = append(s.changes, change{
		kind: Exit, reason: reason, set: set, ref: m.ref, fence: f,
		at: max(at, since), since: since, visit: m.visit(), member: -1,
	})
}

// whyLeft returns the reason for the end of a membership in another era.
func (s *Shard) whyLeft(m *membership) Reason {
	set := s.era.view.find(m.set)
	switch {
	case set == nil || set.Snapshot.Fence(m.ref) == nil:
		return FenceRemoved
	case !s.scope.of(m.set).tracked:
		return RuleRemoved
	}
	return FenceChanged
}

// whyEntered returns the reason for a membership that begins with an era.
func (s *Shard) whyEntered(o *object, set SetID, ref fence.Ref) Reason {
	old := o.era.view.find(set)
	switch {
	case old != nil && !o.scope.of(set).tracked:
		return RuleAdded
	case old == nil || old.Snapshot.Fence(ref) == nil:
		return FenceAdded
	}
	return FenceChanged
}

// enter begins a membership at a time.
func (s *Shard) enter(o *object, set *TrackedSet, ref fence.Ref, initial Initial, at Millis, c cause) {
	s.kept = false
	kind, reason := Enter, c.reason
	if c.edited {
		reason = s.whyEntered(o, set.ID, ref)
	}
	f := set.Snapshot.Fence(ref)
	x := s.scope.of(set.ID)
	m := newMembership(set.ID, ref, at, x.shows(f))
	s.members = append(s.members, m)
	if s.countsIn(x) {
		s.tellCounts(x, set, f, 1, reason, at, c.time)
	}
	if !s.tells(o, x, rule.Enter, f) {
		return
	}
	if reason == FirstSeen {
		switch initial {
		case InitialNone:
			return
		case InitialInside:
			kind = Inside
		}
	}
	s.changes = append(s.changes, change{
		kind: kind, reason: reason, set: set, ref: ref, fence: f,
		at: at, since: at, member: len(s.members) - 1,
	})
}

// compare orders changes by kind, time, load order and rule.
func (a *change) compare(b *change) int {
	return cmp.Or(
		cmp.Compare(a.rank(), b.rank()), cmp.Compare(a.at, b.at),
		cmp.Compare(a.set.ID, b.set.ID), cmp.Compare(a.ref, b.ref),
		cmp.Compare(a.rule, b.rule), cmp.Compare(b.kind, a.kind), // the end of a condition before its begin
	)
}

// ranks are the places of the kinds in the order of events of one fix.
var ranks = [...]uint8{Exit: 1, Cross: 2, Enter: 3, Inside: 4, Outside: 5, Dwell: 6, ConditionBegin: 7, ConditionEnd: 7}

// rank returns the place of a change. The length of a visit that ends comes before its end.
func (ch *change) rank() uint8 {
	if ch.kind == Dwell && ch.member < 0 {
		return 0
	}
	return ranks[ch.kind]
}

// emit turns the changes into numbered events.
func (s *Shard) emit(o *object, c *cause, events []Event) []Event {
	if len(s.changes) == 0 {
		return events
	}
	fleet, id := s.nameOf(o)
	slices.SortStableFunc(s.changes, func(a, b change) int { return a.compare(&b) }) // of one line in their order
	for i := range s.changes {
		ch := &s.changes[i]
		o.seq++
		visit := ch.visit
		if ch.kind == Enter {
			visit = o.seq
			s.members[ch.member] = s.members[ch.member].as(visit, true)
		} else if ch.member >= 0 {
			visit = s.members[ch.member].visit()
		}
		e := Event{
			Kind: ch.kind, Reason: ch.reason, Set: ch.set.Name, Fence: ch.fence, Rule: ch.rule,
			Fleet: fleet, ID: id, Props: o.properties(), Point: o.point, Altitude: o.altitude(),
			At: ch.at, Time: c.time, Since: ch.since,
			Arrived: c.arrived, Seq: o.seq, Visit: visit, Left: ch.left, Direction: ch.direction,
			Trace: c.trace,
		}
		if ch.fence != nil && ch.fence.Buffer() > 0 {
			e.Progress = Measured(ch.fence.Progress(o.point))
		}
		if c.reason == Move && c.isFix() {
			e.Prev, e.HasPrev = c.from, true
		}
		if ch.passed {
			e.Prev, e.Point, e.Altitude = ch.path.from, ch.path.to, ch.path.altitude
		}
		events = append(events, e)
	}
	s.changes = trim(s.changes)
	return events
}
