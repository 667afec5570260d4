package fence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// drawing makes areas of bytes, so that a fuzzer can change one vertex. Each vertex is two
// bytes on a dyadic grid; some first bytes begin a new ring, part or fence instead.
type drawing struct {
	x0, y0 float64 // where 0, 0 of the grid is
	unit   float64 // degrees, a power of two
}

const (
	drawRing  = 127
	drawPart  = -127
	drawFence = -128
)

func (d drawing) areas(data []byte) []geometry.MultiPolygon {
	areas := []geometry.MultiPolygon{{{{}}}}
	for len(data) >= 2 && len(areas) <= 8 {
		x, y := int8(data[0]), int8(data[1])
		a := &areas[len(areas)-1]
		part := &(*a)[len(*a)-1]
		switch x {
		case drawFence:
			areas, data = append(areas, geometry.MultiPolygon{{{}}}), data[1:]
			continue
		case drawPart:
			*a, data = append(*a, geometry.Polygon{{}}), data[1:]
			continue
		case drawRing:
			*part, data = append(*part, geometry.Ring{}), data[1:]
			continue
		}
		ring := &(*part)[len(*part)-1]
		*ring = append(*ring, d.at(x, y))
		data = data[2:]
	}
	return slices.DeleteFunc(areas, func(mp geometry.MultiPolygon) bool {
		return slices.ContainsFunc(geojson.Validate(mp), func(f geojson.Finding) bool { return f.Fatal })
	})
}

func (d drawing) at(x, y int8) geometry.Point {
	return geometry.Point{Lon: min(max(d.x0+float64(x)*d.unit, -180), 180), Lat: min(max(d.y0+float64(y)*d.unit, -90), 90)}
}

// FuzzKinds: for whatever set, valid or not, all kinds give the same answers, under each
// boundary rule; and these do not depend on how the set is written or where it lies.
func FuzzKinds(f *testing.F) {
	square := []byte{0, 0, 10, 0, 10, 10, 0, 10}
	f.Add(square, int16(0), int16(0), uint8(3), uint8(0))
	f.Add(append(slices.Clone(square), 127, 3, 3, 6, 3, 6, 6, 3, 6), int16(1440), int16(-700), uint8(8), uint8(1))
	f.Add(append(slices.Clone(square), 128, 10, 0, 20, 0, 20, 10, 10, 10, 128, 5, 5, 15, 5, 15, 15), int16(-1440), int16(720), uint8(0), uint8(6))
	f.Add(append(slices.Clone(square), 129, 5, 5, 15, 5, 15, 15, 5, 15, 128, 0, 0, 10, 10, 10, 0, 0, 10), int16(-592), int16(326), uint8(20), uint8(11))
	f.Add([]byte{136, 196, 120, 196, 120, 60, 136, 60, 128, 136, 60, 120, 60, 119, 61}, int16(0), int16(0), uint8(0), uint8(5))
	fan := square // one vertex in more parts than a cellmap's usual record has room for
	for i := range byte(20) {
		fan = append(slices.Clone(fan), 129, 0, 0, 100, 5*i, 100, 5*i+3)
	}
	f.Add(fan, int16(-592), int16(326), uint8(9), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, lon, lat int16, scale, choice uint8) {
		if len(data) > 300 {
			return
		}
		d := drawing{x0: float64(lon%1441) / 8, y0: float64(lat%721) / 8, unit: math.Exp2(1 - float64(scale%24))}
		areas := d.areas(data)
		if len(areas) == 0 {
			return
		}
		rng := rand.New(rand.NewPCG(1, uint64(choice)))
		var points []geometry.Point
		for _, a := range areas {
			points = append(points, some(rng, hardPoints(rng, a), 80/len(areas))...)
		}
		for _, p := range some(rng, slices.Clone(points), 6) {
			points = append(points, onBorders(rng, p)...)
		}
		points = append(points, geometry.Point{Lon: 180, Lat: points[0].Lat}, geometry.Point{Lon: points[0].Lon, Lat: 90})
		b := boundaries[int(choice)%3]
		zoom := []int{fence.ZoomWorld, 3, 9, 14, 19}[int(choice/3)%5]
		want := bruteAnswers(t, b, areas, points)
		agree(t, b, zoom, areas, points, want)
		rewritten, order := rewrite(rng, areas)
		agree(t, b, zoom, rewritten, points, reordered(want, order))
		moved, at := d.shifted(areas, points)
		agree(t, b, zoom, moved, at, bruteAnswers(t, b, areas, points))
		checkChords(t, rng, areas, points)
	})
}

func bruteAnswers(t *testing.T, b geometry.Boundary, areas []geometry.MultiPolygon, points []geometry.Point) (all [][]fence.Ref) {
	s := newSetOf(t, fence.Options{Kind: fence.KindBrute, Boundary: b}, areas...).Snapshot()
	for _, p := range points {
		all = append(all, s.Append(nil, p.Lon, p.Lat))
	}
	return all
}

// agree checks all kinds. The first fences are the parents of the city kinds.
func agree(t *testing.T, b geometry.Boundary, zoom int, areas []geometry.MultiPolygon, points []geometry.Point, want [][]fence.Ref) {
	t.Helper()
	for _, kind := range fence.Kinds() {
		o := fence.Options{Kind: kind, Boundary: b, Zoom: zoom, Parents: areas[:(len(areas)+1)/2]}
		checkAnswers(t, o, newSetOf(t, o, areas...).Snapshot(), points, want)
	}
}

// rewrite turns and reverses rings, and shuffles rings, parts and fences. Fence i of the
// result was order[i].
func rewrite(rng *rand.Rand, areas []geometry.MultiPolygon) (out []geometry.MultiPolygon, order []int) {
	order = rng.Perm(len(areas))
	for _, i := range order {
		var mp geometry.MultiPolygon
		for _, part := range areas[i] {
			var pg geometry.Polygon
			for _, r := range part {
				k := rng.IntN(max(len(r), 1))
				turned := append(slices.Clone(r[k:]), r[:k]...)
				if rng.IntN(2) == 0 {
					slices.Reverse(turned)
				}
				pg = append(pg, turned)
			}
			rng.Shuffle(len(pg), func(a, b int) { pg[a], pg[b] = pg[b], pg[a] })
			mp = append(mp, pg)
		}
		rng.Shuffle(len(mp), func(a, b int) { mp[a], mp[b] = mp[b], mp[a] })
		out = append(out, mp)
	}
	return out, order
}

func reordered(answers [][]fence.Ref, order []int) (out [][]fence.Ref) {
	for _, refs := range answers {
		var moved []fence.Ref
		for i, was := range order {
			if slices.Contains(refs, fence.Ref(was)) {
				moved = append(moved, fence.Ref(i))
			}
		}
		out = append(out, moved)
	}
	return out
}

// shifted moves everything by a power of two, if that rounds nothing, leaves the world's edge
// alone and takes nothing over it; else it moves nothing.
func (d drawing) shifted(areas []geometry.MultiPolygon, points []geometry.Point) ([]geometry.MultiPolygon, []geometry.Point) {
	exact := true
	move := func(p geometry.Point) geometry.Point {
		q := geometry.Point{Lon: p.Lon + 16*d.unit, Lat: p.Lat - 4*d.unit}
		exact = exact && q.Lon-16*d.unit == p.Lon && q.Lat+4*d.unit == p.Lat &&
			math.Abs(p.Lon) < 180 && math.Abs(q.Lon) < 180 && math.Abs(q.Lat) <= 90
		return q
	}
	var out []geometry.MultiPolygon
	for _, a := range areas {
		var mp geometry.MultiPolygon
		for _, part := range a {
			var pg geometry.Polygon
			for _, r := range part {
				var moved geometry.Ring
				for _, p := range r {
					moved = append(moved, move(p))
				}
				pg = append(pg, moved)
			}
			mp = append(mp, pg)
		}
		out = append(out, mp)
	}
	if !exact {
		return areas, points
	}
	var at []geometry.Point
	for _, p := range points {
		exact = true
		if q := move(p); exact {
			at = append(at, q)
			continue
		}
		return areas, points
	}
	return out, at
}

// checkChords cuts rings in two between two of their vertices: a point is in the ring if it is
// in one of the pieces and not in the other, and never in both if the ring is simple.
func checkChords(t *testing.T, rng *rand.Rand, areas []geometry.MultiPolygon, points []geometry.Point) {
	t.Helper()
	for _, a := range areas {
		r := a[0][0]
		if len(r) < 4 {
			continue
		}
		i := rng.IntN(len(r) - 2)
		j := i + 2 + rng.IntN(len(r)-i-2)
		one := geometry.MultiPolygon{{slices.Clone(r[i : j+1])}}
		two := geometry.MultiPolygon{{append(slices.Clone(r[j:]), r[:i+1]...)}}
		whole := geometry.MultiPolygon{{r}}
		for _, p := range points {
			if whole.Contains(p) != (one.Contains(p) != two.Contains(p)) {
				t.Fatalf("%v: %v cut from %d to %d", p, r, i, j)
			}
		}
	}
}
