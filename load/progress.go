package load

import (
	"sync/atomic"
	"time"
)

// Watcher is an Observer that looks at a run while it goes on, more often than intervals
// end.
type Watcher interface {
	Observer
	// Watch is called once, before the load begins. Any goroutine may call progress, during the run
	// and after it: it reads the numbers that the threads published last, and does not ask them.
	Watch(progress func() Progress)
}

// Progress is how far a run is, its warm-up included. It is at most a tenth of a second
// old.
type Progress struct {
	At               time.Duration // since the run's start
	Sent, OK, Failed int64
	InFlight         int64
}

// progressEvery is how often a thread tells its progress, in ns.
const progressEvery = int64(100 * time.Millisecond)

// told holds the progress that a thread has published last. One goroutine writes, any may read.
type told struct {
	sent, ok, failed, inFlight atomic.Int64

	next int64    // ns; when the thread tells again
	past Progress // in the intervals before the one that is recorded
}

// tell publishes the counts of the interval so far.
func (t *told) tell(v *Interval, inFlight, now int64) {
	t.next = now + progressEvery
	t.sent.Store(t.past.Sent + v.Sent)
	t.ok.Store(t.past.OK + v.Failed[ClassOK])
	t.failed.Store(t.past.Failed + v.Errors())
	t.inFlight.Store(inFlight)
}

// keep counts an interval that is over.
func (t *told) keep(v *Interval) {
	t.past.Sent += v.Sent
	t.past.OK += v.Failed[ClassOK]
	t.past.Failed += v.Errors()
}

// progress returns the sum of the progress of all threads.
func (r *run) progress() Progress {
	p := Progress{At: time.Since(r.result.Began)}
	for _, d := range r.drivers {
		p.Sent += d.told.sent.Load()
		p.OK += d.told.ok.Load()
		p.Failed += d.told.failed.Load()
		p.InFlight += d.told.inFlight.Load()
	}
	return p
}

// Window is how many answers came to one thread in a tenth of a second. One in which none
// came goes on into the next.
type Window struct {
	Length time.Duration
	Done   int64
}

// window is the one that a thread is in.
type window struct {
	began int64 // ns
	from  int64 // answers of the interval that is recorded that came before it
	past  int64 // its answers that are in earlier intervals
}

// close ends the window, if there were answers in it, and begins the next.
func (w *window) close(v *Interval, now int64) {
	done := w.past + v.Done - w.from
	if done == 0 {
		return
	}
	v.Windows = append(v.Windows, Window{time.Duration(now - w.began), done})
	*w = window{began: now, from: v.Done}
}

// keep counts the part of the window that lies in the interval that is over.
func (w *window) keep(v *Interval) {
	w.past += v.Done - w.from
	w.from = 0
}
