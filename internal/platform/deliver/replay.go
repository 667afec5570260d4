package deliver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock/internal/platform/events"
)

// The errors of requests to a follower.
var (
	// ErrNoLetter: there is no such dead letter, or its event is gone.
	ErrNoLetter = errors.New("no such dead letter")
	// ErrNothing: no event after the given place has been delivered yet.
	ErrNothing = errors.New("nothing was delivered there")
	// ErrUnstored: the request cannot be stored, and was not followed.
	ErrUnstored = errors.New("not stored")
)

// nextReplay returns the next batch of what is delivered again, or nil if it turns out that there
// is none.
func (f *Follower) nextReplay() *job {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.s.Letters) > 0 {
		if j := f.letterJob(f.s.Letters[0]); j != nil {
			return j
		}
		f.s.Letters = f.s.Letters[1:] // its event is gone
		f.save()
		return nil
	}
	return f.nextOfRange()
}

// nextOfRange returns the next batch of a range, or nil if there is none among the next events. The
// caller has the lock. nextOfRange releases it while it reads, since few of many events may be
// selected.
func (f *Follower) nextOfRange() *job {
	replay := f.s.Replay
	if replay == nil {
		return nil
	}
	size, selector := f.c.Batch, f.c.Selector
	if f.s.Again.Repeat > 0 {
		size = min(size, f.s.Again.Repeat)
	}
	after, to := f.locate(replay.After), f.locate(replay.To)
	f.mu.Unlock()
	j, at := rangeJob(f.o.Log.ReaderOf(after, selector.match), to, size, selector)
	f.mu.Lock()
	switch {
	case f.s.Replay != replay || f.changed: // it, or what is selected, was replaced meanwhile
		return nil
	case j != nil:
		j.replay = f.replays
		return j
	case at >= to:
		f.s.Replay = nil
	default:
		f.s.Replay = &Range{After: f.o.Log.Cursor(at), To: replay.To}
		if time.Since(f.saved) < idle {
			return nil // after a crash they are looked at again
		}
	}
	f.save()
	return nil
}

// letterJob returns the batch of a dead letter.
func (f *Follower) letterJob(cursor uint64) *job {
	records, gap := f.o.Log.ReaderOf(cursor-1, func(*events.Record) bool { return true }).TryNext(make([]events.Record, 0, 1))
	if gap.Count() > 0 || len(records) == 0 || records[0].Cursor != cursor {
		return nil
	}
	return &job{batch: Batch{Items: []Item{{Record: records[0]}}, Replay: true}, source: letter, upTo: cursor}
}

// rangeSteps bounds the reads of one look for the next batch of a range.
const rangeSteps = 32

// rangeJob returns the next batch of a range, and the cursor up to which it has read. The batch is
// nil if none of the events is selected.
func rangeJob(reader *events.Reader, to uint64, size int, selector *Selector) (j *job, at uint64) {
	j = &job{batch: Batch{Replay: true}, source: ranged}
	room, more := make([]events.Record, 0, size), true
	for step := 0; step < rangeSteps && more && len(j.batch.Items) == 0 && reader.Position() < to; step++ {
		var records []events.Record
		records, _, more = reader.TrySome(room)
		for i := range records {
			if records[i].Cursor <= to && selector.ofRules(&records[i]) {
				j.batch.Items = append(j.batch.Items, Item{Record: records[i]})
			}
		}
	}
	at = reader.Position()
	switch {
	case len(j.batch.Items) > 0:
		j.upTo, j.last = at, at >= to
		return j, at
	case !more:
		return nil, to
	}
	return nil, at
}

// Retry ends a pause.
func (f *Follower) Retry() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.s.Next = time.Time{}
	f.pokeLocked()
}

// Enable lets a disabled follower go on where it was. The error is ErrUnstored.
func (f *Follower) Enable() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.s
	f.s.Disabled, f.s.Since, f.s.Next, f.s.Failures = nil, time.Time{}, time.Time{}, 0
	return f.keep(before)
}

// Disable stops a follower for a reason. One that is disabled keeps its reason. The error is
// ErrUnstored.
func (f *Follower) Disable(reason string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	before := f.s
	if f.s.Disabled == nil {
		f.s.Disabled = &Disabled{At: instant(time.Now()), Reason: reason}
	}
	return f.keep(before)
}

// Replay delivers the events after the given cursor again, up to the follower's own cursor. It
// replaces an earlier replay. It returns the number of events at most. The error is ErrNothing or
// ErrUnstored.
func (f *Follower) Replay(after uint64) (uint64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	after = max(after, f.o.Log.Oldest()-1)
	if after >= f.cursor {
		return 0, fmt.Errorf("%w: the events behind that cursor or time are still to come", ErrNothing)
	}
	before := f.s
	f.s.Replay = &Range{After: f.o.Log.Cursor(after), To: f.o.Log.Cursor(f.cursor)}
	f.s.Again = progress{}
	if err := f.keep(before); err != nil {
		return 0, err
	}
	f.replays++
	return f.cursor - after, nil
}

// ReplayLetter delivers a dead letter again. The error is ErrNoLetter or ErrUnstored.
func (f *Follower) ReplayLetter(cursor uint64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := slices.BinarySearch(f.letters, cursor); !there || f.letterJob(cursor) == nil {
		return ErrNoLetter
	}
	before := f.s
	if !slices.Contains(f.s.Letters, cursor) {
		f.s.Letters = append(f.s.Letters, cursor)
	}
	f.s.Again = progress{}
	return f.keep(before)
}

// keep stores the state that a request has made. If that fails, it restores the state before. The
// caller has the lock.
func (f *Follower) keep(before State) error {
	if err := f.o.Store.Put(f.stored()); err != nil {
		f.s = before
		return fmt.Errorf("%w: %w", ErrUnstored, err)
	}
	f.pokeLocked()
	return nil
}

// The states of a follower.
const (
	StateActive   = "active"
	StateWaiting  = "waiting" // for its next attempt
	StateDisabled = "disabled"
)

// Status is the present state of a follower.
type Status struct {
	State   string
	Reason  string // of StateDisabled
	Cursor  string
	Lag     uint64 // events behind the cursor, selected or not
	Stored  State
	Letters int
}

// Status returns the present state.
func (f *Follower) Status() Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := Status{
		State: StateActive, Stored: f.s, Letters: f.kept(),
		Cursor: f.o.Log.Cursor(f.cursor), Lag: f.o.Log.Latest() - min(f.cursor, f.o.Log.Latest()),
	}
	s.Stored.Letters = slices.Clone(f.s.Letters)
	switch {
	case f.s.Disabled != nil:
		s.State, s.Reason = StateDisabled, f.s.Disabled.Reason
	case !f.c.Enabled:
		s.State, s.Reason = StateDisabled, "enabled is false"
	case f.waits(time.Now()):
		s.State = StateWaiting
	}
	return s
}
