package track

import (
	"cmp"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// cause is why an object's memberships are looked at again.
type cause struct {
	reason   Reason
	at, time Millis // of the event, unless the crossing says more exactly
	arrived  Millis // at this process
	from     geometry.Point
	fromTime Millis
	unseen   bool // the object was silent: nothing is known of its path
	edited   bool // the fences changed and not the object, whose view is the one before
}

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

// settle compares the fences that hold the object with its memberships, appends the difference as
// events and stores the new memberships.
func (s *Shard) settle(o *object, c cause, events []Event) []Event {
	s.members, s.changes = s.members[:0], s.changes[:0]
	was := o.members
	for i := range s.view.Sets {
		set := &s.view.Sets[i]
		s.refs = set.Snapshot.Append(s.refs[:0], o.point.Lon, o.point.Lat)
		for _, ref := range s.refs {
			for len(was) > 0 && was[0].compare(set.ID, ref) < 0 {
				s.leave(o, &was[0], c)
				was = was[1:]
			}
			if len(was) > 0 && was[0].compare(set.ID, ref) == 0 {
				s.members = append(s.members, was[0])
				was = was[1:]
				continue
			}
			s.enter(o, set, ref, c)
		}
	}
	for i := range was {
		s.leave(o, &was[i], c)
	}
	events = s.emit(o, c, events)
	o.members, o.view = store(o.members, s.members), s.view
	s.members, s.refs = trim(s.members), trim(s.refs)
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
func store(dst, src []membership) []membership {
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

// leaveAll ends every membership of the object.
func (s *Shard) leaveAll(o *object, c cause, events []Event) []Event {
	s.members, s.changes = s.members[:0], s.changes[:0]
	for i := range o.members {
		s.leave(o, &o.members[i], c)
	}
	o.members = store(o.members, nil)
	return s.emit(o, c, events)
}

func (s *Shard) leave(o *object, m *membership, c cause) {
	reason, at := c.reason, c.at
	if c.edited {
		reason = FenceRemoved
		if set := s.view.find(m.set); set != nil && set.Snapshot.Fence(m.ref) != nil {
			reason = FenceChanged
		}
	}
	set := o.view.find(m.set)
	f := set.Snapshot.Fence(m.ref)
	if c.reason == Move && !c.edited {
		at = s.crossing(o, f, c)
	}
	// A visit that began by this process's clock may end by a device's that is
	// behind; it does not end before it began.
	at = max(at, m.since)
	s.changes = append(s.changes, change{
		kind: Exit, reason: reason, set: set.Name, fence: f,
		at: at, since: m.since, visit: m.visit, member: -1,
	})
}

func (s *Shard) enter(o *object, set *TrackedSet, ref fence.Ref, c cause) {
	kind, reason, at := Enter, c.reason, c.at
	f := set.Snapshot.Fence(ref)
	switch {
	case c.edited:
		reason = FenceAdded
		if old := o.view.find(set.ID); old != nil && old.Snapshot.Fence(ref) != nil {
			reason = FenceChanged
		}
	case c.reason == Move:
		at = s.crossing(o, f, c)
	case c.reason == FirstSeen && s.opts.Initial == InitialInside:
		kind = Inside
	}
	s.members = append(s.members, membership{set: set.ID, ref: ref, since: at})
	if c.reason == FirstSeen && !c.edited && s.opts.Initial == InitialNone {
		return
	}
	s.changes = append(s.changes, change{
		kind: kind, reason: reason, set: set.Name, fence: f,
		at: at, since: at, member: len(s.members) - 1,
	})
}

func (s *Shard) crossing(o *object, f *fence.Fence, c cause) Millis {
	if c.unseen {
		return c.at
	}
	return crossingTime(f.Geometry, c.from, o.point, c.fromTime, o.time, s.maxGap)
}

// emit turns the changes into numbered events: by kind, then time; the sort is
// stable, so load order decides the rest.
func (s *Shard) emit(o *object, c cause, events []Event) []Event {
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
		if ch.reason == Move {
			e.Prev, e.HasPrev = c.from, true
		}
		events = append(events, e)
	}
	s.changes = trim(s.changes)
	return events
}
