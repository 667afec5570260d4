package track

// Remove forgets an object, and appends an exit for each fence that it is in. It reports
// whether the object was known.
//
// A position of the same name is a first observation from then on. Its events have other
// numbers than those before: where objects were removed, Seq of new ones begins behind the
// highest of these.
func (s *Shard) Remove(fleet, id string, now Millis, events []Event) (bool, []Event) {
	o, known := s.names.find(s.order, fleet, id)
	if !known {
		return false, events
	}
	s.meet(now)
	events = s.catchUp(o, events)
	events = s.renew(o, events)
	c := cause{reason: ObjectRemoved, at: s.now, time: s.now, arrived: s.now}
	if !o.silent {
		s.loseSight(o, &c)
	}
	events = s.leaveAll(o, c, events)
	if o.extra != &noExtra {
		o.held, o.marks = nil, nil
		s.arm(o)
		o.extra = &noExtra
	}
	if o.silent {
		s.silent--
	}
	s.heard.remove(o)
	s.names.remove(o)
	// The place stays: nothing that walks over the objects meets a hole. As a silent object
	// without memberships it is passed by.
	o.bond, o.era = nil, nil
	o.gone, o.silent, o.members, o.props = true, true, nil, nil
	s.free = append(s.free, o.handle)
	s.numbers = max(s.numbers, o.seq)
	return true, events
}

// leaveAll ends every membership of the object, and forgets its pending changes.
func (s *Shard) leaveAll(o *object, c cause, events []Event) []Event {
	s.begin()
	s.scope = o.scope
	for i := range o.members {
		s.leave(o, &o.members[i], c.at, c)
	}
	return s.finish(o, o.bond, c, events)
}

// place gives a new object its handle: one that is free, or the next.
func (s *Shard) place(o *object) {
	if n := len(s.free); n > 0 {
		o.handle, s.free = s.free[n-1], s.free[:n-1]
		s.order[o.handle] = o
		return
	}
	o.handle = uint32(len(s.order))
	s.order = append(s.order, o)
	if s.behind > 0 { // it lies between next and the objects that Step comes to last
		s.behind++
	}
}
