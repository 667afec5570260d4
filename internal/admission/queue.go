package admission

import (
	"context"
	"time"
)

// queue is who waits in a lane, in the order of arrival. Those who have gone stay in
// it until they are met; live does not count them.
type queue struct {
	waiters []*waiter
	live    int
	since   time.Time // when it was empty for the last time
	late    time.Time // when somebody had waited for too long for the last time
}

// waiter is one request that waits.
type waiter struct {
	lane  *Lane
	ready chan error // gets nil or a *Refusal, once, from whoever ends the wait
	limit time.Duration
	gone  bool
}

// overloaded says whether more comes than is done: the queue has not been empty for an
// interval, or somebody has waited in vain within the last one. A queue whose waiters go
// so soon is empty now and then, which says nothing.
func (q *queue) overloaded(now time.Time, interval time.Duration) bool {
	return q.live > 0 && now.Sub(q.since) > interval || now.Sub(q.late) <= interval
}

// patience is how long one who comes now may wait.
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
		kept := q.waiters[:0]
		for _, other := range q.waiters {
			if !other.gone {
				kept = append(kept, other)
			}
		}
		clear(q.waiters[len(kept):])
		q.waiters = kept
	}
	q.waiters = append(q.waiters, w)
	q.live++
	return w
}

// oldest is who has waited for the longest time. There is one.
func (q *queue) oldest() *waiter {
	for q.waiters[0].gone {
		q.waiters = q.waiters[1:]
	}
	return q.waiters[0]
}

// newest is who came last. There is one.
func (q *queue) newest() *waiter {
	for q.waiters[len(q.waiters)-1].gone {
		q.waiters = q.waiters[:len(q.waiters)-1]
	}
	return q.waiters[len(q.waiters)-1]
}

// pop takes out who is to be served next. There is one.
func (q *queue) pop(now time.Time, interval time.Duration) *waiter {
	w := q.oldest()
	if q.overloaded(now, interval) {
		w = q.newest()
	}
	q.drop(w)
	return w
}

// drop takes w out.
func (q *queue) drop(w *waiter) {
	w.gone = true
	q.live--
}

// until waits for the end of the wait, and makes it one itself when w has waited for
// long enough, or ctx ends.
func (w *waiter) until(ctx context.Context, p *Permit) (*Permit, error) {
	defer w.lane.gate.waited(p.begin)
	timer := time.NewTimer(w.limit)
	defer timer.Stop()
	var early error
	select {
	case err := <-w.ready:
		return w.end(p, err)
	case <-timer.C:
	case <-ctx.Done():
		early = ctx.Err()
	}
	g := w.lane.gate
	g.mu.Lock()
	select {
	case err := <-w.ready: // at the same moment
		g.mu.Unlock()
		if p, err = w.end(p, err); early != nil && err == nil {
			p.Release()
			return nil, early
		}
		return p, err
	default:
	}
	g.leave(w.lane, w)
	g.bytes -= p.size
	if early != nil {
		g.mu.Unlock()
		return nil, early
	}
	w.lane.queue.late = time.Now()
	return nil, g.refuseAndUnlock(QueueTime)
}

// end is what the outcome of a wait means for the permit.
func (w *waiter) end(p *Permit, err error) (*Permit, error) {
	if err == nil {
		return p, nil
	}
	g := w.lane.gate
	g.mu.Lock()
	g.bytes -= p.size
	g.mu.Unlock()
	return nil, err
}

// waited counts a wait that began then, and is over.
func (g *Gate) waited(begin time.Time) {
	g.waits.Add(1)
	g.waitedNs.Add(int64(time.Since(begin)))
}
