// Package ingest takes positions from the doors to their events: it decodes them, passes each to
// the partition of its object, and encodes and publishes the events.
//
// An object belongs to a partition (see [subjects.Partition]), and a partition to a worker: one
// goroutine with a bounded queue. So the positions of an object are applied in the order in which
// its door received them. A door gets its answer once every position of its batch has been applied
// and the resulting events have been published. The door chooses what happens when a queue is full:
// [Pipeline.Submit] waits, [Pipeline.TrySubmit] refuses.
package ingest

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/subjects"
)

const (
	// queueJobs bounds a worker's queue. With jobs of at most jobPositions positions of about 200
	// bytes, a full queue holds about 6 MB.
	queueJobs    = 32
	jobPositions = 1024

	// tick is the interval at which an idle worker checks for silent objects and changed fences.
	tick = 100 * time.Millisecond
)

// ErrClosed is returned for positions after Close.
var ErrClosed = errors.New("shutting down")

// Publisher passes the encoded events of one batch to subscribers before it returns. Several
// workers call it at once.
type Publisher interface {
	Publish(records []events.Record)
}

// Config configures New. Zeros stand for the defaults given here.
type Config struct {
	Workers int           // goroutines, at most one for each partition; 4 for each CPU
	Track   track.Options // MaxObjects bounds the objects of all partitions here, see shareOf

	Views     func() *track.View // the present fences; called by every worker, must be cheap
	Publisher Publisher
	Metrics   *Metrics // nil: counted, but not exported

	// Congested reports whether subscribers are behind. Long work is postponed meanwhile: the rest
	// of long jobs, changes of the fences, timeouts of many objects. Nil: never.
	Congested func() bool
	// Logger reports steps of the system's clock. Nil: no report.
	Logger *slog.Logger
}

// Pipeline owns the workers.
type Pipeline struct {
	cfg        Config
	clock      *clock
	workers    []*worker
	partitions [subjects.Partitions]*partition // partition q belongs to worker q % len(workers)
	gone       atomic.Uint64                   // removed objects
	// Metrics of this pipeline, never nil.
	Metrics *Metrics

	closing sync.RWMutex // held for reading while a batch is queued
	closed  bool
	givenUp atomic.Bool // queued positions are refused

	// turns has a token for each worker that may do long work at the same time. One processor is
	// left for short work.
	turns   chan struct{}
	running sync.WaitGroup
}

// New starts a pipeline. Close stops it.
func New(cfg Config) *Pipeline {
	if cfg.Workers == 0 {
		cfg.Workers = 4 * runtime.GOMAXPROCS(0)
	}
	cfg.Workers = min(cfg.Workers, subjects.Partitions)
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	if cfg.Congested == nil {
		cfg.Congested = func() bool { return false }
	}
	p := &Pipeline{cfg: cfg, clock: newClock(cfg.Logger), Metrics: cfg.Metrics}
	p.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	for range cap(p.turns) {
		p.turns <- struct{}{}
	}
	opts := cfg.Track
	opts.MaxObjects = shareOf(opts.MaxObjects)
	for q := range p.partitions {
		p.partitions[q] = &partition{Partition: fold.NewPartition(opts)}
	}
	for i := range cfg.Workers {
		var own []*partition
		for q := i; q < len(p.partitions); q += cfg.Workers {
			own = append(own, p.partitions[q])
		}
		w := newWorker(p, own)
		p.workers = append(p.workers, w)
		p.running.Go(w.run)
	}
	return p
}

// shareOf returns the bound on the objects of a partition for a bound on all, so that the fold of a
// partition depends on nothing beside it. It is a 64th, and room for chance: objects do not spread
// evenly, and a bound of a few objects would otherwise refuse the second one. 0: no bound.
func shareOf(all int) int {
	if all <= 0 {
		return 0
	}
	share := float64(all) / subjects.Partitions
	return int(math.Ceil(share + 4*math.Sqrt(share)))
}

// Close refuses new batches and applies the queued ones. It returns once all events have been
// published and all workers have ended. Positions that are not applied when ctx ends are refused.
func (p *Pipeline) Close(ctx context.Context) {
	p.closing.Lock()
	already := p.closed
	p.closed = true
	p.closing.Unlock()
	if !already {
		for _, w := range p.workers {
			close(w.jobs)
		}
	}
	defer context.AfterFunc(ctx, func() { p.givenUp.Store(true) })()
	p.running.Wait()
}

// Result is the outcome of a batch. Its JSON form is the answer of every door.
type Result struct {
	Accepted int         `json:"accepted"`
	Late     int         `json:"late"`
	Rejected []Rejection `json:"rejected"`
	Omitted  int         `json:"omitted,omitempty"` // further rejections, which are not listed
	// LatePositions holds the first late ones, each with the time of the last fix.
	LatePositions []Rejection `json:"late_positions,omitempty"`
	Ignored

	// Overloaded counts the rejections because a queue was full or the process was ending; Full
	// those of new objects beyond the bound.
	Overloaded int `json:"-"`
	Full       int `json:"-"`
}

// Rejection names one position that was not accepted.
type Rejection struct {
	Index  int    `json:"index"` // in the batch as it was sent, from 0
	Reason string `json:"reason"`
}

// Submit passes a batch to the workers and waits until all of it has been applied and its events
// published. If a worker's queue is full until ctx ends, the positions for that worker are rejected
// as overloaded. The error is ErrClosed, or nil.
func (p *Pipeline) Submit(ctx context.Context, b *Batch) (Result, error) {
	done := make(chan struct{})
	pending := p.newPending(b, func(*pending) { close(done) })
	if err := p.queue(pending, func(w *worker, j *job) bool {
		select {
		case w.jobs <- j:
			return true
		default:
		}
		select {
		case w.jobs <- j:
			return true
		case <-ctx.Done():
			return false
		}
	}); err != nil {
		return Result{}, err
	}
	<-done
	return pending.result(), nil
}

// TrySubmit passes a batch to the workers without waiting. It calls done, on a worker's goroutine,
// once all of it has been applied and published. Positions for a full queue are rejected as
// overloaded.
func (p *Pipeline) TrySubmit(b *Batch, done func(Result)) error {
	pending := p.newPending(b, func(pd *pending) {
		r := pd.result()
		if done != nil {
			done(r)
		}
	})
	return p.queue(pending, func(w *worker, j *job) bool {
		select {
		case w.jobs <- j:
			return true
		default:
			return false
		}
	})
}

// queue passes the batch to send, in jobs of at most jobPositions positions. This is the arrival of
// the positions, as the fold sees it.
func (p *Pipeline) queue(pd *pending, send func(*worker, *job) bool) error {
	p.closing.RLock()
	defer p.closing.RUnlock()
	if p.closed {
		return ErrClosed
	}
	at := p.clock.now()
	for i := range pd.batch.Positions {
		pd.batch.Positions[i].Arrived = at
	}
	for from := 0; from < len(pd.batch.Positions); from += jobPositions {
		p.split(pd, from, min(from+jobPositions, len(pd.batch.Positions)), send)
	}
	pd.release()
	return nil
}

// split passes the positions from one index to another to send, in one job for each worker. The
// positions of a job are ordered by partition, and those of a partition as in the batch.
func (p *Pipeline) split(pd *pending, from, to int, send func(*worker, *job) bool) {
	var counts, ends [subjects.Partitions]int32
	for i := from; i < to; i++ {
		pos := &pd.batch.Positions[i]
		q := subjects.Partition(pos.Fleet, pos.ID)
		pd.partitions[i] = uint8(q)
		counts[q]++
	}
	sum := int32(0)
	for w := range p.workers {
		for q := w; q < len(counts); q += len(p.workers) {
			ends[q] = sum
			sum += counts[q]
		}
	}
	members := make([]int32, to-from)
	for i := from; i < to; i++ {
		end := &ends[pd.partitions[i]]
		members[*end] = int32(i)
		*end++
	}
	for i, w := range p.workers {
		n := int32(0)
		for q := i; q < len(counts); q += len(p.workers) {
			n += counts[q]
		}
		if n > 0 {
			pd.send(w, members[:n:n], send)
		}
		members = members[n:]
	}
}

// pending is a batch in progress. Each job writes its own elements of outcomes.
type pending struct {
	batch      *Batch
	metrics    *Metrics
	partitions []uint8 // of the positions
	outcomes   []outcome
	late       lateList
	left       atomic.Int32 // unfinished jobs, and one for the door while it queues
	done       func(*pending)
}

func (p *Pipeline) newPending(b *Batch, done func(*pending)) *pending {
	n := len(b.Positions)
	pd := &pending{batch: b, metrics: p.Metrics, partitions: make([]uint8, n), outcomes: make([]outcome, n), done: done}
	pd.left.Store(1)
	p.Metrics.results[resultRejected].Add(uint64(len(b.Rejected) + b.Omitted))
	p.Metrics.renamed.Add(uint64(b.Renamed))
	p.Metrics.ignored.Add(uint64(b.Ignored.Count))
	return pd
}

// send passes a job to a worker, or refuses its positions.
func (pd *pending) send(w *worker, members []int32, send func(*worker, *job) bool) {
	pd.left.Add(1)
	j := &job{pending: pd, members: members, worker: w, left: len(members)}
	if send(w, j) {
		return
	}
	for _, i := range members {
		pd.refuse(i, overloaded)
	}
	pd.release()
}

func (pd *pending) release() {
	if pd.left.Add(-1) == 0 {
		pd.done(pd)
	}
}

// refuse sets the outcome of a position that is not applied.
func (pd *pending) refuse(i int32, o outcome) {
	pd.outcomes[i] = o
	pd.metrics.results[resultOverloaded].Add(1)
}

// outcome is track.Outcome, with two further values of the pipeline.
type outcome uint8

const (
	overloaded = outcome(255) // the queue was full
	unapplied  = outcome(254) // the pipeline ended before the position was applied
)

// job is the part of a batch for one worker. It belongs to the worker's goroutine once it is
// queued.
type job struct {
	pending *pending
	members []int32 // indexes into the batch, ordered by partition
	worker  *worker
	left    int  // positions without an outcome
	open    bool // counted in worker.open
}

var _ fold.Job = (*job)(nil)

// Position implements [fold.Job].
func (j *job) Position(i int32) *track.Position { return &j.pending.batch.Positions[i] }

// Applied implements [fold.Job].
func (j *job) Applied(i int32, o track.Outcome, state *track.Shard) {
	j.pending.outcomes[i] = outcome(o)
	if o == track.Late {
		j.pending.late.note(i, j.Position(i), state)
	}
	j.worker.applied[o]++
	j.settle()
}

// refuse refuses a position, as the pipeline has given up.
func (j *job) refuse(i int32) {
	j.pending.refuse(i, unapplied)
	j.settle()
}

// settle counts a position that has its outcome.
func (j *job) settle() {
	if j.left--; j.left == 0 {
		j.worker.done = append(j.worker.done, j)
	}
}

func (pd *pending) result() Result {
	r := Result{Rejected: append([]Rejection{}, pd.batch.Rejected...), Omitted: pd.batch.Omitted, Ignored: pd.batch.Ignored}
	for i, o := range pd.outcomes {
		switch o {
		case outcome(track.Accepted):
			r.Accepted++
		case outcome(track.Late):
			r.Late++
		case outcome(track.Full):
			r.Full++
			r.reject(pd.batch.index(i), "too many objects: the limit is reached and this one is new")
		case overloaded:
			r.Overloaded++
			r.reject(pd.batch.index(i), "overloaded: the queue is full, send it again later")
		case unapplied:
			r.Overloaded++
			r.reject(pd.batch.index(i), "not applied: shutting down, send it again later")
		}
	}
	r.list()
	r.LatePositions = pd.late.rejections(pd.batch)
	return r
}
