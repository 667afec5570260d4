package bus

import (
	"hash/maphash"
	"sync"
	"sync/atomic"

	"paddock/bus/internal/subjects"
)

// seed makes the hashes of subjects different in each process, so that a client cannot choose
// subjects that collide.
var seed = maphash.MakeSeed()

// index finds the subscriptions that a subject reaches. It grows by subscription, never by
// published subject. Readers work on a snapshot, without a lock.
type index struct {
	mu  sync.Mutex // taken by writers
	now atomic.Pointer[snapshot]

	inserts, removes atomic.Uint64
}

// snapshot is the index at one time; it never changes. Patterns are apart by their first token, so
// that a change of one leaves cached receivers of the others valid.
type snapshot struct {
	seq   uint64 // grows with each change
	count int    // subscriptions
	lead  domain // patterns that begin with a wildcard
	by    [16]*[16]domain
}

// domain is the patterns whose first tokens have one hash of eight bits, or those
// that begin with a wildcard.
type domain struct {
	gen     uint64 // the snapshot that changed it last
	literal subjects.Map[interest]
	wild    *level // nil = none
}

// domainOf returns where patterns that begin with the literal tok are.
func (s *snapshot) domainOf(tok []byte) *domain {
	h := uint8(maphash.Bytes(seed, tok))
	if half := s.by[h>>4]; half != nil {
		return &half[h&15]
	}
	return &noDomain
}

var noDomain domain

func newIndex() *index {
	x := new(index)
	x.now.Store(new(snapshot))
	return x
}

func (x *index) len() int { return x.now.Load().count }

// insert adds s, whose subject is a well-formed pattern. It is in effect for
// every snapshot that is taken after it returns.
func (x *index) insert(s *subscription) {
	wild := subjects.HasWildcard(s.subject)
	x.mu.Lock()
	defer x.mu.Unlock()
	next, d := x.change(s.subject)
	next.count++
	if wild {
		d.wild = d.wild.with([]byte(s.subject), s)
	} else {
		h := maphash.String(seed, s.subject)
		n, _ := d.literal.Get(h, []byte(s.subject))
		d.literal = d.literal.With(h, s.subject, n.with(s))
	}
	x.now.Store(next)
	x.inserts.Add(1)
}

// remove takes s out; an s that is not there, or no longer, is no error.
func (x *index) remove(s *subscription) {
	wild := subjects.HasWildcard(s.subject)
	x.mu.Lock()
	defer x.mu.Unlock()
	next, d := x.change(s.subject)
	found := false
	if wild {
		d.wild, found = d.wild.without([]byte(s.subject), s)
	} else {
		h := maphash.String(seed, s.subject)
		var n interest
		n, _ = d.literal.Get(h, []byte(s.subject))
		if n, found = n.without(s); n.empty() {
			d.literal = d.literal.Without(h, s.subject)
		} else {
			d.literal = d.literal.With(h, s.subject, n)
		}
	}
	if found {
		next.count--
		x.now.Store(next)
		x.removes.Add(1)
	}
}

// removeAll takes all of subs out.
func (x *index) removeAll(subs map[string]*subscription) {
	for _, s := range subs {
		x.remove(s)
	}
}

// renew makes everything that is remembered of the snapshots so far invalid.
func (x *index) renew() {
	x.mu.Lock()
	defer x.mu.Unlock()
	next := *x.now.Load()
	next.seq++
	next.lead.gen = next.seq
	x.now.Store(&next)
}

// change returns the snapshot to come and its domain for pattern, which may be
// changed until it is published.
func (x *index) change(pattern string) (*snapshot, *domain) {
	next := *x.now.Load()
	next.seq++
	d := &next.lead
	if tok, _, _ := subjects.Cut([]byte(pattern)); string(tok) != subjects.AnyToken && string(tok) != subjects.AnyTokens {
		h := uint8(maphash.Bytes(seed, tok))
		half := new([16]domain)
		if old := next.by[h>>4]; old != nil {
			*half = *old
		}
		next.by[h>>4] = half
		d = &half[h&15]
	}
	d.gen = next.seq
	return &next, d
}

// match fills m with the receivers of subject. Tokens of subject are literals, also * and >. A
// subject with an empty token reaches nothing.
func (s *snapshot) match(hash uint64, subject []byte, m *matches) {
	m.reset()
	tok, _, _ := subjects.Cut(subject)
	d := s.domainOf(tok)
	if d.literal.Len() > 0 {
		if n, found := d.literal.Get(hash, subject); found {
			m.take(&n)
		}
	}
	if s.lead.wild == nil && d.wild == nil || !subjects.NoEmptyToken(subject) {
		return
	}
	d.wild.match(subject, m)
	s.lead.wild.match(subject, m)
}

// match is that of the present snapshot.
func (x *index) match(subject []byte, m *matches) {
	x.now.Load().match(maphash.Bytes(seed, subject), subject, m)
}

// level is one token position in the tree of wildcard patterns. It is never
// changed in place; nil is an empty one.
type level struct {
	interest          // patterns that end here
	tail     interest // patterns that end in > below here
	next     subjects.Map[*level]
	any      *level // the token *
}

func (l *level) unused() bool {
	return l == nil || l.interest.empty() && l.tail.empty() && l.next.Len() == 0 && l.any == nil
}

// copied returns a level to change.
func (l *level) copied() *level {
	if l == nil {
		return new(level)
	}
	c := *l
	return &c
}

// with returns l and s, whose pattern from this level on is given.
func (l *level) with(pattern []byte, s *subscription) *level {
	tok, rest, more := subjects.Cut(pattern)
	c := l.copied()
	if string(tok) == subjects.AnyTokens && !more {
		c.tail = c.tail.with(s)
		return c
	}
	below := c.branch(tok).copied()
	if more {
		below = below.with(rest, s)
	} else {
		below.interest = below.interest.with(s)
	}
	c.setBranch(tok, below)
	return c
}

// without returns l without s, nil if nothing is left; found = it was there.
func (l *level) without(pattern []byte, s *subscription) (rest *level, found bool) {
	if l == nil {
		return nil, false
	}
	tok, after, more := subjects.Cut(pattern)
	c := l.copied()
	if string(tok) == subjects.AnyTokens && !more {
		c.tail, found = c.tail.without(s)
	} else {
		below := c.branch(tok)
		switch {
		case below == nil:
			return l, false
		case more:
			below, found = below.without(after, s)
		default:
			below = below.copied()
			below.interest, found = below.interest.without(s)
		}
		c.setBranch(tok, below)
	}
	switch {
	case !found:
		return l, false
	case c.unused():
		return nil, true
	}
	return c, true
}

// branch is where the patterns go on that have tok here.
func (l *level) branch(tok []byte) *level {
	if string(tok) == subjects.AnyToken {
		return l.any
	}
	next, _ := l.next.Get(maphash.Bytes(seed, tok), tok)
	return next
}

func (l *level) setBranch(tok []byte, below *level) {
	if below.unused() {
		below = nil
	}
	h := maphash.Bytes(seed, tok)
	switch {
	case string(tok) == subjects.AnyToken:
		l.any = below
	case below == nil:
		l.next = l.next.Without(h, string(tok))
	default:
		l.next = l.next.With(h, string(tok), below)
	}
}

func (l *level) match(subject []byte, m *matches) {
	if l == nil {
		return
	}
	m.take(&l.tail)
	tok, rest, more := subjects.Cut(subject)
	if l.next.Len() > 0 {
		if c, found := l.next.Get(maphash.Bytes(seed, tok), tok); found {
			c.step(rest, more, m)
		}
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
