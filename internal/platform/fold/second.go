package fold

import (
	"slices"
	"strings"

	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/subjects"
)

// Second is the second fold: it carries out rules about several objects, which may be of different
// partitions. At the end of each record it takes what the partitions told of it, in their order,
// and compares the result with the one after the record before. So its events too are a function
// of the records. One goroutine at a time may use it.
//
// The numbers of objects follow from the states of the partitions. What an event has told, and no
// other event has ended yet, is a [Latch], which does not: latches are kept apart, see [Changes].
type Second struct {
	table  *rule.Table // of the last record
	rules  map[string]*second
	counts map[countKey]*tally
	movers map[object]*mover
	grid   grid

	crowded  uint64 // see Crowded
	meetings int    // that have begun in the present record

	touched []touched // of the present record
	moved   []*mover  // likewise
	found   []candidate
	changes Changes
}

// second is a rule about several objects, as it was when it was last in force.
type second struct {
	atLeast int
	near    *rule.Near
	uses    int // by tallies and movers
}

// Latch is a state that an event has begun, and none has ended yet.
type Latch struct {
	Name  string       // the id of its events without their number, and unique
	Begun uint64       // number of the record of the event that began it
	Since track.Millis // the time of that event
}

// Changes are the latches that a record has begun and ended.
type Changes struct {
	Begun, Ended []Latch
}

// NewSecond returns a second fold before the first record.
func NewSecond() *Second {
	return &Second{rules: map[string]*second{}, counts: map[countKey]*tally{}, movers: map[object]*mover{}, grid: grid{}}
}

// Round is the end of a record.
type Round struct {
	Number uint64 // of the record; they ascend
	At     track.Millis
	View   *track.View // of the fences and rules after it
}

// Take takes what a partition has told. Partitions are taken in their order.
func (s *Second) Take(p *Partition) {
	t := &p.told
	if len(t.Counts)+len(t.Sightings) == 0 {
		return
	}
	for i := range t.Counts {
		s.count(&t.Counts[i])
	}
	for i := range t.Sightings {
		s.see(&t.Sightings[i])
	}
	t.Counts, t.Sightings = emptied(t.Counts), emptied(t.Sightings)
}

// TakeOutliers returns the number of positions that had waited for older ones, and were dropped as
// outliers, since the last call.
func (p *Partition) TakeOutliers() (n int) {
	n, p.told.Outliers = p.told.Outliers, 0
	return n
}

// emptied returns an empty list, with the room of this one unless it is very large.
func emptied[T any](list []T) []T {
	if cap(list) > keptTold {
		return nil
	}
	clear(list)
	return list[:0]
}

// keptTold is the number of elements that a list keeps room for between two records.
const keptTold = 4 * StepEvents

// Skip ends a record without a judgement: its events are there, or what the partitions told is not
// of one moment.
func (s *Second) Skip(r Round) {
	s.adopt(r.View)
	s.forget()
}

// End ends a record: it judges what has changed, and appends the events. The changes are valid
// until the next call.
func (s *Second) End(r Round, events []track.Event) ([]track.Event, *Changes) {
	s.adopt(r.View)
	s.changes = Changes{Begun: s.changes.Begun[:0], Ended: s.changes.Ended[:0]}
	events = s.judgeCounts(r, events)
	events = s.judgePairs(r, events)
	s.forget()
	return events, &s.changes
}

// forget empties the list of what the record has touched.
func (s *Second) forget() {
	for i := range s.touched {
		s.release(&s.touched[i])
	}
	for _, m := range s.moved {
		s.settleMover(m)
	}
	s.touched, s.moved = emptied(s.touched), emptied(s.moved)
}

// adopt takes the rules of a view. A rule that is in force no more stays as it last was for as long
// as something depends on it.
func (s *Second) adopt(v *track.View) {
	if v.Rules == s.table {
		return
	}
	s.table = v.Rules
	for id, x := range s.rules {
		x.follow(s.table, id)
	}
}

// follow takes a rule as it is in a table, if it is in force there.
func (x *second) follow(t *rule.Table, id string) {
	if t == nil {
		return
	}
	r, known := t.Get(id)
	switch {
	case !known || r.Disabled:
	case r.AtLeast > 0:
		x.atLeast = r.AtLeast
	case r.Near != nil:
		x.near = r.Near
	}
}

// level returns the level of the cells that are looked at.
func (x *second) level() int8 { return levelOf(x.near.Metres) }

// rule returns the state of a rule.
func (s *Second) rule(id string) *second {
	x := s.rules[id]
	if x == nil {
		x = &second{}
		s.rules[id] = x
	}
	return x
}

// drop ends a use of a rule.
func (s *Second) drop(id string, x *second) {
	if x.uses--; x.uses == 0 {
		delete(s.rules, id)
	}
}

// Crowded returns how often an object was passed over, because one was near too many others, or too
// many pairs began in a record.
func (s *Second) Crowded() uint64 { return s.crowded }

// Restore gives the fold the latches as of the last record.
func (s *Second) Restore(latches []Latch) {
	for _, l := range latches {
		s.restoreCount(l)
		s.restorePair(l)
	}
}

// parseLatchName reads the names that are part of a latch's.
func parseLatchName(name, kind string, to []string) bool {
	tokens := strings.Split(name, "/")
	if tokens[0] != kind || len(tokens) != 1+len(to) {
		return false
	}
	for i := range to {
		to[i], _ = subjects.ParseToken(tokens[i+1]) // "" stays ""
	}
	return true
}

// Settle ends a record like End, after a loss: the latches follow from the state as it is, and no
// event tells so. It returns all of them.
func (s *Second) Settle(r Round) (all []Latch) {
	s.adopt(r.View)
	for key, t := range s.counts {
		if t.place == 0 {
			s.touch(key, t)
		}
	}
	for _, m := range s.movers {
		if !m.moved {
			m.moved = true
			s.moved = append(s.moved, m)
		}
	}
	slices.SortFunc(s.moved, (*mover).compare)
	s.End(r, nil)
	for _, t := range s.counts {
		if t.latch.Begun > 0 {
			all = append(all, t.latch)
		}
	}
	for _, m := range s.movers {
		for _, x := range m.seats {
			for _, p := range x.pairs {
				if p.a == x {
					all = append(all, p.latch)
				}
			}
		}
	}
	slices.SortFunc(all, func(a, b Latch) int { return strings.Compare(a.Name, b.Name) })
	return all
}
