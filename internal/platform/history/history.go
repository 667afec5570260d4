// Package history keeps the positions and the visits of objects, and reads them back: the track of
// an object, its visits, and all objects as they were at some time.
//
// A [History] follows the journal behind the pipeline, in the background. What the pipeline has
// just written comes to it directly, and the rest it reads from the journal. It gathers the
// positions of its records for each object and hour of their own time, and stores them as
// fragments: blocks of some positions. Once the hour is over, or there are many fragments, they
// become one block together with the block that is there. A read merges blocks, fragments and what
// is gathered.
//
// The number of the last stored record is stored behind its fragments. So a crash repeats some
// records and loses none. Of positions of one object with the same time the first one counts, so
// that a repeated one changes nothing.
package history

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

const (
	// interval is the default of Options.Interval, and maxGathered that of Options.MaxGathered:
	// some 40 MB.
	interval    = time.Minute
	maxGathered = 256 << 10
	// poll is the time between two looks at the journal.
	poll = 100 * time.Millisecond
)

// Options configure Open. Zeros stand for the defaults given here.
type Options struct {
	Journal journal.Journal // required
	Logger  *slog.Logger    // nil: no reports
	// Interval is the longest time until a position is stored; 1 minute. MaxGathered is the number
	// of positions beyond which they are stored at once; 256 Ki.
	Interval    time.Duration
	MaxGathered int
}

// History is the stored past of the objects of a journal. It is safe for concurrent use.
type History struct {
	o    Options
	j    journal.Journal
	wake chan struct{} // of Run; holds one signal

	stored  atomic.Uint64 // the newest record whose positions are stored
	taken   atomic.Uint64 // the newest record whose positions are gathered
	written struct{ blocks, fragments, gaps atomic.Uint64 }

	positions feed[track.Position] // by record
	visits    feed[Visit]          // by cursor

	mu       sync.Mutex      // held for a step, and for moments by readers
	moved    chan struct{}   // closed and replaced after each step
	at       track.Millis    // time of the newest record
	since    time.Time       // when the first record was gathered that is not stored
	gathered map[slot]*[]Fix // positions that are not stored
	current  map[Object]current
	fixes    int           // in gathered
	slots    map[int64]int // by day: in gathered
	open     map[slot]*opened
	merging  []slot           // hours whose fragments become a block next
	known    map[string]int64 // by object: its last day
	unlisted []journal.Value  // last days that are not stored yet
	allKnown bool             // an object that is not known has none

	beginning beginning
	cursor    uint64 // of the next event
}

// opened is an hour with fragments.
type opened struct {
	count int          // of fragments
	due   track.Millis // when they become a block
}

// Open returns the history of a journal. It follows the journal while Run runs. The error is one of
// the journal.
func Open(o Options) (*History, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Interval == 0 {
		o.Interval = interval
	}
	if o.MaxGathered == 0 {
		o.MaxGathered = maxGathered
	}
	h := &History{
		o: o, j: o.Journal, wake: make(chan struct{}, 1), moved: make(chan struct{}),
		positions: feed[track.Position]{bound: maxFedPositions}, visits: feed[Visit]{bound: maxFedVisits},
		gathered: map[slot]*[]Fix{}, current: map[Object]current{}, slots: map[int64]int{}, open: map[slot]*opened{}, known: map[string]int64{},
		beginning: beginning{kind: fragments},
	}
	oldest, _ := h.j.Bounds()
	record, err := h.progress("records", oldest-1)
	if err != nil {
		return nil, err
	}
	h.stored.Store(record)
	h.taken.Store(record)
	if h.cursor, err = h.progress("events", h.j.OldestEvent()); err != nil {
		return nil, err
	}
	return h, nil
}

// progress reads a stored number, or returns the one for a new history.
func (h *History) progress(of string, initial uint64) (uint64, error) {
	b, err := h.j.Get(progress + of)
	if errors.Is(err, journal.ErrNotFound) {
		return initial, nil
	}
	if err != nil {
		return 0, err
	}
	v, _, ok := cutNumber(string(b))
	if !ok {
		return 0, fmt.Errorf("%w: the progress of the history", journal.ErrDamaged)
	}
	return uint64(v), nil
}

// progressValue returns the stored form of a number.
func progressValue(of string, v uint64) journal.Value {
	return journal.Value{Name: progress + of, Bytes: appendNumber(nil, int64(v))}
}

// beginning is what is read of the journal before the first record: the hours with fragments, then
// the last days of the objects.
type beginning struct {
	kind string // "": all is read
	from string
}

// beginValues is the number of values that a step of the beginning reads.
const beginValues = 4096

// begin does a step of the beginning. The caller has the lock.
func (h *History) begin() error {
	read := 0
	err := h.j.Values(h.beginning.kind, h.beginning.from, func(v journal.Value) error {
		if read++; read > beginValues {
			h.beginning.from = v.Name
			return journal.ErrEnough
		}
		return h.foundValue(v)
	})
	switch {
	case errors.Is(err, journal.ErrEnough):
		return nil
	case err == nil && h.beginning.kind == fragments:
		h.beginning = beginning{kind: lastDays}
	case err == nil:
		h.beginning = beginning{}
		h.allKnown = len(h.known) < maxKnown
	}
	return err
}

// foundValue takes a value of the beginning.
func (h *History) foundValue(v journal.Value) error {
	if h.beginning.kind == lastDays {
		if last, _, ok := cutNumber(string(v.Bytes)); ok && len(h.known) < maxKnown {
			h.known[v.Name[len(lastDays):]] = last
		}
		return nil
	}
	if len(v.Name) <= len(fragments)+8+8 {
		return fmt.Errorf("%w: %q is no fragment", journal.ErrDamaged, v.Name)
	}
	s := slot(v.Name[len(fragments) : len(v.Name)-8])
	o := h.open[s]
	if o == nil {
		o = &opened{due: s.begin() + hour + mergeDelay}
		h.open[s] = o
	}
	o.count++
	return nil
}

// Run follows the journal until ctx ends.
func (h *History) Run(ctx context.Context) error {
	ticker := time.NewTicker(poll)
	defer ticker.Stop()
	failing := false
	for {
		more, err := h.step()
		if err != nil && !failing {
			h.o.Logger.Error("the history cannot be written, and is tried again", "error", err)
		}
		if failing = err != nil; more && !failing && ctx.Err() == nil {
			continue
		}
		select {
		case <-ticker.C:
		case <-h.wake:
		case <-ctx.Done():
			return nil
		}
	}
}

// Settle returns once everything that the journal holds now can be read, or ctx ends. Run must be
// running.
func (h *History) Settle(ctx context.Context) error {
	_, newest := h.j.Bounds()
	committed := h.j.Committed()
	for {
		h.mu.Lock()
		reached, moved := h.taken.Load() >= newest && h.cursor >= committed.Next(), h.moved
		h.mu.Unlock()
		if reached {
			return nil
		}
		select {
		case h.wake <- struct{}{}:
		default:
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Close stores everything that the journal holds, within the time of ctx.
func (h *History) Close(ctx context.Context) error {
	for {
		more, err := h.step()
		if err != nil {
			return err
		}
		if !more || ctx.Err() != nil {
			h.mu.Lock()
			defer h.mu.Unlock()
			return h.store()
		}
	}
}

// Needed returns the oldest record that the history has not stored.
func (h *History) Needed() uint64 { return h.stored.Load() + 1 }

// Stats holds counts of a history.
type Stats struct {
	Blocks, Fragments uint64 // written since the start
	Lag               uint64 // records that are not gathered yet
	Gaps              uint64 // records and events that were gone before they were read, since the start
}

// Stats returns the counts.
func (h *History) Stats() Stats {
	_, newest := h.j.Bounds()
	return Stats{
		Blocks: h.written.blocks.Load(), Fragments: h.written.fragments.Load(),
		Lag: newest - min(newest, h.taken.Load()), Gaps: h.written.gaps.Load(),
	}
}
