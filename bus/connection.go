package bus

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"paddock/bus/internal/subjects"
)

// fewSubscriptions is the largest number of subscriptions that are looked through one by one.
const fewSubscriptions = 16

// connection is the part that a network client and a [Local] have in common: the subscriptions and
// the counts.
type connection struct {
	srv   *Server
	id    uint64
	usage usage

	mu        sync.Mutex               // guards the fields below, and the subscriptions' counts
	subs      map[string]*subscription // by subscription.key
	delivered deliveryCounts
	mark      uint64 // the batch that has this connection in its list
}

// usage holds the counts of a connection's own work. For a network client, only the reader writes
// the numbers of messages, once a batch.
type usage struct {
	start           time.Time
	inMsgs, inBytes atomic.Uint64
	active          atomic.Int64 // Unix ns
}

// deliveryCounts counts the deliveries to a connection. The connection's lock guards it.
type deliveryCounts struct {
	msgs, bytes     uint64
	dropped, stalls uint64
	lost            int64 // bytes that were pending when the client was given up
}

// start prepares a new connection of s.
func (n *connection) start(s *Server) {
	n.srv, n.id = s, s.clientIDs.Add(1)
	n.usage.start = time.Now()
	n.usage.active.Store(n.usage.start.UnixNano())
}

// count publishes the counts of the batch so far.
func (u *usage) count(b *batchCounts, now int64) {
	if b.inMsgs > 0 {
		u.inMsgs.Store(u.inMsgs.Load() + b.inMsgs)
		u.inBytes.Store(u.inBytes.Load() + b.inBytes)
		u.active.Store(now)
	}
}

// add does the same for a connection with many publishers at once.
func (u *usage) add(b *batchCounts) {
	u.inMsgs.Add(b.inMsgs)
	u.inBytes.Add(b.inBytes)
}

// add puts s among the subscriptions, but not into the index. n.mu is held.
func (n *connection) add(s *subscription) {
	if n.subs == nil {
		n.subs = make(map[string]*subscription)
	}
	n.subs[s.key()] = s
}

// activate puts s into the index. It reports whether s is there to stay: it may have been closed
// meanwhile.
func (n *connection) activate(s *subscription) bool {
	n.srv.subs.insert(s)
	n.mu.Lock()
	closed := s.closed
	n.mu.Unlock()
	if closed {
		n.srv.subs.remove(s)
	}
	return !closed
}

// endAfter ends s with its delivery number limit, and reports whether it has ended already: it has
// to leave the index then. n.mu is held.
func (n *connection) endAfter(s *subscription, limit uint64) (ended bool) {
	if ended = s.limit(limit); ended {
		delete(n.subs, s.key())
	}
	return ended
}

// endAll ends all subscriptions, and returns them: they have to leave the index. n.mu is held.
func (n *connection) endAll() map[string]*subscription {
	subs := n.subs
	n.subs = nil
	for _, s := range subs {
		s.closed = true
	}
	return subs
}

// dropSubscriptions ends all subscriptions and takes them out of the index.
func (n *connection) dropSubscriptions() {
	n.mu.Lock()
	subs := n.endAll()
	n.mu.Unlock()
	n.srv.subs.removeAll(subs)
}

// listener returns a plain subscription that gets subject, or nil. If there are too many to look
// through, few is false.
func (n *connection) listener(subject []byte) (s *subscription, few bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.subs) > fewSubscriptions {
		return nil, false
	}
	for _, s := range n.subs {
		if s.queue == "" && subjects.Match(s.subject, subject) {
			return s, true
		}
	}
	return nil, true
}

// read reads the counts of one of its subscriptions.
func (n *connection) read(s *subscription) SubInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	return s.reading(n.id)
}

// subInfos reads all subscriptions.
func (n *connection) subInfos() []SubInfo {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []SubInfo
	for _, s := range slices.SortedFunc(maps.Values(n.subs), func(a, b *subscription) int {
		return cmp.Or(cmp.Compare(a.subject, b.subject), cmp.Compare(a.key(), b.key()))
	}) {
		list = append(list, s.reading(n.id))
	}
	return list
}

// reading reads the fields of [ConnInfo] that do not depend on the kind of connection. n.mu is
// held.
func (n *connection) reading() ConnInfo {
	d := &n.delivered
	return ConnInfo{
		ID: n.id, Account: n.srv.cfg().Account, conn: n,
		Start:        n.usage.start,
		LastActivity: time.Unix(0, n.usage.active.Load()),
		InMsgs:       n.usage.inMsgs.Load(), InBytes: n.usage.inBytes.Load(),
		OutMsgs: d.msgs, OutBytes: d.bytes,
		Dropped: d.dropped, Stalls: d.stalls, lost: d.lost,
		Subscriptions: len(n.subs),
	}
}
