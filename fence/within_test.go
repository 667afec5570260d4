package fence_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// round returns a circle.
func round(t *testing.T, lon, lat, metres float64) geometry.MultiPolygon {
	t.Helper()
	mp, err := geometry.Circle(geometry.Point{Lon: lon, Lat: lat}, metres)
	if err != nil {
		t.Fatal(err)
	}
	return mp
}

// snapshotOf returns the snapshot of a set to which the fences were added one by one.
func snapshotOf(t *testing.T, kind fence.Kind, fences []fence.Fence) *fence.Snapshot {
	t.Helper()
	set := mustSet(t, fence.Options{Kind: kind})
	for _, f := range fences {
		if _, _, err := set.Put(f); err != nil {
			t.Fatal(err)
		}
	}
	return set.Snapshot()
}

// Within is the distance of the fence itself where that is less than the limit: for areas of many
// edges, for several parts, also for such as overlap, for holes, lines and corridors, and over
// the antimeridian.
func TestWithin(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	const metre = 1 / 111_320.0
	hole := geometry.MultiPolygon{{round(t, 0, 0, 500)[0][0], round(t, 0, 0, 100)[0][0]}}
	middle := geometry.Line{{Lon: -400 * metre}, {Lat: 200 * metre}, {Lon: 300 * metre, Lat: -100 * metre}}
	fences := []fence.Fence{
		{Key: "circle", Geometry: round(t, 0, 0, 300)},
		{Key: "hole", Geometry: hole},
		{Key: "apart", Geometry: append(round(t, -500*metre, 0, 300), round(t, 500*metre, 0, 300)...)},
		{Key: "overlapping", Geometry: append(round(t, -100*metre, 0, 300), round(t, 100*metre, 0, 300)...)},
		{Key: "line", Lines: geometry.MultiLine{middle}},
		{Key: "corridor", Lines: geometry.MultiLine{middle}, Properties: []byte(`{"paddock:buffer":60}`)},
		{Key: "over", Geometry: round(t, 180, 0, 300)},
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for _, kind := range []fence.Kind{fence.KindCellmap, fence.KindBrute} {
		snap := snapshotOf(t, kind, fences)
		for range 4_000 / sampling.Slowdown {
			p := geometry.Point{Lon: (rng.Float64() - 0.5) * 1600 * metre, Lat: (rng.Float64() - 0.5) * 1600 * metre}
			if rng.IntN(8) == 0 {
				p.Lon = math.Copysign(180, p.Lon) - p.Lon
			}
			most := rng.Float64() * 200
			for ref, f := range snap.All() {
				want := min(math.Abs(f.Distance(p)), most)
				if got := snap.Within(ref, p.Lon, p.Lat, most); got != want {
					t.Fatalf("%s %s at %v: %v, want %v", kind, f.Key, p, got, want)
				}
			}
		}
		for ref, f := range snap.All() {
			checkPasses(t, snap, ref, f, rng)
		}
		if got := snap.Within(99, 0, 0, 7); got != 7 {
			t.Errorf("of no fence: %v", got)
		}
		if got := snap.Within(0, math.NaN(), 0, 7); got != 7 {
			t.Errorf("of no point: %v", got)
		}
	}
}

// TestWithinAtTheEndsOfTheMap: the same beside longitude 180 and the poles, for fences that reach
// over them, touch them or end just before, and for places in the midst of the map.
func TestWithinAtTheEndsOfTheMap(t *testing.T) {
	t.Parallel()
	fences := []fence.Fence{
		{Key: "over", Geometry: round(t, 180, 0, 3000)},
		{Key: "overlapping over", Geometry: append(round(t, 179.99, 0, 3000), round(t, -179.99, 0.01, 3000)...)},
		{Key: "overlapping beside", Geometry: append(append(round(t, 180, 0, 3000), round(t, 179.96, 0, 3000)...), round(t, 179.95, 0.01, 3000)...)},
		{Key: "before", Geometry: round(t, 179.97, 0, 3000)},
		{Key: "behind", Geometry: round(t, -179.97, 0, 3000)},
		{Key: "touching", Geometry: geometry.MultiPolygon{append(round(t, 179.97, 0, 2000)[0], box(179.9, -0.1, 180, 0.1))}},
		{Key: "the pole", Geometry: round(t, 10, 89.98, 3000)},
		{Key: "no pole", Geometry: round(t, 10, -89.96, 3000)},
	}
	rng := rand.New(rand.NewPCG(7, 6))
	for _, kind := range []fence.Kind{fence.KindCellmap, fence.KindBrute} {
		snap := snapshotOf(t, kind, fences)
		for range 500 / sampling.Slowdown {
			p := geometry.Point{Lon: geometry.WrapLon(180 + 0.2*(rng.Float64()-0.5)), Lat: 0.1 * (rng.Float64() - 0.5)}
			if rng.IntN(3) == 0 {
				p = geometry.Point{Lon: rng.Float64()*360 - 180, Lat: math.Copysign(90-0.1*rng.Float64(), rng.Float64()-0.5)}
			}
			most := rng.Float64() * 1000
			for ref, f := range snap.All() {
				want := min(math.Abs(f.Distance(p)), most)
				if got := snap.Within(ref, p.Lon, p.Lat, most); got != want {
					t.Fatalf("%s %s at %v: %v, want %v", kind, f.Key, p, got, want)
				}
			}
		}
	}
}

// checkPasses compares Passes with that of the area.
func checkPasses(t *testing.T, snap *fence.Snapshot, ref fence.Ref, f *fence.Fence, rng *rand.Rand) {
	for range 500 {
		a := geometry.Point{Lon: (rng.Float64() - 0.5) * 0.01, Lat: (rng.Float64() - 0.5) * 0.01}
		b := geometry.Point{Lon: a.Lon + (rng.Float64()-0.5)*0.004, Lat: a.Lat + (rng.Float64()-0.5)*0.004}
		first, last, ok := snap.Passes(ref, a, b)
		wantFirst, wantLast, want := f.Geometry.Passes(a, b)
		if first != wantFirst || last != wantLast || ok != want {
			t.Fatalf("%s: from %v to %v: %v, %v, %v, want %v, %v, %v", f.Key, a, b, first, last, ok, wantFirst, wantLast, want)
		}
	}
	if _, _, ok := snap.Passes(99, geometry.Point{Lon: -1}, geometry.Point{Lon: 1}); ok {
		t.Error("a fence that is not there is crossed")
	}
}
