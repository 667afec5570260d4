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

// edit is a change of the interest in one pattern by s. It reports whether it has changed anything.
type edit func(n interest, s *subscription) (interest, bool)

// insert adds s, whose subject is a well-formed pattern. It is in effect for every snapshot that is
// taken after it returns.
func (x *index) insert(s *subscription) {
	x.update(s, interest.with, 1)
	x.inserts.Add(1)
}

// remove takes s out; an s that is not there, or no longer, is no error.
func (x *index) remove(s *subscription) {
	if x.update(s, interest.without, -1) {
		x.removes.Add(1)
	}
}

// update edits the interest in the pattern of s, and adds more to the number of subscriptions. It
// reports whether there was anything to change.
func (x *index) update(s *subscription, do edit, more int) (changed bool) {
	wild := subjects.HasWildcard(s.subject)
	x.mu.Lock()
	defer x.mu.Unlock()
	next, d := x.change(s.subject)
	if wild {
		d.wild, changed = d.wild.edit([]byte(s.subject), s, do)
	} else {
		h := maphash.String(seed, s.subject)
		n, _ := d.literal.Get(h, []byte(s.subject))
		if n, changed = do(n, s); n.empty() {
			d.literal = d.literal.Without(h, s.subject)
		} else {
			d.literal = d.literal.With(h, s.subject, n)
		}
	}
	if changed {
		next.count += more
		x.now.Store(next)
	}
	return changed
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

// edit returns l with the edited interest in the pattern of s, which is given from this level on;
// nil if nothing is left.
func (l *level) edit(pattern []byte, s *subscription, do edit) (edited *level, changed bool) {
	tok, rest, more := subjects.Cut(pattern)
	c := l.copied()
	if string(tok) == subjects.AnyTokens && !more {
		c.tail, changed = do(c.tail, s)
	} else {
		below := c.branch(tok)
		if more {
			below, changed = below.edit(rest, s, do)
		} else {
			below = below.copied()
			below.interest, changed = do(below.interest, s)
		}
		c.setBranch(tok, below)
	}
	switch {
	case !changed:
		return l, false
	case c.unused():
		return nil, true
	}
	return c, true
}

// branch returns the level below, for the patterns that have tok here.
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
