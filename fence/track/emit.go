package track

import (
	"cmp"
	"slices"

	"paddock/fence"
)

// change is one membership that begins or ends, before it has become an event.
type change struct {
	kind   Kind
	reason Reason
	set    string
	fence  *fence.Fence
	at     Millis
	since  Millis
	visit  uint64
	member int // index in Shard.members, for one that begins
}

// begin empties the scratch for the memberships, pending changes and events of an object.
func (s *Shard) begin() {
	s.members, s.pending, s.changes = s.members[:0], s.pending[:0], s.changes[:0]
}

// finish appends the events and stores the memberships and pending changes since begin.
func (s *Shard) finish(o *object, c cause, events []Event) []Event {
	events = s.emit(o, &c, events)
	o.members = store(o.members, s.members)
	if len(s.pending) > 0 || len(o.pending) > 0 {
		o.pending = store(o.pending, s.pending)
		s.arm(o)
	}
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
	reason := c.reason
	if c.edited {
		reason = FenceRemoved
		if set := s.view.find(m.set); set != nil && set.Snapshot.Fence(m.ref) != nil {
			reason = FenceChanged
		}
	}
	set := o.view.find(m.set)
	// A visit that began by this process's clock may end by a device's that is
	// behind; it does not end before it began.
	s.changes = append(s.changes, change{
		kind: Exit, reason: reason, set: set.Name, fence: set.Snapshot.Fence(m.ref),
		at: max(at, m.since), since: m.since, visit: m.visit, member: -1,
	})
}

// enter begins a membership at a time.
func (s *Shard) enter(o *object, set *TrackedSet, ref fence.Ref, initial Initial, at Millis, c cause) {
	kind, reason := Enter, c.reason
	if c.edited {
		reason = FenceAdded
		if old := o.view.find(set.ID); old != nil && old.Snapshot.Fence(ref) != nil {
			reason = FenceChanged
		}
	}
	s.members = append(s.members, membership{set: set.ID, ref: ref, since: at})
	if reason == FirstSeen {
		switch initial {
		case InitialNone:
			return
		case InitialInside:
			kind = Inside
		}
	}
	s.changes = append(s.changes, change{
		kind: kind, reason: reason, set: set.Name, fence: set.Snapshot.Fence(ref),
		at: at, since: at, member: len(s.members) - 1,
	})
}

// emit turns the changes into numbered events: by kind, then time; the sort is
// stable, so load order decides the rest.
func (s *Shard) emit(o *object, c *cause, events []Event) []Event {
	if len(s.changes) == 0 {
		return events
	}
	slices.SortStableFunc(s.changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.at, b.at))
	})
	for i := range s.changes {
		ch := &s.changes[i]
		o.seq++
		visit := ch.visit
		if ch.kind == Enter {
			visit = o.seq
			s.members[ch.member].visit = visit
		}
		e := Event{
			Kind: ch.kind, Reason: ch.reason, Set: ch.set, Fence: ch.fence,
			Fleet: o.fleet, ID: o.id, Props: o.props,
			Point: o.point, At: ch.at, Time: c.time, Since: ch.since,
			Arrived: c.arrived, Seq: o.seq, Visit: visit,
		}
		if ch.reason == Move && !c.timed {
			e.Prev, e.HasPrev = c.from, true
		}
		events = append(events, e)
	}
	s.changes = trim(s.changes)
	return events
}
