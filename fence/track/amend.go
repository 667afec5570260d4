package track

import (
	"maps"
	"slices"

	"paddock/fence/track/rule"
)

// Bounds of a change that is carried out without a walk over all objects.
const (
	maxAmendFleets  = 64
	maxAmendObjects = 1024
)

// amend carries out a change to an era in which nothing but rules for single objects differ: the
// present era becomes that one, and Step brings the objects of these rules to it. Objects that
// still have an earlier era are looked at when Step comes to them. It reports false if the change
// may concern others.
func (s *Shard) amend(next *era) bool {
	if !next.onlyRules {
		return false
	}
	concerned, few := s.concerned(next.changes)
	if !few {
		return false
	}
	e, old := s.era, *s.era
	for _, o := range concerned {
		if o.era == e {
			o.bond = &bond{era: &old, class: o.class, scope: o.scope}
			s.amended = append(s.amended, o.handle)
		}
	}
	slices.Sort(s.amended)
	maps.DeleteFunc(e.bonds, func(c *rule.Class, _ *bond) bool {
		return slices.ContainsFunc(next.changes, func(change rule.Change) bool { return c.Has(change.Selection()) })
	})
	e.view, e.at, e.flip = next.view, next.at, next.flip
	return true
}

// concerned returns the objects that changes of rules concern. few is false if there may be too
// many.
func (s *Shard) concerned(changes []rule.Change) (objects []*object, few bool) {
	if len(changes) > maxAmendObjects || len(s.fleets.names) > maxAmendFleets {
		return nil, false
	}
	for i := range changes {
		selection := changes[i].Selection()
		id, one := selection.Object()
		if !one {
			return nil, false
		}
		for _, fleet := range s.fleets.names {
			if !selection.Match(fleet, id) {
				continue
			}
			if o, known := s.find(fleet, id); known {
				objects = append(objects, o)
			}
		}
	}
	return objects, len(objects)+len(s.amended) <= maxAmendObjects
}

// stepAmended brings the next object of a change for single objects to the era.
func (s *Shard) stepAmended(events []Event) (work int, out []Event) {
	o := s.objects.at(s.amended[0])
	s.amended = s.amended[1:]
	work = 1 + int(o.count)
	events = s.renew(o, events)
	return work + int(o.count), events
}
