package deliver

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/internal/platform/journal"
)

// MaxLetters bounds the dead letters of a follower. Beyond it the oldest goes.
const MaxLetters = 1000

// Letter is a note about an event that an end has refused. The event itself stays in the log. The
// letter goes when the event has been delivered again by ReplayLetter, when the event leaves the
// log, or when there are more than MaxLetters.
type Letter struct {
	Cursor string    `json:"cursor"` // names the letter
	Event  string    `json:"event"`  // the id of the event
	At     time.Time `json:"at"`     // of the last attempt
	Tries  int       `json:"attempts"`
	Status int       `json:"status,omitempty"`
	Reason string    `json:"reason,omitempty"`
}

func (f *Follower) letterName(cursor uint64) string {
	return fmt.Sprintf("%s/dead/%016x", f.o.Name, cursor)
}

// loadLetters finds the stored letters.
func (f *Follower) loadLetters() error {
	prefix := f.o.Name + "/dead/"
	return f.o.Store.Values(prefix, prefix, func(v journal.Value) error {
		var cursor uint64
		if _, err := fmt.Sscanf(strings.TrimPrefix(v.Name, prefix), "%016x", &cursor); err != nil {
			return fmt.Errorf("%w: %q is no dead letter", journal.ErrDamaged, v.Name)
		}
		f.letters = append(f.letters, cursor)
		return nil
	})
}

// addLetter returns the stored form of a letter. The caller has the lock.
func (f *Follower) addLetter(it *Item, r Result, tries int) journal.Value {
	if at, there := slices.BinarySearch(f.letters, it.Cursor); !there {
		f.letters = slices.Insert(f.letters, at, it.Cursor)
	}
	text, _ := json.Marshal(Letter{ // such a struct always encodes
		Cursor: f.o.Log.Cursor(it.Cursor), Event: EventID(&it.Record), At: instant(time.Now()), Tries: tries, Status: r.Status, Reason: r.Reason,
	})
	return journal.Value{Name: f.letterName(it.Cursor), Bytes: text}
}

// removeLetter forgets a letter. The caller has the lock.
func (f *Follower) removeLetter(cursor uint64, remove []journal.Span) []journal.Span {
	f.letters = without(f.letters, cursor)
	return append(remove, journal.Only(f.letterName(cursor)))
}

// kept returns the number of letters whose events are there. The caller has the lock.
func (f *Follower) kept() int {
	gone, _ := slices.BinarySearch(f.letters, f.o.Log.Oldest())
	return len(f.letters) - gone
}

// trimLetters forgets the letters whose events are gone, and those beyond the bound. The caller has
// the lock.
func (f *Follower) trimLetters(remove []journal.Span) []journal.Span {
	oldest := f.o.Log.Oldest()
	for len(f.letters) > 0 && (f.letters[0] < oldest || len(f.letters) > MaxLetters) {
		f.s.Letters = without(f.s.Letters, f.letters[0])
		remove = f.removeLetter(f.letters[0], remove)
	}
	return remove
}

// Letters returns at most limit dead letters with cursors behind after, by their cursors, and
// whether there are more.
func (f *Follower) Letters(after uint64, limit int) (found []Letter, more bool, err error) {
	f.mu.Lock()
	if f.kept() < len(f.letters) {
		f.save()
	}
	f.mu.Unlock()
	prefix := f.o.Name + "/dead/"
	err = f.o.Store.Values(prefix, f.letterName(after+1), func(v journal.Value) error {
		if len(found) == limit {
			more = true
			return journal.ErrEnough
		}
		var l Letter
		if err := json.Unmarshal(v.Bytes, &l); err != nil {
			return fmt.Errorf("%w: the dead letter %s: %w", journal.ErrDamaged, v.Name, err)
		}
		found = append(found, l)
		return nil
	})
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return found, more, err
}

// without removes a value from a list, which need not be sorted. It changes the list.
func without(list []uint64, value uint64) []uint64 {
	if at := slices.Index(list, value); at >= 0 {
		return slices.Delete(list, at, at+1)
	}
	return list
}
