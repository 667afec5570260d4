package bus

import (
	"slices"
	"sync"
)

// subscription is one interest of one endpoint. The fields below owner are
// fixed when it is created; the rest is guarded by the owner's lock.
type subscription struct {
	owner   endpoint
	subject string
	queue   string // "" = plain
	sid     string // as the client wrote it; empty for an in-process one
	sidText string // sid and the space after it
	fn      func([]Msg)

	max       uint64 // 0 = without end; else it ends with delivery number max
	delivered uint64
	closed    bool // no delivery starts once this is set
}

// ended reports whether s takes no more messages. Those it has taken are still
// delivered unless it is closed.
func (s *subscription) ended() bool {
	return s.closed || s.max > 0 && s.delivered >= s.max
}

// limit lets s end with delivery number limit; 0 ends it now. It reports
// whether s has ended.
func (s *subscription) limit(limit uint64) bool {
	s.max = limit
	s.closed = s.closed || limit == 0
	return s.ended()
}

// group is the members of one queue that share a pattern.
type group struct {
	name    string
	members []*subscription
}

// interest is what one pattern has collected. Its slices are never changed in
// place, so that a match may use them after the index's lock is released.
type interest struct {
	plain  []*subscription
	groups []group
}

func (n *interest) empty() bool { return len(n.plain) == 0 && len(n.groups) == 0 }

func (n *interest) add(s *subscription) {
	if s.queue == "" {
		n.plain = with(n.plain, s)
		return
	}
	groups := slices.Clone(n.groups)
	i := slices.IndexFunc(groups, func(g group) bool { return g.name == s.queue })
	if i < 0 {
		groups = append(groups, group{name: s.queue})
		i = len(groups) - 1
	}
	groups[i].members = with(groups[i].members, s)
	n.groups = groups
}

// remove takes s out and reports whether it was there.
func (n *interest) remove(s *subscription) bool {
	if s.queue == "" {
		rest, ok := without(n.plain, s)
		n.plain = rest
		return ok
	}
	i := slices.IndexFunc(n.groups, func(g group) bool { return g.name == s.queue })
	if i < 0 {
		return false
	}
	rest, ok := without(n.groups[i].members, s)
	groups := slices.Clone(n.groups)
	if groups[i].members = rest; len(rest) == 0 {
		groups = slices.Delete(groups, i, i+1)
	}
	n.groups = groups
	return ok
}

func with(list []*subscription, s *subscription) []*subscription {
	return append(list[:len(list):len(list)], s)
}

func without(list []*subscription, s *subscription) ([]*subscription, bool) {
	i := slices.Index(list, s)
	if i < 0 {
		return list, false
	}
	rest := make([]*subscription, 0, len(list)-1)
	return append(append(rest, list[:i]...), list[i+1:]...), true
}

// level is one token position in the tree of wildcard patterns.
type level struct {
	interest          // patterns that end here
	tail     interest // patterns that end in > below here
	next     map[string]*level
	any      *level // the token *
}

func (l *level) unused() bool {
	return l.interest.empty() && l.tail.empty() && len(l.next) == 0 && l.any == nil
}

// index finds the subscriptions that a subject reaches. It grows by
// subscription, never by published subject. Safe for concurrent use.
type index struct {
	mu      sync.RWMutex
	literal map[string]*interest // patterns without a wildcard
	wild    level
	count   int
}

// matches is the answer to one look-up; reset and reused by its owner.
type matches struct {
	plain  [][]*subscription
	groups []group // one for each queue name, whatever the patterns
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

func newIndex() *index { return &index{literal: make(map[string]*interest)} }

func (x *index) len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.count
}

// insert adds s, whose subject is a well-formed pattern.
func (x *index) insert(s *subscription) {
	wild := hasWildcard(s.subject)
	x.mu.Lock()
	defer x.mu.Unlock()
	x.count++
	if wild {
		x.wild.insert([]byte(s.subject), s)
		return
	}
	n := x.literal[s.subject]
	if n == nil {
		n = new(interest)
		x.literal[s.subject] = n
	}
	n.add(s)
}

func (l *level) insert(pattern []byte, s *subscription) {
	tok, rest, more := cutToken(pattern)
	switch {
	case string(tok) == anyTokens && !more:
		l.tail.add(s)
		return
	case string(tok) == anyToken:
		if l.any == nil {
			l.any = new(level)
		}
		l = l.any
	default:
		l = l.child(tok)
	}
	if more {
		l.insert(rest, s)
		return
	}
	l.interest.add(s)
}

func (l *level) child(tok []byte) *level {
	c := l.next[string(tok)]
	if c == nil {
		if l.next == nil {
			l.next = make(map[string]*level)
		}
		c = new(level)
		l.next[string(tok)] = c
	}
	return c
}

// remove takes s out; an s that is not there, or no longer, is no error.
func (x *index) remove(s *subscription) {
	wild := hasWildcard(s.subject)
	x.mu.Lock()
	defer x.mu.Unlock()
	found := false
	if wild {
		found = x.wild.remove([]byte(s.subject), s)
	} else if n := x.literal[s.subject]; n != nil {
		if found = n.remove(s); n.empty() {
			delete(x.literal, s.subject)
		}
	}
	if found {
		x.count--
	}
}

// remove also prunes the branch when nothing is left on it.
func (l *level) remove(pattern []byte, s *subscription) (found bool) {
	tok, rest, more := cutToken(pattern)
	if string(tok) == anyTokens && !more {
		return l.tail.remove(s)
	}
	c := l.next[string(tok)]
	if string(tok) == anyToken {
		c = l.any
	}
	if c == nil {
		return false
	}
	if more {
		found = c.remove(rest, s)
	} else {
		found = c.interest.remove(s)
	}
	if !c.unused() {
		return found
	}
	if string(tok) == anyToken {
		l.any = nil
	} else {
		delete(l.next, string(tok))
	}
	return found
}

// match fills m with what subject reaches. Tokens of subject are literals, also
// * and >. A subject with an empty token reaches nothing.
func (x *index) match(subject []byte, m *matches) {
	m.reset()
	x.mu.RLock()
	defer x.mu.RUnlock()
	if n := x.literal[string(subject)]; n != nil {
		m.take(n)
	}
	if !x.wild.unused() && noEmptyToken(subject) {
		x.wild.match(subject, m)
	}
}

func (l *level) match(subject []byte, m *matches) {
	m.take(&l.tail)
	tok, rest, more := cutToken(subject)
	if c := l.next[string(tok)]; c != nil {
		c.step(rest, more, m)
	}
	if l.any != nil {
		l.any.step(rest, more, m)
	}
}

func (l *level) step(rest []byte, more bool, m *matches) {
	if more {
		l.match(rest, m)
		return
	}
	m.take(&l.interest)
}
