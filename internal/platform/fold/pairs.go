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
	a, b  *mover
	latch Latch
}

// other returns the object of the pair that is not m.
func (p *pair) other(m *mover) *mover {
	if p.a == m {
		return p.b
	}
	return p.a
}

// partners returns the order of the pairs of one object.
func partners(m *mover) func(p *pair, o *mover) int {
	return func(p *pair, o *mover) int { return p.other(m).compare(o) }
}

// meet reports whether two objects of a rule may be near each other, and which one it selects. If
// it selects both, that is the first one by fleet and id.
func meet(m *mover, x *seat, o *mover, y *seat) (a, b *mover, ok bool) {
	if m.compare(o) > 0 {
		m, x, o, y = o, y, m, x
	}
	switch {
	case m == o || x.lost || y.lost:
		return nil, nil, false
	case x.sides&selected != 0 && y.sides&partner != 0:
		return m, o, true
	case y.sides&selected != 0 && x.sides&partner != 0:
		return o, m, true
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
			events = s.part(m, x, r, events)
		}
		for _, x := range m.seats {
			if !x.lost {
				events = s.join(m, x, r, events)
			}
		}
	}
	return events
}

// part ends the pairs of an object whose distance is too large, or which the rule no longer
// selects.
func (s *Second) part(m *mover, x *seat, r Round, events []track.Event) []track.Event {
	for i := 0; i < len(x.pairs); {
		p := x.pairs[i]
		o := p.other(m)
		y := o.seat(x.id)
		metres := distance(m, o)
		if _, _, ok := meet(m, x, o, y); ok && metres <= x.of.near.Exit() {
			i++
			continue
		}
		events = append(events, p.event(track.NearEnd, x.id, metres, p.why(x, y, true), r))
		s.changes.Ended = append(s.changes.Ended, p.latch)
		p.unlink(x, y)
	}
	return events
}

// why returns why and when a pair begins or ends: as the rule took or let go one of them, or as
// they moved.
func (p *pair) why(x, y *seat, ends bool) instant {
	for _, of := range []*seat{x, y} {
		if ends && of.lost || !ends && of.fresh {
			return of.why
		}
	}
	w := p.a.when
	if !p.a.moved || p.b.moved && p.b.when.at > w.at {
		w = p.b.when
	}
	switch {
	case w.reason != track.RuleAdded:
		w.reason = track.Move
	case ends: // by the rule as it was
		w.reason = track.RuleRemoved
	}
	return w
}

func (p *pair) unlink(x, y *seat) {
	is := func(other *pair) bool { return other == p }
	x.pairs = slices.DeleteFunc(x.pairs, is)
	y.pairs = slices.DeleteFunc(y.pairs, is)
}

// link lists a pair for both objects.
func (p *pair) link(id string) {
	for _, m := range []*mover{p.a, p.b} {
		x := m.seat(id)
		at, _ := slices.BinarySearchFunc(x.pairs, p.other(m), partners(m))
		x.pairs = slices.Insert(x.pairs, at, p)
	}
}

// candidate is an object within the distance of a rule.
type candidate struct {
	*mover
	seat   *seat
	metres float64
}

// join begins pairs of an object: with the nearest ones first.
func (s *Second) join(m *mover, x *seat, r Round, events []track.Event) []track.Event {
	if len(x.pairs) >= MaxNear || s.meetings >= maxMeetings {
		s.crowded++
		return events
	}
	s.look(m, x)
	slices.SortFunc(s.found, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.metres, b.metres), a.mover.compare(b.mover))
	})
	for i := range s.found {
		c := &s.found[i]
		if len(x.pairs) >= MaxNear || len(c.seat.pairs) >= MaxNear || s.meetings >= maxMeetings {
			s.crowded++
			continue
		}
		s.meetings++
		p := &pair{}
		p.a, p.b, _ = meet(m, x, c.mover, c.seat)
		w := p.why(x, c.seat, false)
		p.latch = Latch{Name: p.name(x.id), Begun: r.Number, Since: w.at}
		p.link(x.id)
		s.changes.Begun = append(s.changes.Begun, p.latch)
		events = append(events, p.event(track.NearBegin, x.id, c.metres, w, r))
	}
	clear(s.found)
	s.found = s.found[:0]
	return events
}

// look finds the objects that are near one, and not in a pair with it yet.
func (s *Second) look(m *mover, x *seat) {
	metres := x.of.near.Metres
	metric := geometry.MetricAt(m.point)
	left := maxLooked
	around(x.of, m.point, metres, func(c cell) bool {
		lists := s.grid[c]
		if lists == nil {
			return true
		}
		for side, list := range lists {
			// An object that is on both sides is in both lists, and is found in the second one.
			if side == 1 && x.sides&selected == 0 || side == 0 && x.sides&partner == 0 {
				continue
			}
			for _, o := range list {
				if left--; left < 0 {
					s.crowded++
					return false
				}
				if side == 0 && x.sides&selected != 0 && o.seat(x.id).sides&partner != 0 || metric.To(o.point) > 1.01*metres {
					continue
				}
				if d := distance(m, o); o != m && d <= metres && !x.has(m, o) {
					s.found = append(s.found, candidate{o, o.seat(x.id), d})
				}
			}
		}
		return true
	})
}

// has reports whether two objects are a pair.
func (x *seat) has(m, o *mover) bool {
	_, known := slices.BinarySearchFunc(x.pairs, o, partners(m))
	return known
}

// name returns the name of the latch, of tokens as in subjects.
func (p *pair) name(id string) string {
	b := append(make([]byte, 0, 96), "near/"...)
	b = subjects.AppendToken(b, id)
	for _, m := range []*mover{p.a, p.b} {
		b = subjects.AppendToken(append(b, '/'), m.fleet)
		b = subjects.AppendToken(append(b, '/'), m.id)
	}
	return string(b)
}

// event returns an event of a pair. An end is not before its begin.
func (p *pair) event(kind track.Kind, id string, metres float64, w instant, r Round) track.Event {
	return track.Event{
		Kind: kind, Reason: w.reason, Rule: id, Fleet: p.a.fleet, ID: p.a.id, Props: p.a.props, Point: p.a.point,
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
	if a == nil || b == nil || a == b || a.seat(names[0]) == nil || b.seat(names[0]) == nil {
		return
	}
	(&pair{a, b, l}).link(names[0])
}
