package deliver

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"paddock/internal/platform/events"
)

const (
	// readAhead is the least number of items that a follower reads at once.
	readAhead = 16
	// idle is the time after which a follower without events stores how far it has looked.
	idle = 15 * time.Second
	// maxAttempts bounds the attempts that are remembered: beyond it the oldest are forgotten.
	maxAttempts = 50
)

// Config is what can be changed while a follower runs.
type Config struct {
	End      End
	Selector *Selector
	Batch    int // items that the end takes at once, 1 or more
	Enabled  bool
}

// Options configure New.
type Options struct {
	Name     string // of the stored values: name/state, name/dead/...
	Log      *events.Log
	Store    Store
	Keeps    bool // the store and the log outlive the process
	Schedule *Schedule
	Logger   *slog.Logger
	Counts   *Counts
	// GivenUp is called when the end is disabled, and not by a request. It must not call the
	// follower. Nil: no call.
	GivenUp func(name, reason string)
}

// Follower delivers events to one end. It is safe for concurrent use; Run is called once.
type Follower struct {
	o    Options
	wake chan struct{} // holds one signal
	done chan struct{} // closed when Run has ended

	// These belong to Run.
	reader  *events.Reader // nil: it begins at the cursor
	pending []Item         // read, and not delivered
	again   bool           // the last batch was a replay
	ended   bool           // the log has ended, and all of it was read
	unsaved bool           // a failed write was reported

	mu        sync.Mutex
	c         Config
	s         State
	recent    []Attempt // of this run, the newest last
	cursor    uint64    // all events up to it were delivered, refused or not selected
	saved     time.Time // when s was stored
	letters   []uint64
	replays   int                // counts calls of Replay
	changed   bool               // since the last attempt began
	replaced  []End              // that Run has to close
	stopping  bool               // see Drain
	interrupt context.CancelFunc // ends a wait for events; nil: there is none
}

// New returns a follower with its stored state. The error is one of the store.
func New(o Options, c Config) (*Follower, error) {
	f := &Follower{o: o, c: c, wake: make(chan struct{}, 1), done: make(chan struct{})}
	if err := f.load(); err != nil {
		return nil, err
	}
	return f, nil
}

// Configure replaces the configuration, and ends a pause. An attempt under way goes on, and if it
// fails the next one follows at once.
func (f *Follower) Configure(c Config) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.c.End != c.End {
		f.replaced = append(f.replaced, f.c.End) // an attempt may be using it
	}
	f.c, f.changed = c, true
	f.s.Next = time.Time{}
	f.s.Live.Refusals, f.s.Again.Refusals = 0, 0 // which were of the old one
	f.pokeLocked()
}

// pokeLocked makes Run look at the state again. The caller has the lock.
func (f *Follower) pokeLocked() {
	select {
	case f.wake <- struct{}{}:
	default:
	}
	if f.interrupt != nil {
		f.interrupt()
	}
}

// Drain ends Run once the attempt under way has ended. A follower whose store ends with the process
// first delivers the events that are left, as long as the end takes them. When ctx ends, Drain
// returns, and Run ends with its own context.
func (f *Follower) Drain(ctx context.Context) error {
	f.mu.Lock()
	f.stopping = true
	f.pokeLocked()
	f.mu.Unlock()
	select {
	case <-f.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Run delivers events until ctx ends or Drain has ended it.
func (f *Follower) Run(ctx context.Context) {
	defer close(f.done)
	defer func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.save()
		f.closeReplaced()
		f.c.End.Close()
	}()
	for f.await(ctx) {
		job := f.next(ctx)
		if job == nil {
			continue
		}
		f.mu.Lock()
		end, changed := f.c.End, f.changed
		f.mu.Unlock()
		if changed {
			continue // the batch is one of the old configuration
		}
		begun := time.Now()
		result := end.Send(ctx, &job.batch)
		if ctx.Err() != nil && result.Verdict != Delivered {
			return // it was cut
		}
		f.settle(job, result, begun)
	}
}

// await returns once an attempt may be made, or false if there is to be none.
func (f *Follower) await(ctx context.Context) bool {
	for {
		f.mu.Lock()
		f.closeReplaced()
		ready, pause, stop := f.look(time.Now())
		f.mu.Unlock()
		switch {
		case stop || ctx.Err() != nil:
			return false
		case ready:
			return true
		}
		timer := time.NewTimer(pause)
		select {
		case <-f.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// closeReplaced closes the ends that Configure has replaced. Run calls it with the lock.
func (f *Follower) closeReplaced() {
	for _, end := range f.replaced {
		end.Close()
	}
	f.replaced = nil
}

// look decides what to do now. The caller has the lock.
func (f *Follower) look(now time.Time) (ready bool, pause time.Duration, stop bool) {
	switch {
	case f.stopping && f.o.Keeps:
		return false, 0, true
	case f.ended:
		return false, time.Hour, f.stopping
	case !f.c.Enabled || f.s.Disabled != nil:
		f.drop()
		return false, time.Hour, f.stopping
	case f.waits(now):
		return false, f.s.Next.Sub(now), f.stopping
	}
	return true, 0, false
}

// waits reports whether the pause after a failure goes on. Before the last attempt there is none:
// the clock was set back. The caller has the lock.
func (f *Follower) waits(now time.Time) bool {
	return f.s.Next.After(now) && !f.s.Last.At.After(now)
}

// drop forgets what was read, so that a pause holds no memory. Run calls it.
func (f *Follower) drop() { f.reader, f.pending = nil, nil }

// job is a batch and where it comes from.
type job struct {
	batch  Batch
	source source
	upTo   uint64 // the cursor after it
	last   bool   // of a range
	replay int    // of a range: what replays was when it was read
}

type source uint8

const (
	live source = iota
	ranged
	letter
)

// next returns the next batch, or nil if the state has changed.
func (f *Follower) next(ctx context.Context) *job {
	f.mu.Lock()
	if f.changed {
		f.changed = false
		f.drop()
	}
	replays := f.s.Replay != nil || len(f.s.Letters) > 0
	f.mu.Unlock()
	if !replays {
		return f.nextLive(ctx, true)
	}
	if f.again { // the next events have their turn
		f.again = false
		if j := f.nextLive(ctx, false); j != nil {
			return j
		}
	}
	f.again = true
	return f.nextReplay()
}

// nextLive returns the next events. It waits for them, or returns nil without them.
func (f *Follower) nextLive(ctx context.Context, wait bool) *job {
	f.mu.Lock()
	size, repeat, selector, cursor := f.c.Batch, f.s.Live.Repeat, f.c.Selector, f.cursor
	f.mu.Unlock()
	if f.reader == nil {
		f.reader = f.o.Log.ReaderOf(cursor, selector.match)
		f.pending = nil
	}
	if len(f.pending) == 0 {
		f.read(ctx, wait, max(size, readAhead), selector)
	}
	if len(f.pending) == 0 {
		return nil
	}
	n := min(len(f.pending), size)
	if repeat > 0 {
		n = min(n, repeat)
	}
	j := &job{batch: Batch{Items: f.pending[:n:n]}, source: live}
	f.pending = f.pending[n:]
	j.upTo = j.batch.Items[n-1].Cursor
	if len(f.pending) == 0 {
		j.upTo = f.reader.Position()
	}
	return j
}

// read fills pending with the next events that are there.
func (f *Follower) read(ctx context.Context, wait bool, size int, selector *Selector) {
	room := make([]events.Record, 0, size)
	var records []events.Record
	var gap events.Gap
	if wait {
		var err error
		records, gap, err = f.waitFor(ctx, room)
		if errors.Is(err, events.ErrEnded) {
			f.ended = true
		}
	} else {
		records, gap = f.reader.TryNext(room)
	}
	if gap.Count() > 0 {
		f.pending = append(f.pending, Item{Record: events.Record{Cursor: gap.To}, Gap: &gap})
	}
	for i := range records {
		if selector.ofRules(&records[i]) {
			f.pending = append(f.pending, Item{Record: records[i]})
		}
	}
	if len(f.pending) == 0 {
		f.skip(f.reader.Position())
	}
}

// waitFor waits for records, but not for longer than a change of the state.
func (f *Follower) waitFor(ctx context.Context, room []events.Record) ([]events.Record, events.Gap, error) {
	ctx, cancel := context.WithTimeout(ctx, idle)
	defer cancel()
	f.mu.Lock()
	f.interrupt = cancel
	select {
	case <-f.wake: // before interrupt was set
		cancel()
	default:
	}
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.interrupt = nil
		f.mu.Unlock()
	}()
	return f.reader.Next(ctx, room)
}

// skip moves the cursor over events that are not selected. That is stored now and then: after a
// crash they are looked at again.
func (f *Follower) skip(to uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if to <= f.cursor {
		return
	}
	f.cursor = to
	if time.Since(f.saved) >= idle {
		f.save()
	}
}
