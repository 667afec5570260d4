// Package ingest takes positions from the doors to their events: it decodes them, passes each to
// the shard of its object, applies it to the tracker, and encodes and publishes the events.
//
// Objects are distributed over shards by a keyed hash of (fleet, id). A shard is one goroutine with
// its own [track.Shard] and a bounded queue. So the positions of an object are applied in the order
// in which its door received them. A door gets its answer once every position of its batch has been
// applied and the resulting events have been published. The door chooses what happens when a queue
// is full: [Pipeline.Submit] waits, [Pipeline.TrySubmit] refuses.
package ingest

import (
	"context"
	"errors"
	"hash/maphash"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

const (
	// queueJobs bounds a shard's queue. With jobs of at most jobPositions positions of about 200
	// bytes, a full queue holds about 6 MB.
	queueJobs    = 32
	jobPositions = 1024

	// tick is the interval at which an idle shard checks for silent objects and changed fences.
	tick = 100 * time.Millisecond
)

// ErrClosed is returned for positions after Close.
var ErrClosed = errors.New("shutting down")

// Publisher passes the encoded events of one batch to subscribers before it returns. Several shards
// call it at once.
type Publisher interface {
	Publish(records []events.Record)
}

// Config configures New. Zeros stand for the defaults given here.
type Config struct {
	Shards int           // 4 for each CPU
	Track  track.Options // MaxObjects bounds the objects of all shards here

	Views     func() *track.View // the present fences; called by every shard, must be cheap
	Publisher Publisher
	Metrics   *Metrics // nil: counted, but not exported

	// Congested reports whether subscribers are behind. Long work is postponed meanwhile: the rest
	// of long jobs, changes of the fences, timeouts of many objects. Nil: never.
	Congested func() bool
}

// Pipeline owns the shards.
type Pipeline struct {
	cfg    Config
	seed   maphash.Seed
	shards []*shard
	limit  *objectLimit  // bounds the objects; nil: no bound
	gone   atomic.Uint64 // removed objects
	// Metrics of this pipeline, never nil.
	Metrics *Metrics

	closing sync.RWMutex // held for reading while a batch is queued
	closed  bool
	givenUp atomic.Bool // queued positions are refused

	// turns has a token for each shard that may do long work at the same time. One processor is
	// left for short work.
	turns   chan struct{}
	running sync.WaitGroup
}

// New starts a pipeline. Close stops it.
func New(cfg Config) *Pipeline {
	if cfg.Shards == 0 {
		cfg.Shards = 4 * runtime.GOMAXPROCS(0)
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	if cfg.Congested == nil {
		cfg.Congested = func() bool { return false }
	}
	p := &Pipeline{cfg: cfg, seed: maphash.MakeSeed(), Metrics: cfg.Metrics}
	p.turns = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)-1))
	for range cap(p.turns) {
		p.turns <- struct{}{}
	}
	opts := cfg.Track
	if opts.MaxObjects > 0 {
		p.limit = &objectLimit{limit: int64(opts.MaxObjects)}
		opts.MaxObjects, opts.Admit = 0, p.limit.take
	}
	for range cfg.Shards {
		s := newShard(opts, p)
		p.shards = append(p.shards, s)
		p.running.Go(s.run)
	}
	return p
}

// Close refuses new batches and applies the queued ones. It returns once all events have been
// published and all shards have ended. Positions that are not applied when ctx ends are refused.
func (p *Pipeline) Close(ctx context.Context) {
	p.closing.Lock()
	already := p.closed
	p.closed = true
	p.closing.Unlock()
	if !already {
		for _, s := range p.shards {
			close(s.jobs)
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

// Submit passes a batch to the shards and waits until all of it has been applied and its events
// published. If a shard's queue is full until ctx ends, the positions for that shard are rejected
// as overloaded. The error is ErrClosed, or nil.
func (p *Pipeline) Submit(ctx context.Context, b *Batch) (Result, error) {
	done := make(chan struct{})
	pending := p.newPending(b, func(*pending) { close(done) })
	if err := p.queue(pending, func(s *shard, j job) bool {
		select {
		case s.jobs <- j:
			return true
		default:
		}
		select {
		case s.jobs <- j:
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

// TrySubmit passes a batch to the shards without waiting. It calls done, on a shard's goroutine,
// once all of it has been applied and published. Positions for a full queue are rejected as
// overloaded.
func (p *Pipeline) TrySubmit(b *Batch, done func(Result)) error {
	pending := p.newPending(b, func(pd *pending) {
		r := pd.result()
		if done != nil {
			done(r)
		}
	})
	return p.queue(pending, func(s *shard, j job) bool {
		select {
		case s.jobs <- j:
			return true
		default:
			return false
		}
	})
}

// queue splits the batch by shard and passes each part to send.
func (p *Pipeline) queue(pd *pending, send func(*shard, job) bool) error {
	p.closing.RLock()
	defer p.closing.RUnlock()
	if p.closed {
		return ErrClosed
	}
	for i, part := range p.split(pd.batch.Positions) {
		for len(part) > 0 {
			n := min(len(part), jobPositions)
			j := job{pending: pd, members: part[:n]}
			pd.left.Add(1)
			if !send(p.shards[i], j) {
				j.refuse(j.members, overloaded)
				pd.release()
			}
			part = part[n:]
		}
	}
	pd.release()
	return nil
}

// split returns for each shard the indexes of its positions, in order.
func (p *Pipeline) split(positions []track.Position) [][]int32 {
	parts := make([][]int32, len(p.shards))
	for i := range positions {
		s := p.shardOf(positions[i].Fleet, positions[i].ID)
		parts[s] = append(parts[s], int32(i))
	}
	return parts
}

func (p *Pipeline) shardOf(fleet, id string) int {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.WriteString(fleet)
	_ = h.WriteByte(0)
	_, _ = h.WriteString(id)
	return int(h.Sum64() % uint64(len(p.shards)))
}

// pending is a batch in progress. Each job writes its own elements of outcomes.
type pending struct {
	batch    *Batch
	metrics  *Metrics
	outcomes []outcome
	late     lateList
	left     atomic.Int32 // unfinished jobs, and one for the door while it queues
	done     func(*pending)
}

func (p *Pipeline) newPending(b *Batch, done func(*pending)) *pending {
	pd := &pending{batch: b, metrics: p.Metrics, outcomes: make([]outcome, len(b.Positions)), done: done}
	pd.left.Store(1)
	p.Metrics.results[resultRejected].Add(uint64(len(b.Rejected) + b.Omitted))
	p.Metrics.renamed.Add(uint64(b.Renamed))
	p.Metrics.ignored.Add(uint64(b.Ignored.Count))
	return pd
}

func (pd *pending) release() {
	if pd.left.Add(-1) == 0 {
		pd.done(pd)
	}
}

// outcome is track.Outcome, with two further values of the pipeline.
type outcome uint8

const (
	overloaded = outcome(255) // the queue was full
	unapplied  = outcome(254) // the pipeline ended before the position was applied
)

// job is the part of a batch for one shard.
type job struct {
	pending *pending
	members []int32 // indexes into the batch
}

// refuse sets the outcome of members of the job without applying them.
func (j job) refuse(members []int32, o outcome) {
	for _, i := range members {
		j.pending.outcomes[i] = o
	}
	j.pending.metrics.results[resultOverloaded].Add(uint64(len(members)))
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
