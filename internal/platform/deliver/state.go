package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// State is what is stored of a follower. Cursors are texts of the log.
type State struct {
	Cursor   string    `json:"cursor"`             // the end has taken everything up to it
	Failures int       `json:"failures,omitempty"` // in a row, which decide the next pause
	Since    time.Time `json:"since,omitzero"`     // see failingSince; zero: the last attempt was a success
	Next     time.Time `json:"next,omitzero"`      // of the next attempt, while it waits
	Disabled *Disabled `json:"disabled,omitempty"` // nil: it is not
	Last     *Attempt  `json:"last,omitempty"`

	Live   progress `json:"live,omitzero"`  // of the next events
	Again  progress `json:"again,omitzero"` // of the events of Replay and Letters
	Replay *Range   `json:"replay,omitempty"`
	// Letters are the cursors of the dead letters to deliver again.
	Letters []uint64 `json:"letters,omitempty"`

	// Delivered, Dead and Missed count events since the follower was made: delivered ones, refused
	// ones that became dead letters, and ones that were removed before their turn.
	Delivered uint64 `json:"delivered"`
	Dead      uint64 `json:"dead"`
	Missed    uint64 `json:"missed"`
}

// progress is that of a batch which was not delivered.
type progress struct {
	Refusals int `json:"refusals,omitempty"`
	Repeat   int `json:"repeat,omitempty"` // the number of its items; 0: there is no such batch
}

// Range is the events to deliver again: behind After, up to To.
type Range struct {
	After string `json:"after"`
	To    string `json:"to"`
}

// Disabled tells why a follower delivers nothing until it is enabled.
type Disabled struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// Counts counts the attempts of followers together.
type Counts struct{ attempts [verdicts]atomic.Uint64 }

// Attempts returns the number of attempts with a verdict since the start.
func (c *Counts) Attempts(v Verdict) uint64 { return c.attempts[v].Load() }

// Verdicts lists the verdicts.
func Verdicts() (all []Verdict) {
	for v := range verdicts {
		all = append(all, v)
	}
	return all
}

// instant returns the time as it is stored and shown: in UTC, to the millisecond.
func instant(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

// load reads the stored state. Without one the follower begins with the events from now on.
func (f *Follower) load() error {
	text, err := f.o.Store.Get(f.stateName())
	switch {
	case errors.Is(err, journal.ErrNotFound):
		f.cursor = f.o.Log.Latest()
		return f.o.Store.Put(f.stored()) // a crash loses no event from here on
	case err != nil:
		return err
	}
	if err := json.Unmarshal(text, &f.s); err != nil {
		return fmt.Errorf("%w: the state of %s: %w", journal.ErrDamaged, f.o.Name, err)
	}
	f.cursor = f.locate(f.s.Cursor)
	return f.loadLetters()
}

// locate returns the cursor of a stored text. One of a log that is not known stands before the
// oldest event: the end rather gets some events twice than not at all.
func (f *Follower) locate(text string) uint64 {
	cursor, err := f.o.Log.ParseCursor(text)
	if errors.Is(err, events.ErrGone) || errors.Is(err, events.ErrBadCursor) {
		return f.o.Log.Oldest() - 1
	}
	return min(cursor, f.o.Log.Latest())
}

// save stores the state. The caller has the lock.
func (f *Follower) save() { f.change(nil) }

// change stores the state together with other changes, and removes the letters of old events.
// After an error the follower goes on: a journal that cannot be written ends the process. The
// caller has the lock.
func (f *Follower) change(remove []journal.Span, put ...journal.Value) {
	remove = f.trimLetters(remove)
	if err := f.o.Store.Change(remove, append(put, f.stored())...); err != nil && !f.unsaved {
		f.unsaved = true
		f.o.Logger.Error("the progress of a delivery is not stored", "to", f.o.Name, "error", err)
	}
}

// stored returns the state in its stored form. The caller has the lock.
func (f *Follower) stored() journal.Value {
	f.s.Cursor, f.saved = f.o.Log.Cursor(f.cursor), time.Now()
	text, _ := json.Marshal(&f.s) // such a struct always encodes
	return journal.Value{Name: f.stateName(), Bytes: text}
}

func (f *Follower) stateName() string { return f.o.Name + "/state" }

// Forget removes everything that is stored under the name of a follower, which does not run.
func Forget(s Store, name string) error {
	return s.Change([]journal.Span{{From: name + "/", To: journal.PrefixEnd(name + "/")}})
}
