package fence_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

var boundaries = []geometry.Boundary{geometry.BoundaryHalfOpen, geometry.BoundaryClosed, geometry.BoundaryOpen}

func TestBoundary(t *testing.T) {
	t.Parallel()
	areas := map[string]geometry.MultiPolygon{
		"holed":   {{square(0, 0, 9), square(3, 3, 3)}},
		"two":     {{square(0, 0, 2)}, {square(1, 1, 2)}},
		"slanted": {{{{Lon: 0, Lat: 0}, {Lon: 3, Lat: 1}, {Lon: 0, Lat: 1}}}},
		"east":    {{square(170, 0, 10)}},
		"west":    {{square(-180, 0, 10)}},
		"north":   {{square(0, 80, 10)}},
	}
	snapshots := map[string][]*fence.Snapshot{} // of every kind, under every boundary rule
	for name, area := range areas {
		for _, kind := range fence.Kinds() {
			for _, b := range boundaries {
				snapshots[name] = append(snapshots[name], newSetOf(t, fence.Options{Kind: kind, Boundary: b}, area).Snapshot())
			}
		}
	}
	for name, tc := range map[string]struct {
		area                   string
		lon, lat               float64
		halfOpen, closed, open bool
	}{
		"inside":                     {"holed", 1, 1, true, true, true},
		"outside":                    {"holed", 10, 1, false, false, false},
		"west border":                {"holed", 0, 5, true, true, false},
		"east border":                {"holed", 9, 5, false, true, false},
		"north border":               {"holed", 5, 9, false, true, false},
		"southwest corner":           {"holed", 0, 0, true, true, false},
		"northeast corner":           {"holed", 9, 9, false, true, false},
		"an ulp beyond it":           {"holed", ulps(9, 1), 9, false, false, false},
		"an ulp within it":           {"holed", ulps(9, -1), ulps(9, -1), true, true, true},
		"rim of a hole":              {"holed", 3, 4, false, true, false},
		"other rim of a hole":        {"holed", 6, 4, true, true, false},
		"in a hole":                  {"holed", 4, 4, false, false, false},
		"edge of one part in other":  {"two", 1, 1.5, true, true, true},
		"where the parts' rims meet": {"two", 2, 1, true, true, false},
		"level with an edge":         {"holed", 9.5, 9, false, false, false},
		"on a slanted edge":          {"slanted", 1.5, 0.5, false, true, false},
		"beside a slanted edge":      {"slanted", ulps(1.5, 1), 0.5, false, false, false},
		"180 for an east border":     {"east", 180, 5, false, true, false},
		"-180 for an east border":    {"east", -180, 5, false, true, false},
		"180 for a west border":      {"west", 180, 5, true, true, false},
		"the north pole":             {"north", 5, 90, false, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			want := map[geometry.Boundary]bool{geometry.BoundaryHalfOpen: tc.halfOpen, geometry.BoundaryClosed: tc.closed, geometry.BoundaryOpen: tc.open}
			for i, s := range snapshots[tc.area] {
				b := boundaries[i%len(boundaries)]
				if got := len(s.Append(nil, tc.lon, tc.lat)) == 1; got != want[b] {
					t.Errorf("%s, %s: %v", s.Stats().Kind, b, got)
				}
			}
			for _, b := range boundaries {
				if oracleHoldsBy(b, areas[tc.area], geometry.Point{Lon: tc.lon, Lat: tc.lat}) != want[b] {
					t.Errorf("the oracle disagrees with the table about %s", b)
				}
			}
		})
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, c := range []struct {
		o    fence.Options
		want error
	}{
		{fence.Options{Zoom: 24}, fence.ErrZoom},
		{fence.Options{Zoom: -2}, fence.ErrZoom},
		{fence.Options{Zoom: fence.ZoomWorld, Kind: fence.KindS2}, nil},
		{fence.Options{Zoom: fence.MaxZoom, Kind: fence.KindQTree}, nil},
		{fence.Options{Boundary: "shut"}, geometry.ErrBoundary},
		{fence.Options{Antimeridian: "wrap"}, geometry.ErrAntimeridian},
	} {
		if _, err := fence.NewSet("x", c.o); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v", c.o, err)
		}
	}
}

// TestReadersSeeWholeEdits asks snapshots while the set is edited: each answers for exactly
// the fences that it has.
func TestReadersSeeWholeEdits(t *testing.T) {
	t.Parallel()
	cells := tessellation(rand.New(rand.NewPCG(61, 62)), 5)
	for _, kind := range fence.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			s := newSetOf(t, fence.Options{Kind: kind, Parents: []geometry.MultiPolygon{area(box(-75, 39, -73.5, 42))}}, cells...)
			done := make(chan struct{})
			var readers sync.WaitGroup
			for r := range 2 {
				readers.Go(func() { readUntil(t, s, done, rand.New(rand.NewPCG(63, uint64(r)))) })
			}
			rng := rand.New(rand.NewPCG(65, 66))
			for range 60 / sampling.Slowdown {
				putArea(t, s, "0", cells[rng.IntN(len(cells))])
				putArea(t, s, "new", geometry.MultiPolygon{{square(-74, 40, rng.Float64())}})
				s.Delete("new")
			}
			close(done)
			readers.Wait()
		})
	}
}

func readUntil(t *testing.T, s *fence.Set, done chan struct{}, rng *rand.Rand) {
	for {
		select {
		case <-done:
			return
		default:
		}
		snap := s.Snapshot()
		p := geometry.Point{Lon: -74 + rng.Float64(), Lat: 40 + rng.Float64()}
		var want []fence.Ref
		for r, f := range snap.All() {
			if f.Geometry.Contains(p) {
				want = append(want, r)
			}
		}
		if got := snap.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
			t.Errorf("%v: %v, want %v", p, got, want)
			return
		}
	}
}
