package server

import (
	"errors"
	"slices"
	"sync/atomic"

	"paddock/wire"
)

// maxMembers bounds the clients of a group: the choice of the least loaded one looks at all of
// them.
const maxMembers = 32

// choice iterates over the members of an endpoint, each once: the least loaded first, those away
// last.
type choice struct {
	endpoint *endpoint
	members  []*lease
	tried    uint32 // a bit for each
	class    Class  // members are compared by their load of it
	chosen   *lease // by the last choice among several, until the visitor is admitted or refused
}

// choose begins a choice that skips the members tried before.
func (p *endpoint) choose(class Class, before []*lease) choice {
	c := choice{endpoint: p, members: p.all(), class: class}
	for i, m := range c.members {
		if slices.Contains(before, m) {
			c.tried |= 1 << i
		}
	}
	return c
}

// next returns the next member to try, nil after the last. A nil owner means that the member is
// away.
func (c *choice) next() (*lease, *owner) {
	if len(c.members) == 1 {
		if c.tried != 0 {
			return nil, nil
		}
		c.tried = 1
		return c.members[0], c.members[0].owner.Load()
	}
	return c.least()
}

// least returns the member with the least load relative to its capacity; of equals, the one that
// was chosen longest ago. All members are compared, since this server counts all of their visitors:
// no other server sends them any. A chosen visitor counts from here on, otherwise two visitors that
// arrive at once would both be sent to one member.
func (c *choice) least() (*lease, *owner) {
	best := -1
	var holds *owner
	var does load
	c.endpoint.choosing.Lock()
	defer c.endpoint.choosing.Unlock()
	for i, m := range c.members {
		if c.tried&(1<<i) != 0 {
			continue
		}
		h := m.owner.Load()
		if h != nil && h.session.drains() {
			h = nil
		}
		switch is := m.load(c.class); {
		case best < 0:
			best, holds, does = i, h, is
		case h == nil:
		case holds == nil || is.less(does) || !does.less(is) && m.chosen < c.members[best].chosen:
			best, holds, does = i, h, is
		}
	}
	if best < 0 {
		return nil, nil
	}
	c.tried |= 1 << best
	if holds != nil {
		c.endpoint.turn++
		c.chosen = c.members[best]
		c.chosen.chosen = c.endpoint.turn
		c.chosen.coming.Add(1)
	}
	return c.members[best], holds
}

// came records that the chosen member has admitted or refused the visitor.
func (c *choice) came() {
	if c.chosen != nil {
		c.chosen.coming.Add(-1)
		c.chosen = nil
	}
}

// drains reports whether a client takes nothing new on any of its connections.
func (x *session) drains() bool {
	for _, l := range x.all() {
		select {
		case <-l.GoingAway():
		default:
			return false
		}
	}
	return true
}

// load is how much a member has under way, of how much it may have.
type load struct{ now, most int }

// less compares the parts.
func (a load) less(b load) bool { return a.now*b.most < b.now*a.most }

// load returns the load of one class: streams may last for days, and do not predict how soon a
// request is answered. For lanes without statistics only the visitors on their way count.
func (c *lease) load(class Class) load {
	stats, coming := c.laneStats(), int(c.coming.Load())
	if class == Stream {
		return load{stats.Streams + coming, 1}
	}
	return load{stats.Requests + stats.Waiting + coming, max(stats.Limit, 1)}
}

const (
	// maxAttempts bounds how often one request is sent, the first time included.
	maxAttempts = 3
	// retryPart is of how many exchanges one may be sent again, in the long run.
	retryPart = 10
)

// retryBudget bounds the requests that are sent to another member of a group after one has not
// served them: otherwise a member that fails all of its visitors would double the load of the
// others. It suffices for all current requests of one lost member.
type retryBudget struct {
	parts atomic.Int64
	most  int64
}

func (l *retryBudget) init(exchanges int) {
	l.most = retryPart * int64(exchanges)
	l.parts.Store(l.most)
}

// earn records an admitted exchange.
func (l *retryBudget) earn() {
	if l.parts.Load() < l.most {
		l.parts.Add(1)
	}
}

// take is for one that is to be sent again.
func (l *retryBudget) take() bool {
	if l.parts.Add(-retryPart) < 0 {
		l.parts.Add(retryPart)
		return false
	}
	return true
}

// outcome classifies a request that was not answered.
type outcome uint8

const (
	outcomeOther    outcome = iota // it was, or may be the cause
	outcomeRefused                 // it was not begun; the client is connected
	outcomeNotSent                 // it has not left: the connection has ended
	outcomeMaybeRun                // the connection ended, and it may have been done
)

// outcomeOf classifies an error. conn is the connection on which the request was sent.
func outcomeOf(conn *wire.Conn, err error) outcome {
	var e *wire.Error
	switch {
	case errors.Is(err, wire.ErrNotSent):
		return outcomeNotSent
	case errors.Is(err, wire.ErrMaybeSent), conn.Err() != nil && errors.Is(err, conn.Err()):
		return outcomeMaybeRun
	case errors.Is(err, wire.ErrDraining):
		return outcomeRefused
	case !errors.As(err, &e) || !e.NotStarted:
		return outcomeOther
	}
	switch e.Code {
	case wire.ResourceExhausted, wire.Unavailable, wire.DeadlineExceeded, wire.NotFound:
		return outcomeRefused
	}
	return outcomeOther
}

// attempts are those of one visitor.
type attempts struct {
	n      int                     // beside the first
	unsure bool                    // one of them may have been done
	past   [maxAttempts - 1]*lease // members that have refused
	passed int                     // of these
}

// again reports whether there may be another attempt at the endpoint, and records the result of the
// last. A request that may have had an effect is repeated at most once, and only if that does no
// harm: a request that crashes its member must not crash all of them. Without a group the only
// candidate is the same client, over its next connection.
func (a *attempts) again(at *assignment, became outcome, harmless bool) bool {
	p := at.lease.endpoint
	switch {
	case became == outcomeOther, a.n == maxAttempts-1:
		return false
	case became == outcomeMaybeRun && (a.unsure || !harmless):
		return false
	case !p.grouped() && (became == outcomeRefused || a.n > 0):
		return false
	case p.grouped() && !p.retries.take():
		return false
	}
	a.n++
	a.unsure = a.unsure || became == outcomeMaybeRun
	if became == outcomeRefused {
		a.past[a.passed] = at.lease
		a.passed++
	}
	return true
}

// before returns the members that are not asked again.
func (a *attempts) before() []*lease { return a.past[:a.passed] }
