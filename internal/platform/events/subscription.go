package events

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Subscription is a reader that others may look at. Its place is known, so that a slow one can be
// found.
type Subscription struct {
	log        *Log
	kind, peer string
	at         atomic.Uint64 // cursor of the next record that the reader will ask for
	missed     atomic.Uint64
}

// subscriptions are those of a log.
type subscriptions struct {
	mu   sync.Mutex
	open map[*Subscription]struct{}
	past SubscriberCounts
}

// SubscriberCounts counts what became of slow subscribers since the start.
type SubscriberCounts struct {
	FellBehind uint64 // times that one met a gap, as the log had dropped records before it read them
	Cut        uint64 // connections closed because a write did not end in time

	LastCut  time.Time // zero: none
	LastKind string
	LastPeer string // address of the last one that was cut
}

// Subscriber is a reading of a subscription.
type Subscriber struct {
	Kind   string // of the interface, such as sse
	Peer   string // its address
	Lag    uint64 // records that it has not asked for
	Missed uint64 // records that it has missed, in gaps
}

// Subscribe notes a reader of an interface until End. Follow gives it another reader.
func (l *Log) Subscribe(r *Reader, kind, peer string) *Subscription {
	s := &Subscription{log: l, kind: kind, peer: peer}
	s.Follow(r)
	l.subscriptions.mu.Lock()
	defer l.subscriptions.mu.Unlock()
	if l.subscriptions.open == nil {
		l.subscriptions.open = map[*Subscription]struct{}{}
	}
	l.subscriptions.open[s] = struct{}{}
	return s
}

// Follow makes r the reader of the subscription.
func (s *Subscription) Follow(r *Reader) {
	r.watch = s
	s.at.Store(r.next)
}

// End takes the subscription off the list. err is why it has ended: a write that was too late
// counts as cut.
func (s *Subscription) End(err error) {
	all := &s.log.subscriptions
	all.mu.Lock()
	defer all.mu.Unlock()
	delete(all.open, s)
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		all.past.Cut++
		all.past.LastCut, all.past.LastKind, all.past.LastPeer = time.Now(), s.kind, s.peer
	}
}

// note keeps where the reader is: everything before has been sent.
func (s *Subscription) note(at uint64) {
	if s != nil {
		s.at.Store(at)
	}
}

// gap counts what the reader has missed.
func (s *Subscription) gap(gap Gap) {
	if s == nil || gap.Count() == 0 || gap.Lost != nil {
		return
	}
	s.missed.Add(gap.Count())
	all := &s.log.subscriptions
	all.mu.Lock()
	defer all.mu.Unlock()
	all.past.FellBehind++
}

// Subscribers returns the open subscriptions, those with the most records to read first.
func (l *Log) Subscribers() ([]Subscriber, SubscriberCounts) {
	all := &l.subscriptions
	next := l.Latest() + 1
	all.mu.Lock()
	defer all.mu.Unlock()
	list := make([]Subscriber, 0, len(all.open))
	for s := range all.open {
		list = append(list, Subscriber{Kind: s.kind, Peer: s.peer, Lag: next - min(s.at.Load(), next), Missed: s.missed.Load()})
	}
	slices.SortFunc(list, func(a, b Subscriber) int { return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(a.Peer, b.Peer)) })
	return list, all.past
}
