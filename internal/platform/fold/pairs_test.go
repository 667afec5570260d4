package fold

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/sampling"
)

// places are the middles of the crowds of TestPairs: both signs, the antimeridian, and near a pole.
var places = []geometry.Point{{Lon: 0, Lat: 0}, {Lon: -73.9, Lat: 40.7}, {Lon: 180, Lat: -70}, {Lon: 12, Lat: 89.999}, {Lon: -180, Lat: 0.0001}}

// watched is what an independent look at all pairs has found: the pairs that are near, in any
// order.
type watched struct {
	points map[string]geometry.Point
	near   map[string]bool
}

// pairOf names a pair of objects of a rule.
func pairOf(r, a, b string) string { return fmt.Sprint(r, " ", min(a, b), " ", max(a, b)) }

// look judges the pairs of the objects that moved in a record, and returns what has changed.
func (w *watched) look(rules []*rule.Rule, moved map[string]bool) (changed []string) {
	for _, r := range rules {
		for a, p := range w.points {
			for b, q := range w.points {
				if a >= b || !moved[a] && !moved[b] {
					continue
				}
				isPair := r.Selects("f", a) && r.Near.Selects("f", b) || r.Selects("f", b) && r.Near.Selects("f", a)
				m, key := geometry.MetricAt(p), pairOf(r.ID, a, b)
				switch metres := m.To(q); {
				case isPair && !w.near[key] && metres <= r.Near.Metres:
					w.near[key] = true
					changed = append(changed, "near_begin "+key)
				case w.near[key] && (!isPair || metres > r.Near.Exit()):
					delete(w.near, key)
					changed = append(changed, "near_end "+key)
				}
			}
		}
	}
	slices.Sort(changed)
	return changed
}

// drop ends the pairs of an object.
func (w *watched) drop(id string) (changed []string) {
	delete(w.points, id)
	for key := range w.near {
		if slices.Contains(strings.Fields(key), id) {
			delete(w.near, key)
			changed = append(changed, "near_end "+key)
		}
	}
	return changed
}

// TestPairs compares the pairs of random objects with a look at all of them, record by record. Now
// and then other partitions and another second fold go on, from what is kept of the present ones.
func TestPairs(t *testing.T) {
	sampling.Sequential(t)
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		h := newHistory(t)
		h.policy.TTL = 0
		h.end(true, nil)
		w := &watched{map[string]geometry.Point{}, map[string]bool{}}
		rules := map[string]*rule.Rule{}
		for range 300 {
			moved := map[string]bool{}
			var ended []string
			changed := false
			switch what := r.IntN(20); {
			case what == 0:
				id := fmt.Sprint("r", r.IntN(3))
				rules[id] = &rule.Rule{ID: id, Objects: []string{"*", "a*"}[r.IntN(2)], Near: &rule.Near{
					Objects: []string{"*", "b*", "a1*"}[r.IntN(3)], Metres: 50 + 3000*r.Float64(), ExitMetres: 3050 + 100*r.Float64(),
				}}
				var err error
				h.rules, err = h.rules.Put(rules[id])
				h.check(err)
				for id := range w.points {
					moved[id] = true
				}
				changed = true
			case what == 1:
				id := fmt.Sprint([]string{"a", "b"}[r.IntN(2)], r.IntN(20))
				h.of(id).Remove("f", id, h.now, nil)
				ended = w.drop(id)
			case what == 2:
				h.again()
			default:
				for range 1 + r.IntN(6) {
					h.now += 1000
					id, at := fmt.Sprint([]string{"a", "b"}[r.IntN(2)], r.IntN(20)), places[r.IntN(len(places))]
					p := &track.Position{Fleet: "f", ID: id, Time: h.now, Arrived: h.now}
					p.Lat = min(at.Lat+0.03*r.Float64(), 90)
					p.Lon = at.Lon + (0.06*r.Float64()-0.03)/max(geometry.LonDegree(p.Lat)/111_320, 0.0002)
					if p.Lon > 180 {
						p.Lon -= 360
					} else if p.Lon < -180 {
						p.Lon += 360
					}
					h.of(id).Shard.Apply(p, nil)
					w.points[id], moved[id] = geometry.Point{Lon: p.Lon, Lat: p.Lat}, true
				}
			}
			var got []string
			for _, e := range h.end(changed, nil) {
				got = append(got, fmt.Sprint(e.Kind, " ", pairOf(e.Rule, e.ID, e.Several.Other.ID)))
			}
			slices.Sort(got)
			list := slices.SortedFunc(maps.Values(rules), func(a, b *rule.Rule) int { return strings.Compare(a.ID, b.ID) })
			want := append(ended, w.look(list, moved)...)
			slices.Sort(want)
			if !slices.Equal(got, want) {
				t.Fatalf("seed %d, record %d: %q, want %q", seed, h.number, got, want)
			}
		}
		if len(h.latches) != len(w.near) {
			t.Errorf("%d latches, want %d", len(h.latches), len(w.near))
		}
	}
}

// again goes on with partitions and a second fold of what is kept.
func (h *history) again() {
	s := NewSecond()
	for i, p := range h.parts {
		state, err := p.Export(nil)
		h.check(err)
		next := NewPartition(track.Options{})
		h.check(next.Import(state, h.view()))
		h.parts[i] = next
		s.Take(next)
	}
	s.Skip(Round{h.number, h.now, h.view()})
	s.Restore(slices.SortedFunc(maps.Values(h.latches), func(a, b Latch) int { return strings.Compare(a.Name, b.Name) }))
	h.second = s
}

// An object that comes is near the 64 nearest others at most, and the rest is counted.
func TestCrowd(t *testing.T) {
	h := newHistory(t)
	h.end(true, nil)
	h.record(`rule {"id":"near","objects":"a","near":{"objects":"b*","metres":5000}}`)
	line := ""
	for n := range 80 {
		line += fmt.Sprintf(" b%d %v", n, 0.0001*float64(n+1))
	}
	h.record(line)
	h.record("a 0")
	if len(h.latches) != MaxNear || h.second.Crowded() == 0 {
		t.Errorf("%d pairs, %d times too many", len(h.latches), h.second.Crowded())
	}
	h.record("a 0")
	for n := range MaxNear {
		if name := fmt.Sprintf("near/near/f/a/f/b%d", n); h.latches[name].Begun == 0 {
			t.Errorf("%s is missing", name)
		}
	}
}

// No more than 4,096 pairs begin in one record. The others begin when their objects move again.
func TestMeetingsOfARecord(t *testing.T) {
	h := newHistory(t)
	h.end(true, nil)
	h.record(`rule {"id":"near","near":{"metres":5000}}`)
	line := ""
	for n := range 200 {
		line += fmt.Sprintf(" b%d 0", n)
	}
	h.record(line)
	if len(h.latches) != maxMeetings {
		t.Errorf("%d pairs", len(h.latches))
	}
	h.record(line)
	if len(h.latches) <= maxMeetings || h.second.Crowded() == 0 {
		t.Errorf("%d pairs", len(h.latches))
	}
}
