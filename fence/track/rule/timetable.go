package rule

import (
	"iter"
	"sync/atomic"
	"time"

	"paddock/fence/track/rule/internal/trie"
)

// timetable is the different schedules of rules. It is immutable. Rules by the thousand share a few
// schedules, and all of them are looked at for each change of rules, by each partition.
type timetable struct {
	schedules trie.Map[string, usedSchedule] // by their canonical text
	next      *atomic.Pointer[nextChange]    // the last answer; nil: nothing can be kept
}

// usedSchedule is a schedule, and the number of rules that have it.
type usedSchedule struct {
	*Schedule
	rules int
}

// nextChange is the first change after a time from one instant on, and before that change.
type nextChange struct {
	from, at time.Time
	changes  bool // there is one
}

// exchanged returns the timetable after one rule took the place of another. Either may be nil.
func (t timetable) exchanged(old, kept *Rule) timetable {
	t.use(old, -1)
	t.use(kept, 1)
	t.next = &atomic.Pointer[nextChange]{}
	return t
}

// use counts the schedule of a rule n times more.
func (t *timetable) use(r *Rule, n int) {
	if r == nil || r.Active == nil || r.Disabled {
		return
	}
	text, _ := r.Active.MarshalJSON() // a schedule always marshals
	s, _ := t.schedules.Get(string(text))
	if s.rules += n; s.rules == 0 {
		t.schedules = t.schedules.Without(string(text))
		return
	}
	s.Schedule = r.Active
	t.schedules = t.schedules.With(string(text), s)
}

// Scheduled yields the schedules that open and close rules, each once, in no order. Those of
// disabled rules are none of them.
func (t *Table) Scheduled() iter.Seq[*Schedule] {
	return func(yield func(*Schedule) bool) {
		for _, s := range t.timed.schedules.All() {
			if !yield(s.Schedule) {
				return
			}
		}
	}
}

// NextChange returns the first instant after a time at which a rule opens or closes. changes is
// false if there is none. Any number of goroutines may call it.
func (t *Table) NextChange(after time.Time) (at time.Time, changes bool) {
	kept := t.timed.next
	if kept != nil {
		if n := kept.Load(); n != nil && !after.Before(n.from) && (!n.changes || after.Before(n.at)) {
			return n.at, n.changes
		}
	}
	for s := range t.Scheduled() {
		if next, _, ok := s.Next(after); ok && (!changes || next.Before(at)) {
			at, changes = next, true
		}
	}
	if kept != nil {
		kept.Store(&nextChange{after, at, changes})
	}
	return at, changes
}
