package responder

import (
	"fmt"
	"time"
)

// Queue works on one request after another, in the order in which they arrive, and takes
// the same time for each: D in M/D/1. At the start of every period it may stand still for a
// while, and then goes on where it was.
//
// With arrivals at equal distances, at a rate that uses the share rho of its speed, a request that
// arrives s after the queue froze is answered after
//
//	R(s) = max(0, Frozen - s (1 - rho)) + 1 / PerSecond
//
// if that reaches 0 within a period: the request waits for the rest of the pause, and for the
// requests that arrived before it in the pause.
type Queue struct {
	PerSecond     float64
	Frozen, Every time.Duration // so long at the start of each period, which begin with the first request; 0 = never

	begun bool
	first time.Duration // arrival
	free  time.Duration // when all that has arrived is answered
}

// Due is when the request has been worked on.
func (q *Queue) Due(arrived time.Duration) time.Duration {
	if !q.begun {
		q.begun, q.first = true, arrived
	}
	q.free = q.work(max(q.free, arrived))
	return q.free
}

// Service is for how long a request is worked on.
func (q *Queue) Service() time.Duration { return time.Duration(float64(time.Second) / q.PerSecond) }

// work is when the work on one request ends that begins at an instant.
func (q *Queue) work(from time.Duration) time.Duration {
	left := q.Service()
	if q.Frozen <= 0 {
		return from + left
	}
	in := (from - q.first) % q.Every
	if in < q.Frozen {
		from += q.Frozen - in
		in = q.Frozen
	}
	if left <= q.Every-in {
		return from + left
	}
	left -= q.Every - in
	from += q.Every - in
	whole := (left - 1) / (q.Every - q.Frozen) // periods that it takes before the last
	return from + whole*q.Every + q.Frozen + left - whole*(q.Every-q.Frozen)
}

// Response is the p-quantile of the response times, 0 <= p <= 1, to requests that come at
// equal distances at so many a second.
func (q *Queue) Response(p, perSecond float64) time.Duration {
	if q.Frozen <= 0 {
		return q.Service()
	}
	// P(R > x) = (Frozen - x) / (Every (1 - rho)) above the service time.
	behind := float64(q.Frozen) - (1-p)*float64(q.Every)*(1-perSecond/q.PerSecond)
	return time.Duration(max(behind, 0)) + q.Service()
}

// String is like "queue 1000/s", or "queue 1000/s frozen 1s every 10s".
func (q *Queue) String() string {
	if q.Frozen <= 0 {
		return fmt.Sprintf("queue %g/s", q.PerSecond)
	}
	return fmt.Sprintf("queue %g/s frozen %v every %v", q.PerSecond, q.Frozen, q.Every)
}

// check returns the mistake in a queue's parameters.
func (q *Queue) check() error {
	switch {
	case !(q.PerSecond >= minPerSecond && q.PerSecond <= maxPerSecond):
		return fmt.Errorf("%g requests per second: want %g to %g", q.PerSecond, minPerSecond, maxPerSecond)
	case q.Frozen < 0 || q.Frozen > 0 && q.Every-q.Frozen < max(q.Every/leastAwake, 1):
		return fmt.Errorf("frozen for %v of every %v: it hardly gets to work", q.Frozen, q.Every)
	}
	return nil
}

// The bounds of a queue's speed: the time for one request is in whole ns, and at most the range of
// a measurement.
const (
	minPerSecond = 0.001
	maxPerSecond = 1e8
	// leastAwake is the part of a period, 1 of so many, in which a queue works at least.
	leastAwake = 1000
)

// Law decides when requests are answered. It is called once for each, in the order of their
// arrival, from one goroutine: it may depend on earlier requests.
type Law interface {
	// Due is when a request is answered that arrives at an instant. Both are times
	// since the start of the service.
	Due(arrived time.Duration) time.Duration

	// String is the law as Parse reads it.
	String() string
}

// AtOnce answers without delay.
type AtOnce struct{}

// Due is the arrival.
func (AtOnce) Due(arrived time.Duration) time.Duration { return arrived }

// String is "at once".
func (AtOnce) String() string { return "at once" }

// Delay answers each request after the same time, however many there are.
type Delay time.Duration

// Due is so much later.
func (d Delay) Due(arrived time.Duration) time.Duration { return arrived + time.Duration(d) }

// String is like "delay 5ms".
func (d Delay) String() string { return fmt.Sprintf("delay %v", time.Duration(d)) }
