package fence_test

import (
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/golang/geo/s2"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// scene is a set that some kind may find hard, with parents for the kinds that take them.
type scene struct {
	areas   []geometry.MultiPolygon
	parents []geometry.MultiPolygon
	points  []geometry.Point // besides the points that its own edges suggest
}

// variants are the options that a kind is tried with: each that changes what it does.
func variants(kind fence.Kind, parents []geometry.MultiPolygon) []fence.Options {
	var os []fence.Options
	switch kind {
	case fence.KindQTree, fence.KindQRTree, fence.KindS2:
		for _, z := range []int{fence.ZoomWorld, 5, 0, fence.MaxZoom} {
			os = append(os, fence.Options{Kind: kind, Zoom: z})
		}
	case fence.KindCity, fence.KindCityBBox:
		os = append(os, fence.Options{Kind: kind}, fence.Options{Kind: kind, Parents: parents})
	default:
		os = append(os, fence.Options{Kind: kind})
	}
	return os
}

// TestScenes: every kind, with every option, under every boundary rule, is right about scenes
// made to be hard. The oracle decides.
func TestScenes(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	for run, name := range slices.Sorted(maps.Keys(scenes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(41, 42))
			sc := scenes[name](rng)
			points := sc.probe(rng, 150)
			for _, b := range []geometry.Boundary{geometry.BoundaryHalfOpen, geometry.BoundaryClosed, geometry.BoundaryOpen} {
				want := sc.answers(b, points)
				for _, kind := range fence.Kinds() {
					for _, o := range variants(kind, sc.parents) {
						if run++; run%sampling.Slowdown != 0 {
							continue
						}
						o.Boundary = b
						checkAnswers(t, o, newSetOf(t, o, sc.areas...).Snapshot(), points, want)
					}
				}
			}
		})
	}
}

func checkAnswers(t *testing.T, o fence.Options, s *fence.Snapshot, points []geometry.Point, want [][]fence.Ref) {
	t.Helper()
	for i, p := range points {
		if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want[i]) {
			t.Fatalf("%s, zoom %d, %d parents, %s: %v is in %v, want %v",
				o.Kind, o.Zoom, len(o.Parents), o.Boundary, p, got, want[i])
		}
	}
}

func newSetOf(t testing.TB, o fence.Options, areas ...geometry.MultiPolygon) *fence.Set {
	t.Helper()
	s, err := fence.NewSet("test", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Settle)
	c := &geojson.Collection{}
	for _, a := range areas {
		c.Fences = append(c.Fences, fence.Fence{Geometry: a})
	}
	if _, err := s.Replace(c); err != nil {
		t.Fatal(err)
	}
	return s
}

// probe gives points on and beside the edges, on and beside borders of tiles and cells, and
// the scene's own.
func (sc *scene) probe(rng *rand.Rand, n int) []geometry.Point {
	var at []geometry.Point
	for _, a := range append(slices.Clone(sc.areas), sc.parents...) {
		at = append(at, some(rng, hardPoints(rng, a), max(4, 2*n/len(sc.areas)))...)
	}
	at = some(rng, at, n)
	for _, p := range slices.Clone(at[:n/4]) {
		at = append(at, onBorders(rng, p)...)
	}
	at = append(at, sc.points...)
	for _, p := range sc.points {
		at = append(at, geometry.Point{Lon: ulps(p.Lon, rng.IntN(3)-1), Lat: ulps(p.Lat, rng.IntN(3)-1)})
	}
	return at
}

// onBorders gives points near p on a border of tiles, or at a corner or the centre of an S2
// cell, and an ulp beside it.
func onBorders(rng *rand.Rand, p geometry.Point) []geometry.Point {
	z := rng.IntN(fence.MaxZoom + 1)
	n := math.Exp2(float64(z))
	q := geometry.Point{
		Lon: math.Round((p.Lon+180)/360*n)/n*360 - 180,
		Lat: math.Round((p.Lat+90)/180*n)/n*180 - 90,
	}
	id := s2.CellIDFromLatLng(s2.LatLngFromDegrees(min(max(p.Lat, -90), 90), p.Lon)).Parent(z)
	corner := s2.LatLngFromPoint(s2.CellFromCellID(id).Vertex(rng.IntN(4)))
	centre := id.LatLng()
	at := []geometry.Point{
		{Lon: q.Lon, Lat: p.Lat},
		{Lon: p.Lon, Lat: q.Lat},
		q,
		{Lon: corner.Lng.Degrees(), Lat: corner.Lat.Degrees()},
		{Lon: centre.Lng.Degrees(), Lat: centre.Lat.Degrees()},
	}
	for _, p := range at {
		at = append(at, geometry.Point{Lon: ulps(p.Lon, rng.IntN(3)-1), Lat: ulps(p.Lat, rng.IntN(3)-1)})
	}
	return at
}

// answers asks the oracle.
func (sc *scene) answers(b geometry.Boundary, points []geometry.Point) [][]fence.Ref {
	boxes := make([]geometry.Box, len(sc.areas))
	for i, a := range sc.areas {
		boxes[i] = a.Bounds()
	}
	var all [][]fence.Ref
	for _, p := range points {
		var refs []fence.Ref
		for i, a := range sc.areas {
			near := boxes[i].Contains(p) || math.Abs(p.Lon) == 180 // exact: nothing beyond counts
			if near && oracleHoldsBy(b, a, p) {
				refs = append(refs, fence.Ref(i))
			}
		}
		all = append(all, refs)
	}
	return all
}

func box(w, s, e, n float64) geometry.Ring {
	return geometry.Ring{{Lon: w, Lat: s}, {Lon: e, Lat: s}, {Lon: e, Lat: n}, {Lon: w, Lat: n}}
}

func area(rings ...geometry.Ring) geometry.MultiPolygon { return geometry.MultiPolygon{rings} }

var scenes = map[string]func(*rand.Rand) scene{
	"random": func(rng *rand.Rand) (sc scene) {
		for range 40 {
			sc.areas = append(sc.areas, randomArea(rng))
		}
		for range 6 {
			sc.parents = append(sc.parents, randomArea(rng))
		}
		return sc
	},
	"tessellation": func(rng *rand.Rand) scene {
		return scene{
			areas: tessellation(rng, 6),
			parents: []geometry.MultiPolygon{
				area(box(-74.1, 39.9, -73.5, 41.1)), // over half of it, and over the next one
				area(box(-73.6, 39.9, -72.9, 41.1)),
				area(box(-73.7, 40.3, -73.3, 40.7)), // within both
				area(box(-74, 40, -73, 41)),         // the outline itself
				area(box(0, 0, 1, 1)),               // without any point inside
			},
		}
	},
	"parents": parentsScene,
	"poles": func(*rand.Rand) scene {
		return scene{
			areas: []geometry.MultiPolygon{
				area(box(-180, 80, 180, 90)), area(box(-180, -90, 180, -80)), area(box(10, 89.9999999, 40, 90)),
				area(geometry.Ring{{Lon: -180, Lat: 89}, {Lon: 0, Lat: 89.99999}, {Lon: 180, Lat: 89}}),
				area(box(-90, -90, 90, -89.99999999)), area(box(-180, -90, 180, 90), box(-170, -85, 170, 85)),
			},
			parents: []geometry.MultiPolygon{area(box(-180, 70, 180, 90)), area(box(-180, -90, 180, -70))},
			points: []geometry.Point{
				{Lon: 0, Lat: 90},
				{Lon: 20, Lat: 90},
				{Lon: -180, Lat: 90},
				{Lon: 180, Lat: 90},
				{Lon: 0, Lat: -90},
				{Lon: 77, Lat: -90},
				{Lon: 20, Lat: ulps(90, -1)},
				{Lon: 20, Lat: ulps(90, -9)},
				{Lon: -135, Lat: ulps(-90, 1)},
				{Lon: 45, Lat: 89.9999999},
				{Lon: 45, Lat: 89.999999},
				{Lon: 180, Lat: -85},
				{Lon: 20, Lat: 90.5},
				{Lon: 45, Lat: 35.264389682754654},
			},
		}
	},
	"antimeridian": func(*rand.Rand) scene {
		return scene{
			areas: []geometry.MultiPolygon{
				{{box(170, -10, 180, 10)}, {box(-180, -10, -170, 10)}},
				area(box(-180, -90, 180, 90)),
				area(box(179.9999999, 0, 180, 1)), area(box(-180, 0, -179.9999999, 1)), area(box(-180, 20, 180, 30)),
				area(geometry.Ring{{Lon: 180, Lat: 40}, {Lon: 170, Lat: 45}, {Lon: 180, Lat: 50}}), area(box(179, 0, ulps(180, -1), 2)),
			},
			parents: []geometry.MultiPolygon{area(box(160, -20, 180, 20)), area(box(-180, -20, -160, 20)), area(box(-180, -90, 180, 90))},
			points: []geometry.Point{
				{Lon: 180, Lat: 0},
				{Lon: -180, Lat: 0},
				{Lon: 180, Lat: 10},
				{Lon: -180, Lat: 0.5},
				{Lon: 180, Lat: 0.5},
				{Lon: ulps(180, -1), Lat: 0.5},
				{Lon: ulps(-180, 1), Lat: 0.5},
				{Lon: 180, Lat: 45},
				{Lon: -180, Lat: 40},
				{Lon: 180, Lat: 90},
				{Lon: ulps(180, 1), Lat: 1},
				{Lon: -200, Lat: 1},
			},
		}
	},
	"huge and thin": func(*rand.Rand) scene {
		return scene{
			areas: []geometry.MultiPolygon{
				area(box(-180, -90, 180, 90), box(-1, -1, 1, 1)), area(box(-1, -1, 1, 1)),
				area(geometry.Ring{{Lon: -179, Lat: -89}, {Lon: 179, Lat: 89}, {Lon: 179, Lat: ulps(89, 3)}}),
				area(geometry.Ring{{Lon: -100, Lat: 0.1}, {Lon: 100, Lat: 0.1}, {Lon: 100, Lat: ulps(0.1, 1)}, {Lon: -100, Lat: ulps(0.1, 1)}}),
				area(box(5, 5, ulps(5, 1), ulps(5, 1))), area(box(-180, -90, 180, 90)),
			},
			parents: []geometry.MultiPolygon{area(box(-180, -90, 180, 90)), area(box(0, 0, 90, 90))},
			points:  []geometry.Point{{Lon: 0, Lat: 0}, {Lon: 5, Lat: 5}, {Lon: 90, Lat: 0.1}, {Lon: -1, Lat: -1}, {Lon: 1, Lat: 1}},
		}
	},
	"on borders of tiles": func(rng *rand.Rand) (sc scene) {
		for range 30 {
			z := rng.IntN(21)
			w, h := 360/math.Exp2(float64(z)), 180/math.Exp2(float64(z))
			x, y := float64(rng.IntN(1<<z)), float64(rng.IntN(1<<z))
			b := box(x*w-180, y*h-90, (x+1)*w-180, (y+1)*h-90)
			sc.areas = append(sc.areas, area(b))
			sc.points = append(sc.points, b...)
		}
		sc.parents = []geometry.MultiPolygon{area(box(-180, 0, 0, 90)), area(box(0, -90, 180, 0)), area(box(-90, -45, 90, 45))}
		return sc
	},
	"stacked": func(rng *rand.Rand) (sc scene) {
		for i := range 90 {
			d := float64(i%50) / 1e5
			sc.areas = append(sc.areas, geometry.MultiPolygon{{box(-d, -d, 1+d, 1+d)}, {box(0.5, -d, 2, 1)}})
		}
		sc.parents = []geometry.MultiPolygon{area(box(-1, -1, 3, 3)), area(box(-0.0001, -0.0001, 2.5, 1.0001))}
		return sc
	},
}

// parentsScene has members in every relation to a parent.
func parentsScene(*rand.Rand) scene {
	lake := box(4, 4, 6, 6)
	return scene{
		parents: []geometry.MultiPolygon{
			area(box(0, 0, 10, 10), lake),
			area(box(3, 3, 12, 12)),                      // overlaps the first and covers its lake
			{{box(20, 0, 30, 10)}, {box(25, 5, 35, 15)}}, // its parts overlap
			area(geometry.Ring{{Lon: 40, Lat: 0}, {Lon: 50, Lat: 10}, {Lon: 50, Lat: 0}, {Lon: 40, Lat: 10}}), // crosses itself
			area(),
		},
		areas: []geometry.MultiPolygon{
			area(box(1, 1, 2, 2)),                      // within
			area(box(0, 0, 10, 10), lake),              // equal to its parent
			area(box(0, 0, 10, 10)),                    // equal but for the lake
			area(lake),                                 // fills the lake
			area(box(4.5, 4.5, 5.5, 5.5)),              // in the lake
			area(box(3.5, 3.5, 6.5, 6.5)),              // around the lake
			area(box(3.5, 3.5, 6.5, 6.5), lake),        // around it, with the same hole
			area(box(3, 3, 7, 7), box(3.9, 3.9, 6, 6)), // around it, with a larger hole
			area(box(0, 1, 1, 2)),                      // touches from within
			area(box(-1, 1, 0, 2)),                     // touches from without
			area(box(-1, -1, 11, 11)),                  // around everything
			{{box(1, 8, 2, 9)}, {box(15, 15, 16, 16)}}, // in two parts, one within
			{{box(26, 6, 29, 9)}, {box(22, 2, 24, 4)}}, // where the parent's parts overlap
			area(box(24, 4, 31, 11)),                   // across both of the parent's parts
			area(box(42, 1, 43, 1.5)),                  // where the parent's rings cross
			area(box(41, 4, 42, 6)),
			area(box(44, 4.9, 46, 5.1)),
			area(box(1, 1, 3, 3), box(0.5, 0.5, 1.5, 1.5)), // a hole outside its shell
			area(geometry.Ring{{Lon: 7, Lat: 7}, {Lon: 9, Lat: 9}, {Lon: 9, Lat: 7}, {Lon: 7, Lat: 9}}),                        // crosses itself
			area(geometry.Ring{{Lon: 9, Lat: 1}, {Lon: 9.5, Lat: 1}, {Lon: 11, Lat: 1}, {Lon: 9.5, Lat: 1}, {Lon: 9, Lat: 2}}), // a spike out of the parent
		},
	}
}

// TestScenesEdited makes each scene by edits in a random order, among others that are taken
// back, and compares with the set loaded at once.
func TestScenesEdited(t *testing.T) {
	t.Parallel()
	for run, name := range slices.Sorted(maps.Keys(scenes)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(43, 44))
			sc := scenes[name](rng)
			points := sc.probe(rng, 40)
			want := sc.answers(geometry.BoundaryHalfOpen, points)
			for _, kind := range fence.Kinds() {
				for _, o := range variants(kind, sc.parents) {
					if run++; run%sampling.Slowdown != 0 {
						continue
					}
					s := newSetOf(t, o, sc.areas...)
					before := s.Snapshot()
					bytes := before.Stats().Bytes
					for _, i := range some(rng, rng.Perm(len(sc.areas)), 2+10/sampling.Slowdown) {
						key := fmt.Sprint(i)
						putArea(t, s, key, sc.areas[rng.IntN(len(sc.areas))])
						s.Delete("other")
						putArea(t, s, "other", sc.areas[rng.IntN(len(sc.areas))])
						putArea(t, s, key, sc.areas[i])
					}
					s.Delete("other")
					s.Settle()
					checkAnswers(t, o, s.Snapshot(), points, want)
					checkAnswers(t, o, before, points, want)
					most := bytes + bytes/8 + int64(len(sc.areas))*200
					if kind == fence.KindCellmap || kind == fence.KindAuto {
						most = 4*bytes + 8<<10 // cells that were built, and cells that are as built again
					}
					if got := s.Snapshot().Stats().Bytes; got > most && kind != fence.KindQRTree {
						t.Errorf("%s, zoom %d: %d bytes became %d", kind, o.Zoom, bytes, got)
					}
				}
			}
		})
	}
}

func putArea(t *testing.T, s *fence.Set, key string, a geometry.MultiPolygon) {
	t.Helper()
	if _, _, err := s.Put(fence.Fence{Key: key, Geometry: a}); err != nil {
		t.Fatal(err)
	}
}
