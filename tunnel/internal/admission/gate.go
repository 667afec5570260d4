// Package admission admits work to services: it decides how much runs at once, which requests wait
// and for how long, and which are refused, with the reason.
//
// A Gate bounds all work of a process, a Lane that for one service behind it. Work is of two kinds:
// requests, which end soon, and streams, which may last for days and have a bound of their own, so
// that a thousand idle streams do not use up the capacity for requests.
//
// A request beyond the limit waits in its lane's queue. The queue is short in time. As long as it
// becomes empty now and then, as it does in a burst, a request waits up to Limits.Interval. If it
// has not been empty for that long, or has refused a request in that time, the lane is overloaded:
// a request waits up to Limits.Target, and only as many wait as are served in that time. That is
// CoDel (RFC 8289) with the control law of Facebook's "Fail at Scale" (2015), made for requests,
// which cannot be dropped silently.
//
// The limit of a lane follows the capacity of its service: see limit.go. A request that becomes a
// stream counts as a request until enough of its answer has arrived to show its speed: otherwise a
// link that is too narrow for all answers would be given any number of them, since their heads
// pass.
package admission

import (
	"cmp"
	"context"
	"math"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are the bounds of a Gate. Zeros stand for the defaults.
type Limits struct {
	Requests     int   // under way, of all lanes; 1,024
	Streams      int   // open, of all lanes; 4,096
	LaneRequests int   // under way in one lane, at most; 256
	LaneFloor    int   // and at least, however slow its service is; 8
	LaneStreams  int   // open in one lane; 1,024
	LaneQueue    int   // waiting in one lane; 64
	Bytes        int64 // held by all that is under way or waits; 96 MiB

	Target   time.Duration // longest wait in a lane that has more to do than it can; 5 ms
	Interval time.Duration // longest wait otherwise; 100 ms
	// Patience is how long a service may take to answer without being taken for
	// overloaded; 10 ms. Above it, half as much again as usual means less work for it.
	Patience time.Duration
}

func (l Limits) withDefaults() Limits {
	l.Requests = cmp.Or(l.Requests, 1024)
	l.Streams = cmp.Or(l.Streams, 4096)
	l.LaneRequests = min(cmp.Or(l.LaneRequests, 256), l.Requests)
	l.LaneFloor = min(cmp.Or(l.LaneFloor, 8), l.LaneRequests)
	l.LaneStreams = min(cmp.Or(l.LaneStreams, 1024), l.Streams)
	l.LaneQueue = cmp.Or(l.LaneQueue, 64)
	l.Bytes = cmp.Or(l.Bytes, 96<<20)
	l.Target = cmp.Or(l.Target, 5*time.Millisecond)
	l.Interval = cmp.Or(l.Interval, 100*time.Millisecond)
	l.Patience = cmp.Or(l.Patience, 10*time.Millisecond)
	return l
}

// Gate is the state that all lanes share. Its methods, and those of its lanes and permits, may be
// called by any number of goroutines.
type Gate struct {
	limits Limits

	mu       sync.Mutex
	requests int
	streams  int
	bytes    int64
	waiting  int
	queued   []*Lane // the lanes with waiters, the next in turn first
	refused  [reasons]uint64

	waits    atomic.Uint64 // that have ended
	waitedNs atomic.Int64  // in all of them
}

// New makes a gate. Negative limits are the caller's mistake.
func New(l Limits) *Gate { return &Gate{limits: l.withDefaults()} }

// Limits returns the limits in force, with the defaults filled in.
func (g *Gate) Limits() Limits { return g.limits }

// Lane returns a new lane. It needs no Close: the gate refers to it only while a request waits in
// it.
func (g *Gate) Lane() *Lane { return &Lane{gate: g, limit: newLimit(&g.limits)} }

// Lane holds the current work of one service, and the requests that wait for it.
type Lane struct {
	gate     *Gate
	requests int
	streams  int
	queue    queue
	listed   bool // in Gate.queued
	limit    limit
	begun    LaneTotals
}

// Request waits for room for a request that holds size bytes while it waits and is
// under way. The error is a *Refusal, or that of ctx.
func (l *Lane) Request(ctx context.Context, size int64) (*Permit, error) {
	g := l.gate
	g.mu.Lock()
	now := time.Now()
	p := &Permit{lane: l, size: size}
	l.limit.span.asked++
	switch {
	case g.bytes+size > g.limits.Bytes:
		return nil, g.refuseAndUnlock(NoBytes)
	case l.queue.live == 0 && g.room(l) && !g.unfair(l):
		g.bytes += size
		p.begun = now
		g.begin(l, now)
		g.mu.Unlock()
		return p, nil
	case l.queue.live == 0 && g.unfair(l):
		return nil, g.refuseAndUnlock(TooGreedy)
	case l.queue.live >= g.places(l, now):
		l.queue.full(now, g.limits.Interval)
		return nil, g.refuseAndUnlock(QueueFull)
	}
	g.bytes += size
	w := g.wait(l, now)
	g.mu.Unlock()
	return w.until(ctx, p)
}

// Stream takes a place among the streams, without waiting.
func (l *Lane) Stream(size int64) (*Permit, error) { return l.open(size, false) }

// Body admits a request whose body is still to come. The time for that depends on the visitor, so
// the permit must not use up the capacity for requests. Once the body is complete, Permit.Begin or
// Permit.Promote turns it into one that counts as admitted.
func (l *Lane) Body(size int64) (*Permit, error) { return l.open(size, true) }

func (l *Lane) open(size int64, coming bool) (*Permit, error) {
	g := l.gate
	g.mu.Lock()
	switch {
	case g.bytes+size > g.limits.Bytes:
		return nil, g.refuseAndUnlock(NoBytes)
	case g.streams >= g.limits.Streams || l.streams >= g.limits.LaneStreams:
		return nil, g.refuseAndUnlock(TooManyStreams)
	}
	g.bytes += size
	g.streams++
	l.streams++
	if !coming {
		l.begun.Streams++
	}
	g.mu.Unlock()
	return &Permit{lane: l, size: size, stream: true, coming: coming, ended: true, answered: true}, nil
}

// room reports whether one more request may begin in l. g.mu is held.
func (g *Gate) room(l *Lane) bool {
	return g.requests < g.limits.Requests && max(l.requests, l.limit.awaited) < l.limit.now()
}

// unfair reports whether l has more than half of all that may be under way while others
// wait. g.mu is held.
func (g *Gate) unfair(l *Lane) bool {
	return g.waiting > l.queue.live && l.requests >= max(g.limits.Requests/2, 1)
}

// places is how many may wait in l. In an overloaded lane these are as many as are served
// in half of the time that they would wait: the others are refused at once rather than in
// vain, which is sooner for them and less work. g.mu is held.
func (g *Gate) places(l *Lane, now time.Time) int {
	n := g.limits.LaneQueue
	if l.limit.rate > 0 && l.queue.overloaded(now, g.limits.Interval) {
		n = min(n, max(int(math.Ceil(l.limit.rate*g.limits.Target.Seconds()/2)), 1))
	}
	return n
}

// begin counts a request as under way. g.mu is held.
func (g *Gate) begin(l *Lane, now time.Time) {
	g.requests++
	l.requests++
	l.begun.Requests++
	l.limit.begun(now)
}

// wait adds a waiter to the queue of l. g.mu is held.
func (g *Gate) wait(l *Lane, now time.Time) *waiter {
	if !l.listed {
		l.listed = true
		g.queued = append(g.queued, l)
	}
	g.waiting++
	return l.queue.push(&waiter{lane: l, ready: make(chan struct{}), limit: l.queue.patience(now, &g.limits)}, now)
}

// leave removes a waiter that has not been served from the queue. g.mu is held.
func (g *Gate) leave(l *Lane, w *waiter) {
	l.queue.drop(w)
	g.waiting--
}

func (g *Gate) refuseAndUnlock(why Reason) error {
	g.refused[why]++
	g.mu.Unlock()
	return &Refusal{why}
}

// serve admits waiters as far as capacity allows: one of each lane in its turn. g.mu is held.
func (g *Gate) serve() {
	for skipped := 0; len(g.queued) > skipped && g.requests < g.limits.Requests; {
		l := g.queued[0]
		g.queued = g.queued[1:]
		switch {
		case l.queue.live == 0: // all have gone
		case !g.room(l) || g.unfair(l):
			skipped++
		default:
			skipped = 0
			now := time.Now()
			w := l.queue.oldest()
			l.queue.drop(w)
			g.waiting--
			w.begun = now
			g.begin(l, now)
			close(w.ready)
		}
		if l.listed = l.queue.live > 0; l.listed {
			g.queued = append(g.queued, l)
		}
	}
}

// Permit is the right to be under way. It ends with Release.
type Permit struct {
	lane     *Lane
	size     int64
	begun    time.Time // as a request
	stream   bool
	coming   bool // of Body, and not promoted
	ended    bool // the lane's limit does not count it any more
	answered bool
	released bool
}

// Answered reports how the service has answered, once enough of the answer has arrived to measure
// its time: failed means that there was no answer, or one that reports an overload. Only the first
// call counts, and none for a permit that began as a stream. It may come after Release.
func (p *Permit) Answered(failed bool) {
	g, l := p.lane.gate, p.lane
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.answered {
		return
	}
	p.answered = true
	if failed {
		l.limit.failed()
	}
	if !p.ended {
		p.end()
		g.serve()
	}
}

// end lets the lane's limit count the request as over: the service has answered, or will
// not. g.mu is held.
func (p *Permit) end() {
	if !p.ended {
		p.ended = true
		now := time.Now()
		if p.lane.limit.ended(now, now.Sub(p.begun)) {
			p.lane.queue.late = now
		}
	}
}

// Promote makes a request a stream, for one that turns out to last. The lane's limit counts
// it until Answered or Release all the same. It fails with a *Refusal if there are too many,
// and the permit remains that of a request.
func (p *Permit) Promote() error {
	g, l := p.lane.gate, p.lane
	g.mu.Lock()
	switch {
	case p.coming && !p.released:
		p.coming = false
		l.begun.Streams++
		g.mu.Unlock()
		return nil
	case p.stream || p.released:
		g.mu.Unlock()
		return nil
	case g.streams >= g.limits.Streams || l.streams >= g.limits.LaneStreams:
		return g.refuseAndUnlock(TooManyStreams)
	}
	p.stream = true
	g.streams++
	l.streams++
	l.begun.Promoted++
	g.requests--
	l.requests--
	g.serve()
	g.mu.Unlock()
	return nil
}

// Begin exchanges the permit of a complete body for that of a request, for which it waits as
// Lane.Request does; the bytes that it holds are counted once. On an error the permit remains as it
// was, otherwise it has ended.
func (p *Permit) Begin(ctx context.Context) (*Permit, error) {
	request, err := p.lane.Request(ctx, 0)
	if err != nil {
		return nil, err
	}
	g := p.lane.gate
	g.mu.Lock()
	request.size, p.size = p.size, 0
	g.mu.Unlock()
	p.Release()
	return request, nil
}

// Release returns the permit. It does not wait, and may be called again.
func (p *Permit) Release() {
	g, l := p.lane.gate, p.lane
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.released {
		return
	}
	p.released = true
	g.bytes -= p.size
	counted := !p.ended
	p.end()
	if p.stream {
		g.streams--
		l.streams--
	} else {
		g.requests--
		l.requests--
	}
	if counted || !p.stream {
		g.serve()
	}
}
