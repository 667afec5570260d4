package fence_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

func ring(coordinates ...float64) geometry.Ring {
	var r geometry.Ring
	for i := 0; i < len(coordinates); i += 2 {
		r = append(r, geometry.Point{Lon: coordinates[i], Lat: coordinates[i+1]})
	}
	return r
}

func TestUnwrap(t *testing.T) {
	for name, c := range map[string]struct {
		area    geometry.MultiPolygon
		parts   int
		in, out []geometry.Point
	}{
		"not over it":        {area(box(170, 0, 180, 1)), 1, []geometry.Point{{Lon: 175, Lat: 0.5}}, []geometry.Point{{Lon: -175, Lat: 0.5}}},
		"a box over it":      {area(ring(170, 0, -170, 0, -170, 10, 170, 10)), 2, []geometry.Point{{Lon: 175, Lat: 5}, {Lon: -175, Lat: 5}, {Lon: 180, Lat: 5}}, []geometry.Point{{Lon: 0, Lat: 5}, {Lon: 169, Lat: 5}, {Lon: -169, Lat: 5}}},
		"beyond 180":         {area(box(170, 0, 190, 10)), 2, []geometry.Point{{Lon: 175, Lat: 5}, {Lon: -175, Lat: 5}}, []geometry.Point{{Lon: 0, Lat: 5}, {Lon: -169, Lat: 5}}},
		"beyond -180":        {area(box(-190, 0, -170, 10)), 2, []geometry.Point{{Lon: 175, Lat: 5}, {Lon: -175, Lat: 5}}, []geometry.Point{{Lon: 0, Lat: 5}, {Lon: -169, Lat: 5}}},
		"all beyond 180":     {area(box(185, 0, 190, 10)), 1, []geometry.Point{{Lon: -172, Lat: 5}}, []geometry.Point{{Lon: 175, Lat: 5}}},
		"a hole over it":     {area(ring(160, 0, -160, 0, -160, 10, 160, 10), ring(170, 4, -170, 4, -170, 6, 170, 6)), 2, []geometry.Point{{Lon: 175, Lat: 3}, {Lon: -175, Lat: 7}, {Lon: 165, Lat: 5}, {Lon: 180, Lat: 2}}, []geometry.Point{{Lon: 175, Lat: 5}, {Lon: -175, Lat: 5}, {Lon: 180, Lat: 5}}},
		"a hole beside it":   {area(box(160, 0, 200, 10), box(-175, 4, -170, 6)), 2, []geometry.Point{{Lon: 175, Lat: 5}, {Lon: -179, Lat: 5}}, []geometry.Point{{Lon: -172, Lat: 5}}},
		"a comb":             {area(ring(170, 0, -170, 0, -170, 2, 175, 2, 175, 4, -170, 4, -170, 6, 170, 6)), 3, []geometry.Point{{Lon: 172, Lat: 3}, {Lon: -175, Lat: 1}, {Lon: -175, Lat: 5}, {Lon: 178, Lat: 1}}, []geometry.Point{{Lon: -175, Lat: 3}, {Lon: 178, Lat: 3}}},
		"a vertex on it":     {area(ring(170, 0, 180, -5, -170, 0, -180, 5)), 2, []geometry.Point{{Lon: 175, Lat: 0}, {Lon: -175, Lat: 0}}, []geometry.Point{{Lon: 175, Lat: 4}, {Lon: -175, Lat: -4}}},
		"round the north":    {area(ring(0, 60, 90, 70, 180, 60, -90, 70)), 1, []geometry.Point{{Lon: 10, Lat: 80}, {Lon: -170, Lat: 89}, {Lon: 179, Lat: 70}}, []geometry.Point{{Lon: 10, Lat: 50}, {Lon: 90, Lat: 69}, {Lon: 0, Lat: -80}}},
		"round the south":    {area(ring(-120, -60, 0, -70, 120, -60)), 1, []geometry.Point{{Lon: 10, Lat: -80}, {Lon: -180, Lat: -90}, {Lon: 60, Lat: -66}}, []geometry.Point{{Lon: 10, Lat: -50}, {Lon: 0, Lat: 80}}},
		"between two rounds": {area(ring(-120, 60, 0, 60, 120, 60), ring(120, 80, 0, 80, -120, 80)), 1, []geometry.Point{{Lon: 10, Lat: 70}, {Lon: 180, Lat: 70}}, []geometry.Point{{Lon: 10, Lat: 85}, {Lon: 180, Lat: 85}, {Lon: 10, Lat: 55}}},
		"the world":          {area(box(-180, -90, 180, 90)), 1, []geometry.Point{{Lon: 0, Lat: 0}, {Lon: 180, Lat: 0}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			got := geometry.Unwrap(c.area)
			if len(got) != c.parts {
				t.Errorf("%d parts: %v", len(got), got)
			}
			for _, fd := range geojson.Validate(got) {
				if fd.Code != geojson.CodeLongEdge {
					t.Errorf("%v in %v", fd, got)
				}
			}
			for _, p := range c.in {
				if !got.Contains(p) {
					t.Errorf("%v is not in %v", p, got)
				}
			}
			for _, p := range c.out {
				if got.Contains(p) {
					t.Errorf("%v is in %v", p, got)
				}
			}
		})
	}
}

// TestUnwrapIsAShift moves random rings to the antimeridian by whole degrees, which is exact
// for coordinates on a grid: what holds a point there is what holds the moved one here.
func TestUnwrapIsAShift(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	rng := rand.New(rand.NewPCG(71, 72))
	inside := 0
	for i := range 400 {
		here := area(gridRing(rng), gridRing(rng))
		there := make(geometry.Polygon, len(here[0]))
		for j, r := range here[0] {
			for _, p := range r {
				q := geometry.Point{Lon: p.Lon + 180, Lat: p.Lat}
				if i%2 == 0 && q.Lon > 180 {
					q.Lon -= 360
				}
				there[j] = append(there[j], q)
			}
		}
		got := geometry.Unwrap(geometry.MultiPolygon{there})
		for range 100 {
			p := geometry.Point{Lon: float64(rng.IntN(20*64))/64 - 10, Lat: float64(rng.IntN(20*64))/64 - 10}
			if besideCut(here, p) {
				continue // a vertex that was put in, and rounded
			}
			q := geometry.Point{Lon: p.Lon + 180, Lat: p.Lat}
			if q.Lon > 180 {
				q.Lon -= 360
			}
			want := oracleHolds(here, p)
			if want {
				inside++
			}
			if got.Contains(q) != want {
				t.Fatalf("%v in %v: %v, want %v; split: %v", p, here, !want, want, got)
			}
		}
	}
	if inside < 1000 {
		t.Errorf("only %d points were inside", inside)
	}
}

// gridRing is a ring about 0,0 on a grid of quarters, valid or not.
func gridRing(rng *rand.Rand) geometry.Ring {
	r := make(geometry.Ring, 3+rng.IntN(6))
	for i := range r {
		r[i] = geometry.Point{Lon: float64(rng.IntN(80))/4 - 10, Lat: float64(rng.IntN(80))/4 - 10}
	}
	return r
}

// besideCut reports whether p is so near to an edge over longitude 0, or to where that meets
// it, that the rounding of the vertex put in there may decide.
func besideCut(mp geometry.MultiPolygon, p geometry.Point) bool {
	for _, r := range mp[0] {
		for i, a := range r {
			b := r[(i+1)%len(r)]
			if (a.Lon < 0) == (b.Lon < 0) || a.Lon == b.Lon {
				continue
			}
			at := func(lon float64) float64 { return a.Lat + (b.Lat-a.Lat)*(lon-a.Lon)/(b.Lon-a.Lon) }
			if math.Abs(at(0)-p.Lat) < 1e-9 || math.Abs(at(p.Lon)-p.Lat) < 1e-9 {
				return true
			}
		}
	}
	return false
}

// Neighbours over the antimeridian get the same vertices there, whichever way their rings go.
func TestUnwrapCutsNeighboursAlike(t *testing.T) {
	rng := rand.New(rand.NewPCG(73, 74))
	for range 50 {
		var line geometry.Ring // from west to east over the antimeridian
		for i := range 6 {
			line = append(line, geometry.Point{Lon: 177 + float64(i) + rng.Float64()/2, Lat: rng.Float64() * 10})
		}
		for i := range line {
			if line[i].Lon > 180 && rng.IntN(2) == 0 {
				line[i].Lon -= 360
			}
		}
		w, e := line[0].Lon, line[5].Lon
		north := append(slices.Clone(line), ring(e, 20, w, 20)...)
		south := append(slices.Clone(line), ring(e, -20, w, -20)...)
		slices.Reverse(south)
		s := newSetOf(t, fence.Options{}, geometry.Unwrap(area(north)), geometry.Unwrap(area(south))).Snapshot()
		for _, f := range s.All() {
			for _, p := range hardPoints(rng, f.Geometry) {
				if math.Abs(p.Lat) > 15 || math.Abs(p.Lon) < 178 || math.Abs(p.Lon) > 180 {
					continue
				}
				if got := s.Append(nil, p.Lon, p.Lat); len(got) != 1 {
					t.Fatalf("%v has owners %v", p, got)
				}
			}
		}
	}
}

func TestUnwrapWhenReading(t *testing.T) {
	doc := polygon(`[[170,0],[190,0],[190,10],[170,10],[170,0]]`)
	if _, _, err := geojson.ParseFeature([]byte(doc), geojson.ReadOptions{}); err == nil {
		t.Error("longitude 190 was taken unasked")
	}
	o := geojson.ReadOptions{Antimeridian: geometry.AntimeridianUnwrap, Strict: true}
	f, findings, err := geojson.ParseFeature([]byte(doc), o)
	if err != nil || len(findings) != 0 {
		t.Fatalf("%v, %v", findings, err)
	}
	want := geometry.MultiPolygon{{box(170, 0, 180, 10)}, {box(-180, 0, -170, 10)}}
	if got := f.Geometry; len(got) != 2 || !reflect.DeepEqual(got.Bounds(), want.Bounds()) {
		t.Errorf("got %v", got)
	}
	for _, lon := range []string{"541", "-541", "1e300", "1e999"} {
		if _, _, err := geojson.ParseFeature([]byte(strings.ReplaceAll(doc, "190", lon)), o); err == nil {
			t.Errorf("longitude %s was taken", lon)
		}
	}
	s, err := fence.NewSet("x", fence.Options{Antimeridian: geometry.AntimeridianUnwrap})
	if err != nil || fmt.Sprint(s.Kind()) == "" {
		t.Error(err)
	}
}
