package track

import (
	"cmp"
	"math"
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
	accuracy Measure // of the fix before
	altitude Measure // likewise
	heard    Millis  // when the fix before arrived
	now      Millis  // when the fix is taken: one that waited at the end of its wait
	unseen   bool    // nothing is known of the object's path
	edited   bool    // the fences changed and not the object, whose view is the one before
	fix      bool    // there is a new fix
	trace    *Trace  // of the fix
}

// isFix reports whether the cause is a fix.
func (c *cause) isFix() bool { return c.fix }

// settle compares the fences that hold the object with its memberships. It appends the
// differences that the policies confirm as events, and stores the new memberships.
// The object has the bond next from then on.
func (s *Shard) settle(o *object, next *bond, c cause, events []Event) []Event {
	s.begin()
	s.scope = next.scope
	was := s.membersOf(o)
	for i := range s.era.view.Sets {
		set := &s.era.view.Sets[i]
		for len(was) > 0 && was[0].set < set.ID { // the set is gone
			s.leave(o, &was[0], c.at, c)
			was = was[1:]
		}
		n := 0
		for n < len(was) && was[n].set == set.ID {
			n++
		}
		s.settleSet(o, set, &s.plan.sets[i], was[:n], &c)
		was = was[n:]
	}
	for i := range was {
		s.leave(o, &was[i], c.at, c)
	}
	events = s.finish(o, next, c, events)
	s.refs = trim(s.refs)
	return events
}

// settleSet is settle for one set, in which the object has these memberships.
func (s *Shard) settleSet(o *object, set *TrackedSet, t *terms, was []membership, c *cause) {
	if next := s.scope.of(set.ID); !next.tracked {
		for i := range was {
			s.leave(o, &was[i], c.at, *c)
		}
		return
	}
	if c.edited {
		s.keepPending(o, set)
	}
	if !s.says(o, set, t, c) {
		s.stay(o, set, was, c)
		return
	}
	s.refs = set.Snapshot.Append(s.refs[:0], o.point.Lon, o.point.Lat)
	refs := s.refs
	if t.own {
		s.settleOwn(o, set, t, was, refs, c)
		return
	}
	for len(was) > 0 || len(refs) > 0 {
		switch {
		case len(refs) == 0 || len(was) > 0 && was[0].ref < refs[0]:
			if at, confirmed := s.judge(o, set, t, was[0].ref, leaving, c); confirmed {
				s.leave(o, &was[0], at, *c)
			} else {
				s.members = append(s.members, was[0])
			}
			was = was[1:]
		case len(was) == 0 || refs[0] < was[0].ref:
			if at, confirmed := s.judge(o, set, t, refs[0], entering, c); confirmed {
				s.enter(o, set, refs[0], t.Initial, at, *c)
			}
			refs = refs[1:]
		default:
			s.members = append(s.members, was[0])
			was, refs = was[1:], refs[1:]
		}
	}
}

// stay keeps the memberships in the fences that are there.
func (s *Shard) stay(o *object, set *TrackedSet, was []membership, c *cause) {
	for i := range was {
		if c.edited && set.Snapshot.Fence(was[i].ref) == nil {
			s.leave(o, &was[i], c.at, *c)
		} else {
			s.members = append(s.members, was[i])
		}
	}
}

// settleOwn is settleSet for a set in which fences have settings.
func (s *Shard) settleOwn(o *object, set *TrackedSet, t *terms, was []membership, refs []fence.Ref, c *cause) {
	from := len(s.pending)
	if !c.edited {
		s.keepPassedOver(o, set, t)
	}
	for len(was) > 0 || len(refs) > 0 {
		if len(was) == 0 || len(refs) > 0 && refs[0] < was[0].ref {
			s.settleFence(o, set, t, refs[0], nil, true, c)
			refs = refs[1:]
			continue
		}
		m, held := &was[0], len(refs) > 0 && refs[0] == was[0].ref
		if held {
			refs = refs[1:]
		}
		s.settleFence(o, set, t, m.ref, m, held, c)
		was = was[1:]
	}
	slices.SortFunc(s.pending[from:], func(a, b pending) int { return cmp.Compare(a.ref, b.ref) })
}

// says reports whether the cause can change memberships in a set. If a fix does not, the pending
// changes stay. New fences say nothing about an object that was silent before them.
func (s *Shard) says(o *object, set *TrackedSet, t *terms, c *cause) bool {
	if !c.edited {
		if t.own || !t.ignores(o.accuracy()) {
			return true // to the fences one by one
		}
		for i := range o.pending {
			if o.pending[i].set == set.ID {
				s.pending = append(s.pending, o.pending[i])
				s.pending[len(s.pending)-1].reach = math.Inf(1)
			}
		}
		return false
	}
	old := o.era.view.find(set.ID)
	changed := old == nil || !old.sameFences(set) || !o.scope.of(set.ID).tracked
	return changed && !(t.ttl > 0 && o.arrived+t.ttl <= s.era.at)
}

// keepPending keeps the pending changes for fences of a set that are as they were, if its policy
// is.
func (s *Shard) keepPending(o *object, set *TrackedSet) {
	old := o.era.view.find(set.ID)
	for i := range o.pending {
		if p := &o.pending[i]; p.set == set.ID && samePolicy(old, set, p.ref) && !isChanged(old, set, p.ref) {
			s.pending = append(s.pending, *p)
		}
	}
}

// samePolicy reports whether a fence is judged alike in two states of its set.
func samePolicy(a, b *TrackedSet, ref fence.Ref) bool {
	if a == nil || policyOf(a) != policyOf(b) {
		return false
	}
	f, g := a.Snapshot.Fence(ref), b.Snapshot.Fence(ref)
	return f == g || f != nil && g != nil && f.Settings().SamePolicy(g.Settings())
}

// policyOf returns the policy of a set in the form in which it comes back from JSON.
func policyOf(t *TrackedSet) Policy {
	p := raw
	if t.Policy != nil {
		p = *t.Policy
	}
	if p.Fixes = max(p.Fixes, 1); p.Late != LateReorder {
		p.Reorder = 0
	}
	return p
}

// judge decides about one difference between a membership and the place of the object: whether
// the membership changes, and when.
func (s *Shard) judge(o *object, set *TrackedSet, t *terms, ref fence.Ref, w turn, c *cause) (at Millis, confirmed bool) {
	switch {
	case c.edited:
		return c.at, !o.scope.of(set.ID).tracked || isChanged(o.era.view.find(set.ID), set, ref)
	case t.atOnce || c.reason == FirstSeen:
		return s.crossing(o, t, set, ref, w, c), true
	}
	return s.weigh(o, t, set, ref, w, c)
}

// isChanged reports whether a fence is not the same area, or not of the same height, in two states
// of its set.
func isChanged(before, after *TrackedSet, ref fence.Ref) bool {
	if before == nil {
		return true
	}
	a, b := before.Snapshot.Fence(ref), after.Snapshot.Fence(ref)
	return a != b && (a == nil || b == nil || !sameArea(a.Geometry, b.Geometry) || !a.Settings().SameHeight(b.Settings()))
}

func sameArea(a, b geometry.MultiPolygon) bool {
	return slices.EqualFunc(a, b, func(p, q geometry.Polygon) bool {
		return slices.EqualFunc(p, q, func(r, s geometry.Ring) bool { return slices.Equal(r, s) })
	})
}

// crossing dates the change of a membership by a fix.
func (s *Shard) crossing(o *object, t *terms, set *TrackedSet, ref fence.Ref, w turn, c *cause) Millis {
	if w == leavingAloft || c.unseen || t.ttl > 0 && c.heard+t.ttl <= c.now {
		return c.at
	}
	return crossingTime(set.Snapshot, ref, c.from, o.point, c.fromTime, o.time, t.gap)
}
