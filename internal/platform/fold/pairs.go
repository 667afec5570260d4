package fold

import (
	"cmp"
	"slices"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// The bounds of one object in one rule.
const (
	// MaxNear is the number of objects that one may be near. Further ones are passed over, and
	// counted by Second.Crowded.
	MaxNear = 64
	// maxLooked is the number of objects that are looked at for one that has moved.
	maxLooked = 1024
	// maxMeetings is the number of pairs that begin in a record, of all rules. Further ones begin
	// when one of the objects moves again.
	maxMeetings = 4096
)

// pair is two objects that are near each other by a rule: the rule selects a, and b is near it.
type pair struct {
	a, b  *seat
	latch Latch
}

// other returns the object of the pair that is not x.
func (p *pair) other(x *seat) *seat {
	if p.a == x {
		return p.b
	}
	return p.a
}

// partners returns the order of the pairs of one object.
func partners(x *seat) func(p *pair, y *seat) int {
	return func(p *pair, y *seat) int { return p.other(x).compare(y) }
}

// meet reports whether two objects of a rule may be near each other, and which one it selects. If
// it selects both, that is the first one by fleet and id.
func meet(x, y *seat) (a, b *seat, ok bool) {
	if x.compare(y) > 0 {
		x, y = y, x
	}
	switch {
	case x == y || x.lost || y.lost:
		return nil, nil, false
	case x.sides&selected != 0 && y.sides&partner != 0:
		return x, y, true
	case y.sides&selected != 0 && x.sides&partner != 0:
		return y, x, true
	}
	return nil, nil, false
}

// distance returns the distance of two objects in metres, the same for both orders.
func distance(m, o *mover) float64 {
	if m.compare(o) > 0 {
		m, o = o, m
	}
	metric := geometry.MetricAt(m.point)
	return metric.To(o.point)
}

// judgePairs compares the objects that have moved in the record, in the order of the partitions
// and of their inputs, with the others. So a pair is judged with each record in which one of the
// two has moved, where they are after it.
func (s *Second) judgePairs(r Round, events []track.Event) []track.Event {
	s.meetings = 0
	for _, m := range s.moved {
		for _, x := range m.seats {
			events = s.part(x, r, events)
		}
		for _, x := range m.seats {
			if !x.lost {
				events = s.join(x, r, events)
			}
		}
	}
	return events
}

// part ends the pairs of an object whose distance is too large, or which the rule no longer
// selects.
func (s *Second) part(x *seat, r Round, events []track.Event) []track.Event {
	for i := 0; i < len(x.pairs); {
		p := x.pairs[i]
		y := p.other(x)
		metres := distance(x.mover, y.mover)
		if _, _, ok := meet(x, y); ok && metres <= x.of.near.Exit() {
			i++
			continue
		}
		events = append(events, p.event(track.NearEnd, metres, why(x, y, true), r))
		s.changes.Ended = append(s.changes.Ended, p.latch)
		p.unlink()
	}
	return events
}

// why returns why and when a pair begins or ends: as the rule took or let go one of them, or as
// they moved.
func why(x, y *seat, ends bool) instant {
	for _, of := range []*seat{x, y} {
		if ends && of.lost || !ends && of.fresh {
			return of.why
		}
	}
	w := x.when // x has moved
	if y.moved && y.when.at > w.at {
		w = y.when
	}
	switch {
	case w.reason != track.RuleAdded:
		w.reason = track.Move
	case ends: // by the rule as it was
		w.reason = track.RuleRemoved
	}
	return w
}

func (p *pair) unlink() {
	is := func(other *pair) bool { return other == p }
	p.a.pairs, p.b.pairs = slices.DeleteFunc(p.a.pairs, is), slices.DeleteFunc(p.b.pairs, is)
}

// link lists a pair for both objects.
func (p *pair) link() {
	for _, x := range []*seat{p.a, p.b} {
		at, _ := slices.BinarySearchFunc(x.pairs, p.other(x), partners(x))
		x.pairs = slices.Insert(x.pairs, at, p)
	}
}

// candidate is an object within the distance of a rule.
type candidate struct {
	*seat
	metres float64
}

// join begins pairs of an object: with the nearest ones first.
func (s *Second) join(x *seat, r Round, events []track.Event) []track.Event {
	if len(x.pairs) >= MaxNear || s.meetings >= maxMeetings {
		s.crowded++
		return events
	}
	if s.look(x); len(s.found) == 0 {
		return events
	}
	slices.SortFunc(s.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.metres, b.metres), a.compare(b.seat))
	})
	for _, y := range s.found {
		if len(x.pairs) >= MaxNear || len(y.pairs) >= MaxNear || s.meetings >= maxMeetings {
			s.crowded++
			continue
		}
		s.meetings++
		p, w := &pair{}, why(x, y.seat, false)
		p.a, p.b, _ = meet(x, y.seat)
		p.latch = Latch{Name: p.name(), Begun: r.Number, Since: w.at}
		p.link()
		s.changes.Begun = append(s.changes.Begun, p.latch)
		events = append(events, p.event(track.NearBegin, y.metres, w, r))
	}
	clear(s.found)
	s.found = s.found[:0]
	return events
}

// look finds the objects that are near one, and not in a pair with it yet.
func (s *Second) look(x *seat) {
	metres := x.of.near.Metres
	metric := geometry.MetricAt(x.point)
	left := maxLooked
	around(x.of, x.point, metres, func(c cell) bool {
		lists := s.grid[c]
		if lists == nil {
			return true
		}
		for side, list := range lists {
			// An object that is on both sides is in both lists, and is found in the second one.
			if side == 1 && x.sides&selected == 0 || side == 0 && x.sides&partner == 0 {
				continue
			}
			for _, y := range list {
				if left--; left < 0 {
					s.crowded++
					return false
				}
				if y == x || side == 0 && x.sides&selected != 0 && y.sides&partner != 0 || metric.To(y.point) > 1.01*metres {
					continue
				}
				if d := distance(x.mover, y.mover); d <= metres && !x.has(y) {
					s.found = append(s.found, candidate{y, d})
				}
			}
		}
		return true
	})
}

// has reports whether two objects are a pair.
func (x *seat) has(y *seat) bool {
	_, known := slices.BinarySearchFunc(x.pairs, y, partners(x))
	return known
}

// name returns the name of the latch, of tokens as in subjects.
func (p *pair) name() string {
	b := append(make([]byte, 0, 96), "near/"...)
	b = subjects.AppendToken(b, p.a.rule.ID)
	for _, m := range []*seat{p.a, p.b} {
		b = subjects.AppendToken(append(b, '/'), m.fleet)
		b = subjects.AppendToken(append(b, '/'), m.id)
	}
	return string(b)
}

// event returns an event of a pair. An end is not before its begin.
func (p *pair) event(kind track.Kind, metres float64, w instant, r Round) track.Event {
	return track.Event{
		Kind: kind, Reason: w.reason, Rule: p.a.rule.ID, Fleet: p.a.fleet, ID: p.a.id, Props: p.a.props, Point: p.a.point,
		At: max(w.at, p.latch.Since), Time: w.time, Since: p.latch.Since, Arrived: r.At,
		Seq: r.Number, Visit: p.latch.Begun, Several: &track.Several{
			Metres: metres, Other: &track.Party{Fleet: p.b.fleet, ID: p.b.id, Props: p.b.props, Point: p.b.point},
		},
	}
}

// restorePair makes the pair of a latch. Without both objects, as after a loss, there is none.
func (s *Second) restorePair(l Latch) {
	var names [5]string
	if !parseLatchName(l.Name, "near", names[:]) {
		return
	}
	a, b := s.movers[object{names[1], names[2]}], s.movers[object{names[3], names[4]}]
	if a == nil || b == nil || a == b {
		return
	}
	if x, y := a.seat(names[0]), b.seat(names[0]); x != nil && y != nil {
		(&pair{x, y, l}).link()
	}
}
