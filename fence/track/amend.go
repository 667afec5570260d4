package track

import (
	"slices"

	"paddock/fence/track/rule"
)

// maxNamesCompared bounds the names that are compared with the patterns of changed rules in one
// call. All shards of a platform do so at once, and positions wait for it.
const maxNamesCompared = 1 << 10

// minBonds is the number of bonds that an era may remember without any object.
const minBonds = 64

// amend carries out a change to an era in which nothing but rules for some objects differ: the
// present era becomes that one, and Step brings the objects of these rules to it. Objects that
// still have an earlier era are looked at when Step comes to them. It reports false if finding the
// objects takes too long.
func (s *Shard) amend(next *era) bool {
	changes, ok := next.onlyRules(s.era)
	if !ok || !sameList(next.near, s.era.near) { // which concern other objects too
		return false
	}
	concerned, found := s.concerned(changes)
	if !found {
		return false
	}
	e, old := s.era, *s.era
	before := map[*bond]*bond{}
	for _, o := range concerned {
		if o.era == e {
			if before[o.bond] == nil {
				before[o.bond] = &bond{era: &old, class: o.class, scope: o.scope}
			}
			o.bond = before[o.bond]
			s.amended = append(s.amended, o.handle)
		}
	}
	slices.Sort(s.amended)
	if len(e.bonds) > 2*s.objects.len()+minBonds { // of objects that are gone
		clear(e.bonds)
	}
	e.view, e.at, e.flip = next.view, next.at, next.flip
	if rules := e.view.Rules; rules != nil && !rules.Keeps(old.view.Rules, changes) {
		s.reclass()
	}
	return true
}

// reclass gives the objects of the present era the classes of its table, which was not made from
// the one before by its changes alone: after a restart the same rules are other values.
func (s *Shard) reclass() {
	for o := range s.objects.all() {
		if !o.gone() && o.era == s.era {
			o.bond = s.era.bondOf(s.era.classOf(s.nameOf(o)))
		}
	}
}

// concerned returns the objects that changes of rules concern. found is false if finding them takes
// too long.
func (s *Shard) concerned(changes []rule.Change) (objects []*object, found bool) {
	room := maxNamesCompared
	for i := range changes {
		selection := changes[i].Selection()
		id, one := selection.Object()
		if one {
			room -= len(s.fleets.numbers)
		} else {
			room -= s.objects.len()
		}
		switch {
		case room < 0:
			return nil, false
		case one:
			objects = s.appendNamed(objects, selection, id)
		default:
			objects = s.appendSelected(objects, selection)
		}
	}
	return objects, true
}

// appendNamed appends the objects of a selection that have one id, in any fleet.
func (s *Shard) appendNamed(objects []*object, selection *rule.Selection, id string) []*object {
	for _, fleet := range s.fleets.names {
		if !selection.Match(fleet, id) {
			continue
		}
		if o, known := s.find(fleet, id); known {
			objects = append(objects, o)
		}
	}
	return objects
}

func (s *Shard) appendSelected(objects []*object, selection *rule.Selection) []*object {
	for o := range s.objects.all() {
		if !o.gone() && selection.Match(s.nameOf(o)) {
			objects = append(objects, o)
		}
	}
	return objects
}

// stepAmended brings the next object of a change for some objects to the era.
func (s *Shard) stepAmended(events []Event) (work int, out []Event) {
	o := s.objects.at(s.amended[0])
	s.amended = s.amended[1:]
	work = 1 + int(o.count)
	events = s.renew(o, events)
	return work + int(o.count), events
}
