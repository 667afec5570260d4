package track

// arrivalList orders objects by when they were last heard. For each TTL of the plan it knows the
// first object that has not been found to be silent for it, so that nothing looks at an object
// that is not due.
type arrivalList struct {
	objects     *objects
	first, last *object
	next        []*object // by TTL, ascending; nil: all have been found silent
}

// link is the handle of a neighbour and one more, or 0.
type link uint32

func linkTo(o *object) link {
	if o == nil {
		return 0
	}
	return link(o.handle) + 1
}

// neighbour returns the object of a link, or nil.
func (l *arrivalList) neighbour(to link) *object {
	if to == 0 {
		return nil
	}
	return l.objects.at(uint32(to - 1))
}

// reset begins again with this number of TTLs.
func (l *arrivalList) reset(ttls int) {
	l.next = l.next[:0]
	for range ttls {
		l.next = append(l.next, l.first)
	}
}

// touch moves o to its place, or puts it there: to the end, unless its fix has waited.
func (l *arrivalList) touch(o *object) {
	if l.last != o {
		l.remove(o)
		l.insert(o)
	}
	for i, first := range l.next {
		if first == nil || first.arrived > o.arrived {
			l.next[i] = o
		}
	}
}

// insert puts o behind all objects that were heard by its time.
func (l *arrivalList) insert(o *object) {
	earlier, later := l.last, (*object)(nil)
	for earlier != nil && earlier.arrived > o.arrived {
		earlier, later = l.neighbour(earlier.earlier), earlier
	}
	o.earlier, o.later = linkTo(earlier), linkTo(later)
	if earlier != nil {
		earlier.later = linkTo(o)
	} else {
		l.first = o
	}
	if later != nil {
		later.earlier = linkTo(o)
	} else {
		l.last = o
	}
}

// remove takes o out; it may be out already.
func (l *arrivalList) remove(o *object) {
	earlier, later := l.neighbour(o.earlier), l.neighbour(o.later)
	for i, first := range l.next {
		if first == o {
			l.next[i] = later
		}
	}
	if earlier != nil {
		earlier.later = o.later
	} else if l.first == o {
		l.first = later
	}
	if later != nil {
		later.earlier = o.earlier
	} else if l.last == o {
		l.last = earlier
	}
	o.earlier, o.later = 0, 0
}

// nextSilence returns the object that is next to be silent for a TTL, and when.
func (s *Shard) nextSilence() (o *object, ttl, at Millis) {
	for i, first := range s.heard.next {
		if first == nil {
			continue
		}
		if t := s.plan.ttls[i]; o == nil || first.arrived+t < at {
			o, ttl, at = first, t, first.arrived+t
		}
	}
	return o, ttl, at
}

// endSilently does what is due for an object before its silence, brings it to the shard's era, if
// that began before its silence, and ends its visits.
func (s *Shard) endSilently(o *object, ttl Millis, events []Event) []Event {
	at := o.arrived + ttl
	events = s.fire(o, at, events)
	if o.arrived+ttl == at && s.era.at < at {
		events = s.fire(o, at, s.renew(o, events))
	}
	if o.arrived+ttl != at { // a fix that waited has come
		return events
	}
	return s.silence(o, ttl, events)
}

// silence ends the visits of an object that has been silent for a TTL of the plan.
func (s *Shard) silence(o *object, ttl Millis, events []Event) []Event {
	at := o.arrived + ttl
	for i, first := range s.heard.next {
		if first == o && s.plan.ttls[i] == ttl {
			s.heard.next[i] = s.heard.neighbour(o.later)
		}
	}
	s.begin()
	s.scope = o.scope
	all := s.plan.wholly && ttl == s.plan.ttls[len(s.plan.ttls)-1]
	c := cause{reason: TTL, at: at, time: at, arrived: s.now}
	was := s.membersOf(o)
	for i := range was {
		m := &was[i]
		if t := s.plan.ttlOf(m.set); all || t > 0 && t <= ttl {
			s.leave(o, m, at, c)
		} else {
			s.members = append(s.members, *m)
		}
	}
	for _, p := range o.pending {
		if t := s.plan.ttlOf(p.set); !all && (t == 0 || t > ttl) {
			s.pending = append(s.pending, p)
		}
	}
	if all {
		s.loseSight(o, &c)
		s.heard.remove(o)
		o.set(silent, true)
		s.silent++
	}
	events = s.finish(o, o.bond, c, events)
	if len(o.marks)+len(o.passages) > 0 && all {
		o.marks, o.passages = nil, nil
		s.tidy(o)
	}
	return events
}
