package track

import (
	"paddock/fence"
	"paddock/fence/track/rule"
)

// Told is what a shard tells beside its events: for rules about several objects, which no fold of
// one object carries out, and for counters. The caller takes it and empties it.
type Told struct {
	Counts    []Count
	Sightings []Sighting
	Outliers  int // fixes that had waited, and were dropped then
}

// Count is a change of the objects that a rule counts in a fence: one that it selects, whose
// membership is confirmed, while the rule is open.
type Count struct {
	Rule     string
	AtLeast  int // of the rule
	Set      string
	Fence    *fence.Fence
	Change   int // 1, -1, or 0 if a changed rule counts the object as before
	Reason   Reason
	At, Time Millis // as of the events of the membership
}

// TellTo makes the shard append to a list what it tells from then on. Without it the shard tells
// nothing.
func (s *Shard) TellTo(t *Told) { s.told = t }

// tellCounts tells that a membership begins or ends, for the open rules of its set that count it.
func (s *Shard) tellCounts(x *setScope, set *TrackedSet, f *fence.Fence, change int, reason Reason, at, time Millis) {
	for _, r := range x.counts {
		if r.Fences.Select(f.Key, f.Properties) {
			s.tellCount(r, set, f, change, reason, at, time)
		}
	}
}

func (s *Shard) tellCount(r *rule.Rule, set *TrackedSet, f *fence.Fence, change int, reason Reason, at, time Millis) {
	s.told.Counts = append(s.told.Counts, Count{
		Rule: r.ID, AtLeast: r.AtLeast, Set: set.Name, Fence: f, Change: change, Reason: reason, At: at, Time: time,
	})
}

// countsIn reports whether memberships of a set are counted.
func (s *Shard) countsIn(x *setScope) bool { return s.told != nil && len(x.counts) > 0 }

// recount tells which memberships of before an era are counted in it by other rules.
func (s *Shard) recount(o *object, was *scope, c *cause) {
	for i := range s.members {
		m := &s.members[i]
		now, before := s.scope.of(m.set), was.of(m.set)
		if !s.countsIn(now) && !s.countsIn(before) || !s.isMember(o, m.set, m.ref) {
			continue
		}
		set := s.era.view.find(m.set)
		f, old := set.Snapshot.Fence(m.ref), o.era.view.find(m.set).Snapshot.Fence(m.ref)
		for _, r := range before.counts {
			if r.Fences.Select(old.Key, old.Properties) && !now.count(r.ID, f) {
				s.tellCount(r, set, f, -1, s.closing(m.set, r), c.at, c.time)
			}
		}
		for _, r := range now.counts {
			switch selected := r.Fences.Select(f.Key, f.Properties); {
			case selected && !before.count(r.ID, old):
				s.tellCount(r, set, f, 1, s.opening(o, m.set, r), c.at, c.time)
			case selected && !o.era.view.has(r):
				s.tellCount(r, set, f, 0, RuleAdded, c.at, c.time)
			}
		}
	}
}

// count reports whether an open rule counts in a fence.
func (x *setScope) count(id string, f *fence.Fence) bool {
	r := byID(x.counts, id)
	return r != nil && r.Fences.Select(f.Key, f.Properties)
}

// has reports whether a rule of a set is open.
func (x *setScope) has(id string) bool { return byID(x.counts, id) != nil || x.byID(id) != nil }

// tellAll tells the whole state, for a list that knows nothing of the shard.
func (s *Shard) tellAll() {
	if s.told == nil {
		return
	}
	for o := range s.objects.all() {
		if o.gone() {
			continue
		}
		if len(s.era.near) > 0 && !o.silent() {
			s.sight(o, &cause{reason: Move, at: o.time, time: o.time})
		}
		if o.scope == nil {
			continue
		}
		for _, m := range s.membersOf(o) {
			if x := o.scope.of(m.set); len(x.counts) > 0 {
				set := o.era.view.find(m.set)
				s.tellCounts(x, set, set.Snapshot.Fence(m.ref), 1, Move, m.since, m.since)
			}
		}
	}
}
