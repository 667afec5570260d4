package bus

import (
	"slices"
	"sync"
	"time"
)

// DefaultMaxClosed is how many ended connections are remembered.
const DefaultMaxClosed = 10_000

const (
	// closedSubs is how many subscriptions of one ended connection are kept.
	closedSubs = 1000
	// closedSubsAll is how many of all ended connections together: beyond it the
	// connections that ended first keep none.
	closedSubsAll = 100_000
)

// closedRing remembers the connections that ended last. It grows as they do, up to
// its bound.
type closedRing struct {
	mu    sync.Mutex
	max   int
	list  []ConnInfo // from at on the oldest first, then from the beginning
	at    int        // the oldest
	subs  int        // kept, of all
	strip int        // how many, from the oldest on, have lost theirs
}

// add puts i in, in place of the oldest if there are max.
func (r *closedRing) add(i ConnInfo) {
	if len(i.subs) > closedSubs {
		i.subs = slices.Clip(slices.Clone(i.subs[:closedSubs]))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subs += len(i.subs)
	if len(r.list) < r.max {
		r.list = append(r.list, i)
	} else {
		r.subs -= len(r.list[r.at].subs)
		r.list[r.at] = i
		r.at = (r.at + 1) % len(r.list)
		r.strip = max(r.strip-1, 0)
	}
	for ; r.subs > closedSubsAll; r.strip++ {
		old := &r.list[(r.at+r.strip)%len(r.list)]
		r.subs -= len(old.subs)
		old.subs = nil
	}
}

// all copies the ring, the oldest first.
func (r *closedRing) all() []ConnInfo {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Concat(r.list[r.at:], r.list[:r.at])
}

// retire counts c, which has its reason by then, among those that have ended, and
// takes its subscriptions away. The peer does not see the end before: who asks
// then, finds it.
func (c *client) retire() {
	c.retiring.Do(func() {
		i := c.info()
		i.subs, i.conn, i.Stop = c.subInfos(), nil, time.Now()
		i.Pending = i.lost
		s := c.srv
		s.mu.Lock()
		c.retired = true
		if c.rejected == nil {
			s.present--
		}
		s.mu.Unlock()
		s.closed.add(i)
		c.dropSubscriptions()
		c.mu.Lock()
		c.listed = true
		c.mu.Unlock()
	})
}
