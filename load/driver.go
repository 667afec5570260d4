package load

import (
	"sync/atomic"
	"time"
)

// intervalLength is how long the intervals are that observers are told of.
const intervalLength = int64(time.Second)

// driver takes one loop through the parts of a run: warm-up, measured time, grace.
type driver struct {
	*loop
	halt    *atomic.Bool  // the run is interrupted
	sending *atomic.Int32 // threads that have something to send still
	spent   bool          // this is none of them

	began   int64 // ns; of the interval that is recorded now
	swap    int64 // ns; when it ends
	last    int64 // ns; when the grace ends; never = it has not begun
	turned  int64 // ns; when it had its last turn
	use     func() ThreadUse
	used    ThreadUse      // at the interval's start
	unmeant float64        // requests of the plan's count that are not in a target yet
	results chan *Interval // recorded ones, in order; closed at the end
	spare   chan *Interval // to record in
	told    told
	window  window
}

func newDriver(l *loop, halt *atomic.Bool, sending *atomic.Int32) *driver {
	d := &driver{
		loop: l, halt: halt, sending: sending, last: never, use: func() ThreadUse { return ThreadUse{} },
		unmeant: float64(l.left), results: make(chan *Interval, 1), spare: make(chan *Interval, 1),
	}
	d.spare <- NewInterval()
	d.swap = d.boundary(0)
	return d
}

// boundary is where the interval ends that begins at an instant: each second of the
// measured time, which begins and ends an interval.
func (d *driver) boundary(from int64) int64 {
	warm, end := int64(d.plan.Warmup), d.end
	next := warm
	if from >= warm {
		next = warm + ((from-warm)/intervalLength+1)*intervalLength
	} else if next-from > intervalLength {
		next = from + intervalLength
	}
	if from < end {
		next = min(next, end)
	}
	return next
}

// turn does the work that is due, and reports whether the loop is at its end.
func (d *driver) turn(now int64) (over bool) {
	d.turned = now
	if now >= d.swap {
		d.change(d.swap)
	}
	if now >= d.told.next {
		d.told.tell(d.rec, d.inFlight, now)
		d.window.close(d.rec, now)
	}
	atEnd := now >= d.end
	if !d.stopped && (d.halt.Load() || atEnd && d.stripe == nil) {
		d.stop(now)
	}
	if !d.spent && d.exhausted() {
		d.spent = true
		d.sending.Add(-1)
	}
	if d.last == never && (atEnd || d.exhausted() && d.heard() && d.past(now)) {
		d.last = now + int64(d.plan.Grace)
	}
	d.tick(now)
	return d.finished() && d.heard() && d.missing() <= 0 && d.past(now) || now >= d.last
}

// past reports whether a loop that is exhausted has come to its planned end, which with arrivals
// is behind the last one.
func (d *driver) past(now int64) bool {
	return d.stopped || d.left <= 0 || d.end == never || now >= d.end
}

// heard reports whether every thread has stopped sending to the listeners of this one.
func (d *driver) heard() bool { return d.listen == nil || d.sending.Load() == 0 }

// missing is how many answers listeners still are to get, of all threads.
func (d *driver) missing() int64 {
	if d.listen == nil {
		return 0
	}
	return d.listen.Missing()
}

// deadline is when turn has to be called again.
func (d *driver) deadline() int64 {
	at := min(d.loop.deadline(), d.swap, d.last)
	if d.last == never {
		at = min(at, d.end)
	}
	return at
}

// change ends the interval that is recorded, at an instant, and begins the next.
func (d *driver) change(at int64) {
	d.integrate(at)
	d.settleStatus()
	d.settlePrompt()
	v := d.rec
	v.Start, v.Length = time.Duration(d.began), time.Duration(at-d.began)
	if v.Start < d.plan.Warmup {
		clear(d.targets)
	}
	v.InFlight = d.area / float64(max(v.Length, 1))
	v.Target = d.target(d.began, at)
	use := d.use()
	v.Threads = append(v.Threads[:0], use.since(d.used, v.Length))
	d.used, d.area, d.began, d.swap = use, 0, at, d.boundary(at)
	d.told.keep(v)
	d.window.keep(v)
	d.results <- v // the collector takes at most a second for each
	d.rec = <-d.spare
	d.rec.reset()
	d.rec.MaxInFlight = d.inFlight
}

// target is how many answers are meant in a time, of this thread. To those of all times there is
// the plan's count.
func (d *driver) target(from, to int64) float64 {
	to = min(to, d.end)
	if d.stopped {
		to = min(to, d.cut)
	}
	if d.plan.Arrivals == nil || to <= from {
		return 0
	}
	n := meant(d.plan.Arrivals, time.Duration(from), time.Duration(to)) / float64(d.step)
	if d.plan.Count > 0 {
		n = min(n, d.unmeant)
		d.unmeant -= n
	}
	return n * float64(d.plan.Fanout)
}

// close ends the last interval, with the last turn.
func (d *driver) close() {
	d.told.tell(d.rec, d.inFlight, d.turned)
	if d.turned > d.began {
		d.change(d.turned)
	}
	close(d.results)
	for _, c := range d.conns {
		if c.state >= stateDialing {
			d.tr.hangUp(c)
		}
	}
}
