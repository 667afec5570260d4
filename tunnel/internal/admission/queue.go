package admission

import (
	"context"
	"slices"
	"time"
)

// queue holds the waiters of a lane, in the order of arrival. Waiters that gave up stay in it until
// they are reached; live does not count them.
type queue struct {
	waiters []*waiter
	live    int
	since   time.Time // when it was empty for the last time
	late    time.Time // the last time that a request was refused, or should have been
}

// waiter is one request that waits.
type waiter struct {
	lane  *Lane
	ready chan struct{} // closed when it is admitted
	limit time.Duration
	begun time.Time // when it was admitted
	gone  bool
}

// overloaded reports whether the demand exceeds the capacity: the queue has not been empty for an
// interval, or a request was refused within the last one. A queue whose waiters give up quickly is
// empty now and then, which proves nothing.
func (q *queue) overloaded(now time.Time, interval time.Duration) bool {
	return q.live > 0 && now.Sub(q.since) > interval || now.Sub(q.late) <= interval
}

// full records that a request was refused because the queue is full. It continues an overload, but
// does not begin one.
func (q *queue) full(now time.Time, interval time.Duration) {
	if q.overloaded(now, interval) {
		q.late = now
	}
}

// patience returns the time for which a new waiter may wait.
func (q *queue) patience(now time.Time, l *Limits) time.Duration {
	if q.overloaded(now, l.Interval) {
		return l.Target
	}
	return l.Interval
}

func (q *queue) push(w *waiter, now time.Time) *waiter {
	if q.live == 0 {
		q.since, q.waiters = now, q.waiters[:0]
	}
	if len(q.waiters) >= 2*(q.live+1) { // most have gone
		q.waiters = slices.DeleteFunc(q.waiters, func(other *waiter) bool { return other.gone })
	}
	q.waiters = append(q.waiters, w)
	q.live++
	return w
}

// oldest returns the waiter that has waited longest. The queue is not empty.
func (q *queue) oldest() *waiter {
	for q.waiters[0].gone {
		q.waiters = q.waiters[1:]
	}
	return q.waiters[0]
}

// drop takes w out.
func (q *queue) drop(w *waiter) {
	w.gone = true
	q.live--
}

// until waits until p holds, unless w has waited for long enough first, or ctx ends.
func (w *waiter) until(ctx context.Context, p *Permit) (*Permit, error) {
	g := w.lane.gate
	defer g.waited(time.Now())
	var early error
	select {
	case <-w.ready:
		p.begun = w.begun
		return p, nil
	case <-time.After(w.limit):
	case <-ctx.Done():
		early = ctx.Err()
	}
	g.mu.Lock()
	switch {
	case !w.gone:
		g.leave(w.lane, w)
		g.bytes -= p.size
		if early == nil {
			w.lane.queue.late = time.Now()
			return nil, g.refuseAndUnlock(QueueTime)
		}
		g.mu.Unlock()
		return nil, early
	case early == nil: // admitted at the same moment
		p.begun = w.begun
		g.mu.Unlock()
		return p, nil
	}
	p.begun = w.begun
	g.mu.Unlock()
	p.Release()
	return nil, early
}

// waited counts a wait that began then, and is over.
func (g *Gate) waited(begin time.Time) {
	g.waits.Add(1)
	g.waitedNs.Add(int64(time.Since(begin)))
}

// Reason is why something was refused. It is also the label of a metric.
type Reason uint8

// The reasons.
const (
	NoBytes        Reason = iota // the request needs more bytes than the budget has left
	QueueFull                    // as many wait as may
	QueueTime                    // it has waited for as long as it may
	TooGreedy                    // its lane has half of everything while others wait
	TooManyStreams               // as many are open as may
	reasons
)

var reasonNames = [reasons]string{"bytes", "queue full", "queue time", "share", "streams"}

func (r Reason) String() string { return reasonNames[r] }

// Refusal is the error of refused work. Nothing of it has begun.
type Refusal struct{ Reason Reason }

func (r *Refusal) Error() string { return "overloaded: " + r.Reason.String() }
