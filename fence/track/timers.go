package track

import (
	"container/heap"
)

// timers is a heap of the objects that have a deadline, by it and by handle. Each object is in it
// once, with its earliest deadline.
type timers []*object

func (t timers) Len() int { return len(t) }

func (t timers) Less(i, j int) bool {
	if t[i].due != t[j].due {
		return t[i].due < t[j].due
	}
	return t[i].handle < t[j].handle
}

func (t timers) Swap(i, j int) {
	t[i], t[j] = t[j], t[i]
	t[i].slot, t[j].slot = i+1, j+1
}

// Push implements [heap.Interface].
func (t *timers) Push(x any) {
	o := x.(*object)
	*t = append(*t, o)
	o.slot = len(*t)
}

// Pop implements [heap.Interface].
func (t *timers) Pop() any {
	last := len(*t) - 1
	o := (*t)[last]
	(*t)[last] = nil
	*t = (*t)[:last]
	o.slot = 0
	return o
}

// arm puts the earliest deadline of an object in force.
func (s *Shard) arm(o *object) {
	due, armed := s.deadline(o)
	switch {
	case armed && o.slot == 0:
		s.own(o).due = due
		heap.Push(&s.timers, o)
	case armed && o.due != due:
		o.due = due
		heap.Fix(&s.timers, o.slot-1)
	case !armed && o.slot > 0:
		heap.Remove(&s.timers, o.slot-1)
	}
}

// deadline returns the earliest of an object's deadlines, if it has one.
func (s *Shard) deadline(o *object) (at Millis, ok bool) {
	for i := range o.pending {
		if p := &o.pending[i]; p.timed() && (!ok || p.due < at) {
			at, ok = p.due, true
		}
	}
	for i := range o.held {
		if h := &o.held[i]; !ok || h.until < at {
			at, ok = h.until, true
		}
	}
	if o.scope != nil && o.scope.dwells {
		if t, has := s.dwellDeadline(o); has && (!ok || t < at) {
			at, ok = t, true
		}
	}
	return at, ok
}

// catchUp does what is due for an object by now, in the order of time.
func (s *Shard) catchUp(o *object, events []Event) []Event {
	for {
		heard := o.arrived
		for _, ttl := range s.plan.ttls {
			if o.silent() || o.arrived != heard || o.arrived+ttl > s.now {
				break
			}
			events = s.endSilently(o, ttl, events)
		}
		if o.arrived == heard {
			events = s.fire(o, s.now, events)
		}
		if o.arrived == heard {
			return events
		}
	} // a fix that waited has come: another silence may have followed it
}

// fire does what the deadlines of an object up to a time ask for, or up to a silence behind a fix
// that has waited. Changes of the fences that were earlier than a deadline go first.
func (s *Shard) fire(o *object, until Millis, events []Event) []Event {
	for o.slot > 0 && o.due <= until {
		if o.era != s.era && s.era.at < o.due {
			events = s.renew(o, events)
			continue
		}
		due := o.due
		events = s.elapse(o, due, events)
		heard := o.arrived
		events = s.release(o, due, events)
		s.arm(o)
		if o.arrived != heard && len(s.plan.ttls) > 0 {
			until = min(until, o.arrived+s.plan.ttls[0])
		}
	}
	return events
}

// elapse confirms the pending changes of an object whose time has come.
func (s *Shard) elapse(o *object, due Millis, events []Event) []Event {
	s.begin()
	s.scope = o.scope
	c := cause{reason: Move, at: due, time: due, arrived: s.now}
	members := s.membersOf(o)
	for i := range o.pending {
		p := &o.pending[i]
		for len(members) > 0 && members[0].compare(p.set, p.ref) < 0 {
			s.members = append(s.members, members[0])
			members = members[1:]
		}
		confirmed := p.timed() && p.due <= due
		if !confirmed {
			s.pending = append(s.pending, *p)
		}
		switch isMember := len(members) > 0 && members[0].compare(p.set, p.ref) == 0; {
		case !confirmed:
		case isMember:
			s.leave(o, &members[0], p.at, c)
			members = members[1:]
		default:
			s.enter(o, o.era.view.find(p.set), p.ref, InitialEnter, p.at, c)
		}
	}
	s.members = append(s.members, members...)
	s.elapseDwell(o, due, &c)
	return s.finish(o, o.bond, c, events)
}
