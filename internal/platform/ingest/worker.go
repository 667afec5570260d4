package ingest

import (
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
)

// worker is one goroutine that owns some partitions, to which no other goroutine has access.
// Questions arrive as functions to run (see ask).
type worker struct {
	cfg        *Config
	givenUp    *atomic.Bool  // the pipeline's
	turns      chan struct{} // the pipeline's
	clock      *clock        // the pipeline's
	partitions []*partition
	jobs       chan *job   // closed by Pipeline.Close; its capacity bounds the queue
	asks       chan func() // unbuffered: the caller waits anyway
	ended      chan struct{}

	view *track.View
	busy []*partition // have postponed work; each has its turn
	open int          // jobs with held positions; at most queueJobs

	events  []track.Event
	records []events.Record
	applied [3]int // positions by outcome, since the last publish
	done    []*job // answered after the next publish
}

// partition is a partition, and its counts for other goroutines.
type partition struct {
	*fold.Partition
	busy            bool // listed in worker.busy
	objects, silent atomic.Int64
}

func newWorker(p *Pipeline, partitions []*partition) *worker {
	return &worker{
		cfg: &p.cfg, givenUp: &p.givenUp, turns: p.turns, clock: p.clock, partitions: partitions, view: &track.View{},
		jobs: make(chan *job, queueJobs), asks: make(chan func()), ended: make(chan struct{}),
	}
}

// run owns the partitions until jobs is closed and drained. Long work is done in parts, so that
// short jobs run between them: a job that causes very many events, a change of the fences, a
// timeout of many objects.
func (w *worker) run() {
	defer close(w.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		turns, again := w.backlog()
		jobs := w.jobs
		if w.open >= queueJobs {
			jobs = nil
		}
		select {
		case j, ok := <-jobs:
			if !ok {
				w.finish()
				return
			}
			w.refresh()
			w.take(j)
		case ask := <-w.asks:
			w.refresh()
			ask()
		case <-ticker.C:
			w.tick()
		case <-turns:
			w.work()
		case <-again:
		}
	}
}

// refresh takes the present fences. A caller that has changed the fences before it submits a
// position can rely on it.
func (w *worker) refresh() {
	v := w.cfg.Views()
	if v == w.view {
		return
	}
	w.view = v
	at := w.clock.now()
	for _, p := range w.partitions {
		p.SetView(v, at)
		w.queue(p, true)
	}
}

// tick moves the time of the partitions on.
func (w *worker) tick() {
	w.refresh()
	at := w.clock.now()
	for _, p := range w.partitions {
		p.Advance(at)
		w.step(p)
	}
}

// backlog returns a channel that gives the worker a turn at long work, and one that fires when
// backlog should be called again; nil never fires. work returns the turn.
func (w *worker) backlog() (turns <-chan struct{}, again <-chan time.Time) {
	switch {
	case len(w.busy) == 0:
		return nil, nil
	case w.cfg.Congested():
		return nil, time.After(congestedPause)
	}
	return w.turns, nil
}

// work does a part of the long work, in a turn from backlog.
func (w *worker) work() {
	defer func() { w.turns <- struct{}{} }()
	p := w.busy[0]
	w.busy = w.busy[1:]
	p.busy = false
	w.step(p)
}

// step does a part of the postponed work of a partition.
func (w *worker) step(p *partition) {
	var more bool
	w.events, more = p.Step(w.events)
	w.queue(p, more)
	w.publish(p)
}

// queue lists a partition that has postponed work.
func (w *worker) queue(p *partition, more bool) {
	if more && !p.busy {
		p.busy = true
		w.busy = append(w.busy, p)
	}
}

// finish does the remaining work, unless the pipeline gives up meanwhile.
func (w *worker) finish() {
	w.refresh()
	for len(w.busy) > 0 && !w.givenUp.Load() {
		if w.cfg.Congested() {
			time.Sleep(congestedPause)
			continue
		}
		<-w.turns
		w.work()
	}
	for _, p := range w.partitions {
		p.Refuse(func(j fold.Job, i int32) { j.(*job).refuse(i) })
		w.publish(p)
	}
}

// congestedPause is the pause of long work while subscribers are behind.
const congestedPause = 5 * time.Millisecond

// take applies a job, or refuses it if the pipeline has given up. Its positions are ordered by
// partition.
func (w *worker) take(j *job) {
	if w.givenUp.Load() {
		for _, i := range j.members {
			j.refuse(i)
		}
		w.publish(nil)
		return
	}
	for from, to := 0, 0; from < len(j.members); from = to {
		number := j.pending.partitions[j.members[from]]
		for to = from + 1; to < len(j.members) && j.pending.partitions[j.members[to]] == number; to++ {
		}
		p := w.partitions[int(number)/w.cfg.Workers]
		w.events = p.Apply(j, j.members[from:to], w.events)
		w.queue(p, p.Held() > 0)
		w.publish(p)
	}
	if j.left > 0 {
		j.open = true
		w.open++
	}
}

const (
	// publishRecords and publishBytes bound one call of the publisher, because a position may cause
	// very many events. A call may exceed the bytes by one event.
	publishRecords = 1000
	publishBytes   = 1 << 20
	// keptEvents is the largest buffer of events that a worker keeps.
	keptEvents = 4 * publishRecords
)

// publish encodes and publishes the gathered events of p, in parts, updates the counts, and answers
// the jobs that are complete.
func (w *worker) publish(p *partition) {
	if p != nil {
		p.objects.Store(int64(p.Len()))
		p.silent.Store(int64(p.Silent()))
	}
	size := 0
	for i := range w.events {
		w.cfg.Metrics.event(&w.events[i])
		w.records = append(w.records, events.NewRecord(&w.events[i]))
		size += w.records[len(w.records)-1].JSON.Len()
		if len(w.records) == publishRecords || size >= publishBytes {
			w.handOut()
			size = 0
		}
	}
	w.handOut()
	clear(w.events)
	w.events = w.events[:0]
	if cap(w.events) > keptEvents {
		w.events = nil
	}
	w.cfg.Metrics.applied(w.applied)
	w.applied = [3]int{}
	for _, j := range w.done {
		if j.open {
			w.open--
		}
		j.pending.release()
	}
	clear(w.done)
	w.done = w.done[:0]
}

// handOut publishes the encoded records.
func (w *worker) handOut() {
	if len(w.records) == 0 {
		return
	}
	w.cfg.Publisher.Publish(w.records)
	w.cfg.Metrics.published(w.records)
	clear(w.records)
	w.records = w.records[:0]
}
