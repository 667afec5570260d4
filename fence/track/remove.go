package track

// Remove forgets an object, and appends an exit for each fence that it is in. It reports
// whether the object was known.
//
// A position of the same name is a first observation from then on. Its events have other
// numbers than those before: where objects were removed, Seq of new ones begins behind the
// highest of these.
func (s *Shard) Remove(fleet, id string, now Millis, events []Event) (bool, []Event) {
	o, known := s.find(fleet, id)
	if !known {
		return false, events
	}
	s.meet(now)
	events = s.catchUp(o, events)
	events = s.renew(o, events)
	c := cause{reason: ObjectRemoved, at: s.now, time: s.now, arrived: s.now}
	if !o.silent() {
		s.loseSight(o, &c)
	}
	events = s.leaveAll(o, c, events)
	if o.extra != &noExtra {
		o.rare = &noRare
		s.arm(o)
		o.extra = &noExtra
	}
	if o.silent() {
		s.silent--
	}
	s.heard.remove(o)
	s.removeName(o)
	s.unname(o)
	s.visits.drop(o)
	// The place stays: nothing that walks over the objects meets a hole. As a silent object
	// without memberships it is passed by.
	o.bond, o.props, o.flags = nil, nil, gone|silent
	s.free = append(s.free, o.handle)
	s.numbers = max(s.numbers, o.seq)
	return true, events
}

// leaveAll ends every membership of the object, and forgets its pending changes.
func (s *Shard) leaveAll(o *object, c cause, events []Event) []Event {
	s.begin()
	s.scope = o.scope
	was := s.membersOf(o)
	for i := range was {
		s.leave(o, &was[i], c.at, c)
	}
	return s.finish(o, o.bond, c, events)
}

// place returns a new object with a handle that is free, or the next. It has no name yet.
func (s *Shard) place() *object {
	if n := len(s.free); n > 0 {
		o := s.objects.at(s.free[n-1])
		s.free = s.free[:n-1]
		*o = object{handle: o.handle, name: noName}
		return o
	}
	if s.behind > 0 { // it lies between next and the objects that Step comes to last
		s.behind++
	}
	o := s.objects.add()
	o.name = noName
	return o
}
