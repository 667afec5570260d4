package track

import (
	"cmp"
	"encoding/json"
	"slices"

	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// Sighting is where an object is, for the open rules about objects near each other. There is one
// for each accepted fix, for a change of these rules, and for the end of an object or of its time
// of being heard.
type Sighting struct {
	Fleet, ID string // valid for good, but part of longer texts
	Props     json.RawMessage
	Point     geometry.Point
	Reason    Reason // RuleAdded for a change of the rules, also if they closed
	At, Time  Millis
	// Near are the open rules about objects near each other, by id; none if the object is gone or
	// silent. Sightings with the same rules mostly share one list.
	Near []*rule.Rule

	before, era *era // of a change of the rules; otherwise nil
}

// Opening returns why a rule is among those of the sighting, and was not before.
func (t *Sighting) Opening(r *rule.Rule) Reason {
	switch {
	case t.era == nil:
		return t.Reason
	case t.before.view.has(r):
		return Schedule
	}
	return RuleAdded
}

// Closing returns why a rule is not among those of the sighting any more.
func (t *Sighting) Closing(r *rule.Rule) Reason {
	if t.era == nil {
		return t.Reason
	}
	return t.era.whyClosed(r)
}

// sight tells where an object is.
func (s *Shard) sight(o *object, c *cause) {
	fleet, id := s.nameOf(o)
	s.told.Sightings = append(s.told.Sightings, Sighting{
		Fleet: fleet, ID: id, Props: o.properties(), Point: o.point,
		Reason: c.reason, At: c.at, Time: c.time, Near: s.era.near,
	})
}

// sightEdited tells where an object is that comes to the shard's era, if other rules about objects
// near each other are open in it.
func (s *Shard) sightEdited(o *object) {
	if s.told == nil || o.silent() || sameList(o.era.near, s.era.near) {
		return
	}
	s.sight(o, &cause{reason: RuleAdded, at: s.era.at, time: s.era.at})
	last := &s.told.Sightings[len(s.told.Sightings)-1]
	last.before, last.era = o.era, s.era
}

// loseSight tells that an object is gone or silent.
func (s *Shard) loseSight(o *object, c *cause) {
	if s.told == nil || len(o.era.near) == 0 {
		return
	}
	s.sight(o, c)
	s.told.Sightings[len(s.told.Sightings)-1].Near = nil
}

// sameList reports whether two lists are one.
func sameList(a, b []*rule.Rule) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// openNear returns the rules about objects near each other that are open in an era: the list of the
// era before if they are the same.
func (e *era) openNear(before *era) []*rule.Rule {
	var open []*rule.Rule
	for r := range e.view.Rules.Near() {
		if r.Active.Open(e.at.Time()) {
			open = append(open, r)
		}
	}
	slices.SortFunc(open, func(a, b *rule.Rule) int { return cmp.Compare(a.ID, b.ID) })
	if before != nil && slices.EqualFunc(open, before.near, (*rule.Rule).Equal) {
		return before.near
	}
	return open
}
