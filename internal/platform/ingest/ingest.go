// Package ingest is the way of a position from a door to its events: decode,
// hand to the shard of its object, fold it into the tracker, encode what comes
// out, publish.
//
// Objects are spread over shards by a keyed hash of (fleet, id). A shard is one
// goroutine with its own [track.Shard] and a bounded queue, so the order of each
// object's positions is the order in which its door took them. A door gets its
// answer when every position of its batch has been applied and the events that
// they caused have been published. What happens when a queue is full is the
// door's choice: [Pipeline.Submit] waits, [Pipeline.TrySubmit] refuses.
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
	// queueJobs bounds a shard's queue. With jobs of at most jobPositions
	// positions of some 200 bytes, a full queue holds about 6 MB.
	queueJobs    = 32
	jobPositions = 1024

	// tick is how often a shard looks for silent objects and changed fences
	// when no position comes.
	tick = 100 * time.Millisecond
)

// ErrClosed is returned for positions that come after Close.
var ErrClosed = errors.New("shutting down")

// Publisher takes the encoded events of one batch and hands them to subscribers
// before it returns. It is called by several shards at once.
type Publisher interface {
	Publish(records []events.Record)
}

// Config of a Pipeline. Zeros mean the defaults that are given.
type Config struct {
	Shards int           // 4 for each CPU
	Track  track.Options // MaxObjects counts over all shards here

	Views     func() *track.View // the fences to track now; called by every shard, must be cheap
	Publisher Publisher
	Metrics   *Metrics // nil: counted, but not exported

	// Congested reports whether subscribers need time for what they have got. What takes
	// long waits meanwhile: the rest of long jobs, changes of the fences, silences of
	// many objects. Nil: never.
	Congested func() bool
}

// Pipeline owns the shards.
type Pipeline struct {
	cfg    Config
	seed   maphash.Seed
	shards []*shard
	room   *room         // for objects; nil: no bound
	gone   atomic.Uint64 // objects removed
	// Metrics of this pipeline, never nil.
	Metrics *Metrics

	closing sync.RWMutex // held for reading while a batch is queued
	closed  bool
	givenUp atomic.Bool // what is still queued is refused

	// turns has a token for each shard that may do what takes long at the same time:
	// one processor is left to the others.
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
		p.room = &room{limit: int64(opts.MaxObjects)}
		opts.MaxObjects, opts.Admit = 0, p.room.take
	}
	for range cfg.Shards {
		s := newShard(opts, p)
		p.shards = append(p.shards, s)
		p.running.Go(s.run)
	}
	return p
}

// Close refuses what comes, applies what has been queued, and returns when all
// its events have been published and all shards have ended. What has not been
// applied when ctx ends is refused.
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

// Result is what became of a batch. Its JSON form is the answer of every door.
type Result struct {
	Accepted int         `json:"accepted"`
	Late     int         `json:"late"`
	Rejected []Rejection `json:"rejected"`
	Omitted  int         `json:"omitted,omitempty"` // further rejections, which are not listed
	// LatePositions are the first of the late ones, with what each was late for.
	LatePositions []Rejection `json:"late_positions,omitempty"`
	Ignored

	// Overloaded counts the rejections for want of room in a queue, or of time before
	// the end of the process; Full those of new objects beyond the bound.
	Overloaded int `json:"-"`
	Full       int `json:"-"`
}

// Rejection names one position that was not taken.
type Rejection struct {
	Index  int    `json:"index"` // in the batch as it was sent, from 0
	Reason string `json:"reason"`
}

// Submit hands a batch to the shards and waits until all of it has been applied
// and its events published. Where a shard's queue stays full until ctx ends, the
// positions that it would have got are rejected as overloaded. The error is
// ErrClosed, or nil.
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

// TrySubmit hands a batch to the shards without waiting and calls done, on some
// shard's goroutine, when all of it has been applied and published. Positions
// whose queue is full are rejected as overloaded.
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

// queue splits the batch by shard and gives each part to send.
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

// pending is a batch on its way. Each job writes its own elements of outcomes.
type pending struct {
	batch    *Batch
	metrics  *Metrics
	outcomes []outcome
	late     lateList
	left     atomic.Int32 // jobs not done, and one for the door while it queues
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

// outcome is track.Outcome, and two that only the pipeline knows.
type outcome uint8

const (
	overloaded = outcome(255) // the queue was full
	unapplied  = outcome(254) // the pipeline gave up before it came to the position
)

// job is the part of a batch that goes to one shard.
type job struct {
	pending *pending
	members []int32 // indexes into the batch
}

// refuse gives members of the job an outcome without applying them.
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
