package fold

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// mover is an object that a rule about objects near each other selects.
type mover struct {
	object
	point geometry.Point
	props json.RawMessage
	near  []*rule.Rule // the list of its last sighting
	seats []*seat      // by rule
	moved bool         // in the present record, at the time ...
	when  instant
}

// instant is why and when something changes.
type instant struct {
	reason   track.Reason
	at, time track.Millis
}

// seat is the part of an object in a rule.
type seat struct {
	*mover
	rule  *rule.Rule // as of the object's last sighting
	of    *second
	sides uint8
	cell  cell
	pairs []*pair // by the other object
	// fresh says that the rule took the object in the present record, and lost that it let it go,
	// both for the reason why.
	fresh, lost bool
	why         instant
}

// seat returns the part of the object in a rule, nil if it has none.
func (m *mover) seat(id string) *seat {
	at, ok := slices.BinarySearchFunc(m.seats, id, (*seat).compareRule)
	if !ok {
		return nil
	}
	return m.seats[at]
}

// compareRule orders the seats of an object.
func (x *seat) compareRule(id string) int { return cmp.Compare(x.rule.ID, id) }

// see takes a sighting of an object.
func (s *Second) see(t *track.Sighting) {
	key := object{t.Fleet, t.ID}
	m := s.movers[key]
	if m == nil {
		if !selects(t) {
			return
		}
		m = &mover{object: object{strings.Clone(t.Fleet), strings.Clone(t.ID)}}
		s.movers[m.object] = m
	}
	m.point, m.props, m.when = t.Point, t.Props, instant{t.Reason, t.At, t.Time}
	if !m.moved {
		m.moved = true
		s.moved = append(s.moved, m)
	}
	if len(m.near) != len(t.Near) || len(t.Near) == 0 || &m.near[0] != &t.Near[0] {
		s.reseat(m, t)
	}
	for _, x := range m.seats {
		if c := cellOf(x.of, x.cell.level, m.point); !x.lost && c != x.cell {
			s.grid.take(x)
			x.cell = c
			s.grid.put(x)
		}
	}
}

// selects reports whether a rule selects the object of a sighting.
func selects(t *track.Sighting) bool {
	return slices.ContainsFunc(t.Near, func(r *rule.Rule) bool { return sidesOf(r, t) != 0 })
}

// sidesOf returns the sides on which a rule selects an object.
func sidesOf(r *rule.Rule, t *track.Sighting) (sides uint8) {
	if r.Selects(t.Fleet, t.ID) {
		sides |= selected
	}
	if r.Near.Selects(t.Fleet, t.ID) {
		sides |= partner
	}
	return sides
}

// reseat compares the seats of a mover with the rules of its sighting.
func (s *Second) reseat(m *mover, t *track.Sighting) {
	m.near = t.Near
	for _, x := range m.seats {
		if !x.lost {
			s.grid.take(x)
		}
		x.sides = 0
	}
	for _, r := range t.Near {
		sides := sidesOf(r, t)
		if sides == 0 {
			continue
		}
		x := m.seat(r.ID)
		if x == nil {
			x = &seat{mover: m, rule: r, of: s.nearRule(r), fresh: true, why: instant{t.Opening(r), t.At, t.Time}}
			x.of.uses++
			at, _ := slices.BinarySearchFunc(m.seats, r.ID, (*seat).compareRule)
			m.seats = slices.Insert(m.seats, at, x)
		}
		x.sides, x.lost, x.rule = sides, false, r
		x.cell = cellOf(x.of, levelOf(r.Near.Metres), m.point)
		s.grid.put(x)
	}
	for _, x := range m.seats {
		if x.sides == 0 && !x.lost {
			x.lost, x.why = true, instant{t.Closing(x.rule), t.At, t.Time}
		}
	}
}

// nearRule returns a rule.
func (s *Second) nearRule(r *rule.Rule) *second {
	x := s.rule(r.ID)
	if x.near == nil {
		x.near = r.Near
		x.follow(s.table, r.ID)
	}
	return x
}

// settleMover ends the record for a mover.
func (s *Second) settleMover(m *mover) {
	m.moved = false
	m.seats = slices.DeleteFunc(m.seats, func(x *seat) bool {
		x.fresh = false
		if x.lost {
			s.drop(x.rule.ID, x.of)
		}
		return x.lost
	})
	if len(m.seats) == 0 {
		delete(s.movers, m.object)
	}
}
