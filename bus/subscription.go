package bus

import "slices"

// subscription is one interest of one endpoint. The fields below owner are
// fixed when it is created; the rest is guarded by the owner's lock.
type subscription struct {
	owner   endpoint
	subject string
	queue   string // "" = plain
	sid     string // as the client wrote it; empty for an in-process one
	sidText string // sid and the space after it; of an in-process one the key
	fn      func([]Msg)

	filter    *filter // messages not to deliver; nil = none
	max       uint64  // 0 = without end; else it ends with delivery number max
	delivered uint64
	closed    bool // no delivery starts once this is set
}

// key returns the name of s among the subscriptions of its owner.
func (s *subscription) key() string {
	if s.sid == "" {
		return s.sidText
	}
	return s.sid
}

func (s *subscription) reading(id uint64) SubInfo {
	return SubInfo{Conn: id, Subject: s.subject, Queue: s.queue, SID: s.sid, Delivered: s.delivered, Max: s.max}
}

// done reports whether s takes no more messages. Those it has taken are still
// delivered unless it is closed.
func (s *subscription) done() bool {
	return s.closed || s.max > 0 && s.delivered >= s.max
}

// limit lets s end with delivery number limit; 0 ends it now. It reports whether s has ended.
func (s *subscription) limit(limit uint64) bool {
	s.max = limit
	s.closed = s.closed || limit == 0
	return s.done()
}

// group is the members of one queue that share a pattern.
type group struct {
	name    string
	members []*subscription
}

// interest holds the subscriptions of one pattern. It is never changed in place.
type interest struct {
	plain  []*subscription
	groups []group
}

func (n *interest) empty() bool { return len(n.plain) == 0 && len(n.groups) == 0 }

// with returns n and s.
func (n interest) with(s *subscription) (more interest, changed bool) {
	if s.queue == "" {
		n.plain = slices.Concat(n.plain, []*subscription{s})
		return n, true
	}
	groups := slices.Clone(n.groups)
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == s.queue })
	if i < 0 {
		groups = append(groups, group{name: s.queue})
		i = len(groups) - 1
	}
	groups[i].members = slices.Concat(groups[i].members, []*subscription{s})
	n.groups = groups
	return n, true
}

// without returns n without s; found = it was there.
func (n interest) without(s *subscription) (rest interest, found bool) {
	if s.queue == "" {
		n.plain, found = without(n.plain, s)
		return n, found
	}
	i := slices.IndexFunc(n.groups, func(g group) bool { return g.name == s.queue })
	if i < 0 {
		return n, false
	}
	members, found := without(n.groups[i].members, s)
	groups := slices.Clone(n.groups)
	if groups[i].members = members; len(members) == 0 {
		groups = slices.Delete(groups, i, i+1)
	}
	n.groups = groups
	return n, found
}

func without(list []*subscription, s *subscription) ([]*subscription, bool) {
	i := slices.Index(list, s)
	if i < 0 {
		return list, false
	}
	return slices.Concat(list[:i], list[i+1:]), true
}

// matches is the answer to one look-up; reset and reused by its owner.
type matches struct {
	plain  [][]*subscription
	groups []group // one for each queue name, over all patterns
}

func (m *matches) reset() {
	clear(m.plain)
	clear(m.groups)
	m.plain, m.groups = m.plain[:0], m.groups[:0]
}

func (m *matches) take(n *interest) {
	if len(n.plain) > 0 {
		m.plain = append(m.plain, n.plain)
	}
	known := m.groups
	for _, g := range n.groups {
		i := slices.IndexFunc(known, func(k group) bool { return k.name == g.name })
		if i < 0 {
			m.groups = append(m.groups, g)
			continue
		}
		m.groups[i].members = slices.Concat(m.groups[i].members, g.members)
	}
}
