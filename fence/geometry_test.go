package fence_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

func square(lon, lat, size float64) geometry.Ring {
	return geometry.Ring{{Lon: lon, Lat: lat}, {Lon: lon + size, Lat: lat}, {Lon: lon + size, Lat: lat + size}, {Lon: lon, Lat: lat + size}}
}

func TestContains(t *testing.T) {
	negZero := math.Copysign(0, -1)
	unit := geometry.MultiPolygon{{square(0, 0, 1)}}
	holed := geometry.MultiPolygon{{square(0, 0, 9), square(3, 3, 3)}}
	overlapping := geometry.MultiPolygon{{square(0, 0, 2)}, {square(1, 1, 2)}}
	east := geometry.MultiPolygon{{square(170, -5, 10)}}
	west := geometry.MultiPolygon{{square(-180, -5, 10)}}
	north := geometry.MultiPolygon{{square(0, 80, 10)}}
	spiked := geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 4, Lat: 0}, {Lon: 4, Lat: 4}, {Lon: 2, Lat: 4}, {Lon: 2, Lat: 9}, {Lon: 2, Lat: 4}, {Lon: 0, Lat: 4}, {Lon: 0, Lat: 4}}}}

	for name, tc := range map[string]struct {
		area     geometry.MultiPolygon
		lon, lat float64
		want     bool
	}{
		"southwest corner":             {unit, 0, 0, true},
		"southeast corner":             {unit, 1, 0, false},
		"northwest corner":             {unit, 0, 1, false},
		"northeast corner":             {unit, 1, 1, false},
		"west border":                  {unit, 0, 0.5, true},
		"east border":                  {unit, 1, 0.5, false},
		"south border":                 {unit, 0.5, 0, true},
		"north border":                 {unit, 0.5, 1, false},
		"negative zero":                {unit, negZero, negZero, true},
		"a denormal to the west":       {unit, -5e-324, 0.5, false},
		"a denormal to the east":       {unit, 5e-324, 5e-324, true},
		"just inside the east":         {unit, ulps(1, -1), 0.5, true},
		"not a number":                 {unit, math.NaN(), 0.5, false},
		"infinite":                     {unit, 0.5, math.Inf(1), false},
		"in a hole":                    {holed, 4, 4, false},
		"west rim of a hole":           {holed, 3, 4, false},
		"east rim of a hole":           {holed, 6, 4, true},
		"south rim of a hole":          {holed, 4, 3, false},
		"north rim of a hole":          {holed, 4, 6, true},
		"in both of overlapping parts": {overlapping, 1.5, 1.5, true},
		"in the second part":           {overlapping, 2.5, 2.5, true},
		"180 is -180":                  {west, 180, 0, true},
		"180 is not east":              {east, 180, 0, false},
		"west of 180":                  {east, ulps(180, -1), 0, true},
		"the north pole":               {north, 5, 90, false},
		"just off the pole":            {north, 5, ulps(90, -1), true},
		"on a spike":                   {spiked, 2, 6, false},
		"below a spike":                {spiked, 2, 3, true},
		"no parts":                     {nil, 0, 0, false},
		"empty ring":                   {geometry.MultiPolygon{{{}}}, 0, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := geometry.Point{Lon: tc.lon, Lat: tc.lat}
			if got := tc.area.Contains(p); got != tc.want {
				t.Errorf("got %v", got)
			}
			if oracleHolds(tc.area, p) != tc.want {
				t.Errorf("the oracle disagrees with the table")
			}
		})
	}
}

func TestContainsAgreesWithOracle(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(5, 6))
	for range 60 / sampling.Slowdown {
		area := randomArea(rng)
		for _, p := range some(rng, hardPoints(rng, area), 200) {
			if got, want := area.Contains(p), oracleHolds(area, p); got != want {
				t.Fatalf("%v in %v: %v, want %v", p, area, got, want)
			}
		}
	}
}

// TestContainsOfSlivers asks about triangles that are a few ulp wide.
func TestContainsOfSlivers(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 8))
	inside := 0
	for range 300 {
		a := geometry.Point{Lon: rng.Float64() * 100, Lat: rng.Float64() * 50}
		b := geometry.Point{Lon: a.Lon + rng.Float64() - 0.5, Lat: a.Lat + rng.Float64()}
		area := geometry.MultiPolygon{{{a, b, {Lon: ulps(b.Lon, 1+rng.IntN(3)), Lat: b.Lat}}}}
		for _, p := range hardPoints(rng, area) {
			want := oracleHolds(area, p)
			if got := area.Contains(p); got != want {
				t.Fatalf("%v in %v: %v, want %v", p, area, got, want)
			}
			if want {
				inside++
			}
		}
	}
	if inside == 0 {
		t.Error("no point was inside: the test is too easy")
	}
}

// TestContainsIgnoresHowRingsAreWritten: neither the first vertex of a ring, nor its
// direction, nor the order of rings or parts changes an answer.
func TestContainsIgnoresHowRingsAreWritten(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	for range 200 {
		area := randomArea(rng)
		other := make(geometry.MultiPolygon, len(area))
		for i, part := range area {
			for _, r := range part {
				k := rng.IntN(len(r))
				turned := append(slices.Clone(r[k:]), r[:k]...)
				if rng.IntN(2) == 0 {
					slices.Reverse(turned)
				}
				other[i] = append(other[i], turned)
			}
			rng.Shuffle(len(part), func(a, b int) { other[i][a], other[i][b] = other[i][b], other[i][a] })
		}
		rng.Shuffle(len(other), func(a, b int) { other[a], other[b] = other[b], other[a] })
		for _, p := range some(rng, hardPoints(rng, area), 200) {
			if area.Contains(p) != other.Contains(p) {
				t.Fatalf("%v: %v and %v differ", p, area, other)
			}
		}
	}
}

// tessellation cuts a square into triangles that share their edges bit for bit: a jittered
// grid, each cell cut along one of its diagonals, rings turned and reversed at random.
func tessellation(rng *rand.Rand, n int) []geometry.MultiPolygon {
	at := make([][]geometry.Point, n+1)
	for i := range at {
		at[i] = make([]geometry.Point, n+1)
		for j := range at[i] {
			at[i][j] = geometry.Point{Lon: -74 + float64(i)/float64(n), Lat: 40 + float64(j)/float64(n)}
			if i > 0 && j > 0 && i < n && j < n {
				at[i][j].Lon += (rng.Float64() - 0.5) / float64(4*n)
				at[i][j].Lat += (rng.Float64() - 0.5) / float64(4*n)
			}
		}
	}
	var cells []geometry.MultiPolygon
	for i := range n {
		for j := range n {
			a, b, c, d := at[i][j], at[i+1][j], at[i+1][j+1], at[i][j+1]
			if rng.IntN(2) == 0 {
				a, b, c, d = b, c, d, a
			}
			for _, r := range []geometry.Ring{{a, b, c}, {a, c, d}} {
				if rng.IntN(2) == 0 {
					slices.Reverse(r)
				}
				k := rng.IntN(3)
				cells = append(cells, geometry.MultiPolygon{{append(slices.Clone(r[k:]), r[:k]...)}})
			}
		}
	}
	return cells
}

func TestOneOwner(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	cells := tessellation(rng, 6)
	for _, cell := range cells {
		for _, p := range hardPoints(rng, cell) {
			if !(p.Lon >= -74 && p.Lon < -73 && p.Lat >= 40 && p.Lat < 41) {
				continue // in no cell, or on a border that belongs to the outside
			}
			owners := 0
			for _, c := range cells {
				if c.Contains(p) {
					owners++
				}
			}
			if owners != 1 {
				t.Fatalf("%v has %d owners", p, owners)
			}
		}
	}
}

// TestFilledHole: a hole that another fence fills leaves no seam.
func TestFilledHole(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	lake := randomRing(rng, 9, 0)
	around := geometry.MultiPolygon{{square(-50, -50, 100), lake}}
	island := geometry.MultiPolygon{{lake}}
	for _, p := range hardPoints(rng, island) {
		if around.Contains(p) == island.Contains(p) {
			t.Fatalf("%v is in both or in neither", p)
		}
	}
}

func TestBounds(t *testing.T) {
	mp := geometry.MultiPolygon{{square(1, 2, 3)}, {square(-7, 0, 1)}}
	if got, want := mp.Bounds(), (geometry.Box{MinLon: -7, MinLat: 0, MaxLon: 4, MaxLat: 5}); got != want {
		t.Errorf("got %v", got)
	}
	if empty := (geometry.MultiPolygon{}).Bounds(); !empty.Empty() || mp.Bounds().Empty() {
		t.Error("Empty is wrong")
	}
	if got := mp.Bounds().Union(geometry.EmptyBox()); got != mp.Bounds() {
		t.Errorf("the empty box is not neutral: %v", got)
	}
}
