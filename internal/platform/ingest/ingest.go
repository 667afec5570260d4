// Package ingest takes positions from the doors to their events: it decodes them, applies them to
// the partitions of their objects, and encodes and publishes the events.
//
// All inputs go through one order, record by record. A record holds everything that waited when it
// was begun: positions of any number of doors, a change of the fences, removals, passed time. A
// partition (see [subjects.Partition]) applies its part of a record, then the record's events are
// published, ordered by partition, and then the doors get their answers. So the events are a
// function of the records, and the same for any number of workers.
//
// There is no goroutine behind the doors: the goroutine of a door that finds the turn free makes
// the next record itself, for itself and for all that wait. The work of a record is bounded by
// counts, and postponed work is done by later records; [Pipeline.run] makes those.
package ingest

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

const (
	// maxWaiting is the default of Config.MaxWaiting: at most some 150 MB, or four batches that are
	// larger.
	maxWaiting = 256 << 10

	// checkpointEvery is the default of Config.CheckpointEvery.
	checkpointEvery = 16 << 10

	// tick is the interval of records that let time pass and take changed fences, if no door causes
	// any.
	tick = 100 * time.Millisecond
)

// ErrClosed is returned for positions after Close.
var ErrClosed = errors.New("shutting down")

// Publisher passes the encoded events of one record to subscribers before it returns.
type Publisher interface {
	Publish(records []events.Record)
}

// Follower reads what a pipeline has applied and stored, beside its journal, so that it need not
// read all of it there. Its methods are called in the order of the records; they must be quick, and
// keep nothing of what they are given.
type Follower interface {
	// Applied gives the number, the time and the positions of a record.
	Applied(number uint64, at track.Millis, batches [][]track.Position)
	// Committed gives events, by the cursor of the first one.
	Committed(first uint64, records []events.Record)
}

// Fences provides views of the fences, each with an id if they are kept.
type Fences interface {
	// View returns the fences for the next record. It is called for each one, so it must be cheap.
	View() (view *track.View, id []byte)
	// Staged reports whether View has the present fences, and Stage makes it have them.
	Staged() bool
	Stage() error

	// Begin notes the number of the record that begins a view, and Release the oldest record that
	// may be applied again.
	Begin(id []byte, number uint64)
	Release(before uint64) error
	// Decode returns a view that was kept, with the same ids and the same order of fences. Adopt
	// ends the decoding: the present fences are those of this view, if there is one.
	Decode(id []byte) (*track.View, error)
	Adopt(id []byte) error
	// Follow is Decode and Adopt at once, for a view that a record of another node begins.
	Follow(id []byte) (*track.View, error)
}

// Config configures New. Zeros stand for the defaults given here.
type Config struct {
	Workers int           // goroutines that apply a large record; one for each CPU
	Track   track.Options // MaxObjects bounds the objects of all partitions here, see shareOf
	// MaxWaiting bounds the positions that are accepted and not applied; 256 Ki. Each propsWeight
	// bytes of props count as another one. A batch counts as a quarter of it at most, and as less
	// when some of its positions are applied. A quarter of it is for TrySubmit alone.
	MaxWaiting int

	Fences    Fences
	Publisher Publisher // of New; that of Open is given to Start
	Metrics   *Metrics  // nil: counted, but not exported

	// Congested reports whether subscribers are behind. Long work is postponed meanwhile: the rest
	// of long batches, changes of the fences, timeouts of many objects. Nil: never.
	Congested func() bool
	// Now returns the wall clock. Nil: the system's.
	Now func() time.Time
	// Logger reports steps of the wall clock. Nil: no report.
	Logger *slog.Logger

	// Replica makes the pipeline begin as a replica, whose batches go to Forward.
	Replica bool
	Forward Forwarder
	// Append stores a record in the log of all nodes, and then in Journal. Nil: Journal.Append.
	Append func(record []byte) (number uint64, err error)

	// Runs are part of the source of events, see [events.NewRecord]. Without a journal another run
	// counts the events of an object from 1 again.
	Runs events.Runs
	// Journal keeps every record before it is applied. Nil: the state ends with the process.
	Journal journal.Journal
	// Interval makes Submit and TrySubmit answer at once, as if every position were accepted. Their
	// records are made after this time. 0: they answer once the positions are durable and applied.
	Interval time.Duration
	// CheckpointEvery is the number of positions and records after which the state of the next
	// partition is saved; 16 Ki, so that all are saved once in a million positions.
	CheckpointEvery int
	// Needed returns the number, 1 or higher, of the oldest record that has other readers: it stays
	// in the journal. Nil: there are none.
	Needed func() uint64
	// Follower is given the records of a pipeline that runs. Nil: there is none.
	Follower Follower
	// Failed is called once when the journal cannot be written: from then on every position is
	// refused. Nil: only the refusals tell.
	Failed func(error)
}

// Pipeline owns the state of all objects.
type Pipeline struct {
	cfg     Config
	clock   *clock
	options []byte // Config.Track in its stored form
	gone    removedHandles
	// Metrics of this pipeline, never nil.
	Metrics *Metrics

	room room

	mu      sync.Mutex
	waiting []*request // for the next record
	closed  bool

	// Each of the two turns holds a token while a goroutine has it: the one to make and store a
	// record, which takes the other one before it ends, and the one to apply a record.
	turn, applying chan struct{}
	making         making  // belongs to the holder of turn
	folding        folding // belongs to the holder of applying

	state      sync.RWMutex // of the partitions: a record is applied under the lock
	partitions [subjects.Partitions]*partition
	sessions   sessions // of senders; empty without a journal

	crowds  atomic.Int32               // partitions with as many objects as they may have
	seen    atomic.Pointer[track.View] // that the partitions have
	role    atomic.Int32               // see Role
	refusal atomic.Pointer[string]     // why nothing is accepted; nil: it is
	wake    chan struct{}              // of run; holds one signal
	soon    chan struct{}              // likewise, for a record after Config.Interval
	givenUp atomic.Bool                // positions that wait are refused
	failure sync.Once                  // is told
	ended   chan struct{}
	asked   chan chan struct{} // of Alive, closed after a round of run

	background sync.WaitGroup // run and follow
}

// New starts a pipeline without a journal. Close stops it.
func New(cfg Config) *Pipeline {
	cfg.Journal = nil
	p := build(cfg)
	p.Start(cfg.Publisher)
	return p
}

// Open returns a pipeline with the state that its journal holds. It does not run yet: the publisher
// may depend on the events that Open has added to the journal. Once ctx ends, Open returns its
// error, and what it has added stays.
func Open(ctx context.Context, cfg Config) (*Pipeline, error) {
	p := build(cfg)
	if cfg.Journal != nil {
		if err := p.restore(ctx); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// Start starts the goroutines of the pipeline, which passes events to the publisher from then on.
// Close stops them.
func (p *Pipeline) Start(to Publisher) {
	p.cfg.Publisher = to
	p.background.Go(p.run)
	if p.cfg.Journal != nil {
		p.background.Go(p.follow)
	}
}

func build(cfg Config) *Pipeline {
	if cfg.Workers == 0 {
		cfg.Workers = runtime.GOMAXPROCS(0)
	}
	cfg.Workers = min(cfg.Workers, subjects.Partitions)
	cfg.MaxWaiting = cmp.Or(cfg.MaxWaiting, maxWaiting)
	cfg.CheckpointEvery = cmp.Or(cfg.CheckpointEvery, checkpointEvery)
	if cfg.Append == nil && cfg.Journal != nil {
		cfg.Append = cfg.Journal.Append
	}
	if cfg.Metrics == nil {
		cfg.Metrics = NewMetrics(nil)
	}
	if cfg.Congested == nil {
		cfg.Congested = func() bool { return false }
	}
	p := &Pipeline{
		cfg: cfg, clock: newClock(cfg.Logger, cfg.Now), Metrics: cfg.Metrics, room: newRoom(cfg.MaxWaiting),
		sessions: sessions{}, turn: make(chan struct{}, 1), applying: make(chan struct{}, 1), wake: make(chan struct{}, 1), soon: make(chan struct{}, 1), ended: make(chan struct{}),
		asked: make(chan chan struct{}),
	}
	p.cfg.Track.MaxObjects = shareOf(cfg.Track.MaxObjects)
	p.options = encodeOptions(p.cfg.Track)
	for q := range p.partitions {
		p.partitions[q] = &partition{Partition: fold.NewPartition(p.cfg.Track), most: p.cfg.Track.MaxObjects, crowds: &p.crowds}
	}
	p.folding.several.Second = fold.NewSecond()
	p.seen.Store(&track.View{})
	if cfg.Replica {
		p.role.Store(int32(Replica))
	}
	return p
}

// Close refuses new batches and applies the waiting ones. It returns once all events have been
// published. Positions that are not applied when ctx ends are refused.
func (p *Pipeline) Close(ctx context.Context) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	defer context.AfterFunc(ctx, func() { p.givenUp.Store(true) })()
	p.signal()
	p.background.Wait()
}

// Refuse makes the pipeline refuse positions and removals for a reason, such as a full disk, until
// it is called with "".
func (p *Pipeline) Refuse(reason string) {
	if reason == "" {
		p.refusal.Store(nil)
	} else {
		p.refusal.Store(&reason)
	}
}

// Refusing returns the reason of Refuse, or "".
func (p *Pipeline) Refusing() string {
	if r := p.refusal.Load(); r != nil {
		return *r
	}
	return ""
}

// Submit passes a batch in and waits until all of it has been applied and its events published. If
// there is no room for it until ctx ends, its positions are rejected as overloaded. The error is
// ErrClosed, or nil.
func (p *Pipeline) Submit(ctx context.Context, b *Batch) (Result, error) {
	if p.forwards() {
		return p.cfg.Forward.Submit(ctx, b)
	}
	done := make(chan struct{})
	pd := p.newPending(b, func(*pending) { close(done) })
	if pd.reason = p.Refusing(); pd.reason != "" {
		pd.refuseAll(refused)
		return pd.result(), nil
	}
	if b.Empty() {
		return pd.result(), nil
	}
	if !p.admit(pd) {
		return pd.result(), nil
	}
	if p.room.await(ctx, pd) != nil {
		pd.refuseAll(overloaded)
		return pd.result(), nil
	}
	if p.cfg.Interval > 0 {
		return p.postpone(pd)
	}
	if err := p.do(&request{pending: pd}, done); err != nil {
		pd.leaveAllBut(0)
		return Result{}, err
	}
	return pd.result(), nil
}

// TrySubmit passes a batch in without waiting. It calls done, on any goroutine, once all of it has
// been applied and published. Positions for which there is no room are rejected as overloaded.
func (p *Pipeline) TrySubmit(b *Batch, done func(Result)) error {
	if p.forwards() {
		return p.cfg.Forward.TrySubmit(b, done)
	}
	return p.trySubmit(b, func(pd *pending) {
		if r := pd.result(); done != nil {
			done(r)
		}
	})
}

func (p *Pipeline) trySubmit(b *Batch, done func(*pending)) error {
	pd := p.newPending(b, done)
	if pd.reason = p.Refusing(); pd.reason != "" {
		pd.refuseAll(refused)
		pd.done(pd)
		return nil
	}
	if b.Empty() {
		pd.done(pd)
		return nil
	}
	if !p.admit(pd) {
		pd.done(pd)
		return nil
	}
	if !p.room.try(pd) {
		pd.refuseAll(overloaded)
		pd.done(pd)
		return nil
	}
	if p.cfg.Interval > 0 {
		pd.done = func(*pending) {}
		_, err := p.postpone(pd)
		if err == nil {
			done(&pending{batch: b, outcomes: make([]outcome, len(b.Positions))}) // as if all were accepted
		}
		return err
	}
	if err := p.enter(&request{pending: pd, queued: true}); err != nil {
		pd.leaveAllBut(0)
		return err
	}
	p.signal()
	return nil
}

// postpone lists a batch for a record after Config.Interval, and returns the answer in advance.
func (p *Pipeline) postpone(pd *pending) (Result, error) {
	r := pd.result() // before another goroutine writes outcomes: all are accepted
	if err := p.enter(&request{pending: pd, queued: true}); err != nil {
		pd.leaveAllBut(0)
		return Result{}, err
	}
	select {
	case p.soon <- struct{}{}:
	default:
	}
	return r, nil
}

// Remove forgets an object, and reports whether it was known. When Remove returns, an exit from
// each fence that held the object has been published. The error is ErrClosed, that of the journal,
// or the reason of Refuse.
func (p *Pipeline) Remove(fleet, id string) (removed bool, err error) {
	if p.Role() == Replica {
		return false, ErrReplica
	}
	if reason := p.Refusing(); reason != "" {
		return false, errors.New(reason)
	}
	done := make(chan struct{})
	pd := p.newPending(&Batch{}, func(*pending) { close(done) })
	r := &removal{fleet: fleet, id: id}
	if err := p.do(&request{pending: pd, removal: r}, done); err != nil {
		return false, err
	}
	return r.removed, pd.failure
}

// Settle returns once the partitions have the present fences, so that a caller that has changed
// them sees the effect. They are durable then. The error is ErrClosed, that of the journal, or nil.
func (p *Pipeline) Settle() error {
	if p.Role() == Replica {
		return ErrReplica
	}
	if reason := p.Refusing(); reason != "" {
		return errors.New(reason)
	}
	if err := p.stage(); err != nil {
		return err
	}
	if view, _ := p.cfg.Fences.View(); p.seen.Load() == view {
		return nil
	}
	done := make(chan struct{})
	pd := p.newPending(&Batch{}, func(*pending) { close(done) })
	if err := p.do(&request{pending: pd}, done); err != nil {
		return err
	}
	return pd.failure
}

// Now returns the wall clock, in a cluster that of its servers.
func (p *Pipeline) Now() time.Time {
	wall, _ := p.clock.system()
	return wall
}

// Time returns the time of records. It never goes back, and follows no large step of the clock.
func (p *Pipeline) Time() time.Time { return p.clock.now().Time() }

// Times returns Decoder.Arrived and Decoder.Present of positions that arrive now. They arrive at
// the time of records: at that of a wall clock that was set back, positions without a time would
// be late. Clocks of devices are compared with the wall clock.
func (p *Pipeline) Times() (arrived, present track.Millis) {
	return p.clock.now(), track.MillisOf(p.Now())
}

// Waiting returns the number of positions that were passed in and are in no record yet.
func (p *Pipeline) Waiting() (positions int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.waiting {
		positions += len(r.pending.batch.Positions)
	}
	return positions
}

// Trim removes events with lower cursors from the journal.
func (p *Pipeline) Trim(before uint64) error {
	p.applying <- struct{}{}
	defer func() { <-p.applying }()
	return p.cfg.Journal.TrimPieces(before)
}

// enter lists a request for the next record.
func (p *Pipeline) enter(r *request) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return ErrClosed
	}
	p.waiting = append(p.waiting, r)
	return nil
}

// do enters a request and waits for its end. It makes records itself while the turn is free and the
// request is not part of one.
func (p *Pipeline) do(r *request, done <-chan struct{}) error {
	if err := p.enter(r); err != nil {
		return err
	}
	for !r.taken.Load() {
		select {
		case <-done:
			return nil
		case p.turn <- struct{}{}:
			if r.taken.Load() {
				<-p.turn
				break
			}
			p.makeRecord(0)
		}
	}
	<-done
	return nil
}

// signal wakes run.
func (p *Pipeline) signal() {
	select {
	case p.wake <- struct{}{}:
	default:
	}
}
