package geometry

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/internal/sampling"
)

func TestSignedDistance(t *testing.T) {
	at := Point{13, 52}
	block := rectangleOf(at, 1000, 600, 0)
	hole := MultiPolygon{{block[0][0], rectangleOf(at, 200, 200, 0)[0][0]}}
	moved := func(east, north float64) Point {
		m := MetricAt(at)
		return Point{at.Lon + east/m.east[0], at.Lat + north/m.north[0]}
	}
	overlapping := append(rectangleOf(moved(-200, 0), 1000, 600, 0), rectangleOf(moved(200, 0), 1000, 600, 0)...)
	world := MultiPolygon{{{{-180, -90}, {180, -90}, {180, 90}, {-180, 90}}}}
	for name, c := range map[string]struct {
		area MultiPolygon
		p    Point
		want float64
	}{
		"within":                 {block, at, 300},
		"outside":                {block, moved(0, 350), -50},
		"beyond a corner":        {block, moved(530, 340), -50},
		"in a hole":              {hole, at, -100},
		"beside a hole":          {hole, moved(150, 0), 50},
		"where parts overlap":    {overlapping, at, 300},
		"within one of them":     {overlapping, moved(400, 0), 300},
		"on a vertex":            {block, block[0][0][0], 0},
		"on another":             {block, block[0][0][2], 0},
		"all of the earth":       {world, at, math.Inf(-1)},
		"none":                   {nil, at, math.Inf(-1)},
		"an empty ring":          {MultiPolygon{{{}}}, at, math.Inf(-1)},
		"a point that is none":   {block, Point{math.NaN(), 0}, math.Inf(-1)},
		"a point that is beyond": {block, Point{1, math.Inf(1)}, math.Inf(-1)},
	} {
		got := c.area.SignedDistance(c.p)
		if got != c.want && !(math.Abs(got-c.want) < 0.01) || math.Signbit(got) && got == 0 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
		if d := c.area.BoundaryDistance(c.p); d != math.Abs(got) {
			t.Errorf("%s: %v without its sign is %v", name, got, d)
		}
	}
}

// TestDistanceOverTheAntimeridian: an area that is split there has the same distances as one that
// was moved away from it. A cap has none to the pole.
func TestDistanceOverTheAntimeridian(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 11))
	for range 200 / sampling.Slowdown {
		r := star(rng, Point{0, rng.Float64()*120 - 60}, 3+rng.IntN(20), 5000)
		whole, split := MultiPolygon{{r}}, make(Ring, len(r))
		for i, p := range r {
			split[i] = Point{p.Lon + 180, p.Lat}
		}
		unwrapped := Unwrap(MultiPolygon{{split}})
		for range 50 {
			p := around(rng, r[rng.IntN(len(r))], 3000*rng.Float64())
			want, got := whole.SignedDistance(p), unwrapped.SignedDistance(Point{WrapLon(p.Lon + 180), p.Lat})
			if math.Abs(got-want) > 1e-6 {
				t.Fatalf("%v of %v: %v, want %v", p, unwrapped, got, want)
			}
		}
	}
	step := MultiPolygon{{rectangle(179, 0, 180, 2)}, {rectangle(-180, 0.5, -179, 1)}, {rectangle(-180, 1.5, -179, 3)}}
	for _, c := range []struct {
		p    Point
		want float64
	}{
		{Point{179.9999, 0.25}, 11.132},         // the west begins further to the north
		{Point{-179.9999, 1.25}, -11.129},       // and has a gap
		{Point{-179.9999, 2.5}, 11.121},         // and ends beyond the east
		{Point{179.9999, 0.75}, 0.25 * 110_575}, // within both
	} {
		if got := step.SignedDistance(c.p); math.Abs(got-c.want) > math.Abs(c.want)/1000 {
			t.Errorf("%v is at %v, want %v", c.p, got, c.want)
		}
	}
	polar := Unwrap(MultiPolygon{{{{0, 80}, {90, 80}, {180, 80}, {-90, 80}}}})
	if got := polar.SignedDistance(Point{20, 89}); !(got > 9*110_574 && got < 10*111_700) {
		t.Errorf("a cap has its boundary at %v m", got)
	}
}

// TestDistanceIsThatOfTheNearestEdge holds the search against a plain minimum over geodesics.
func TestDistanceIsThatOfTheNearestEdge(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(12, 12))
	for range 60 / sampling.Slowdown {
		p := Point{rng.Float64()*350 - 175, rng.Float64()*150 - 75}
		r := star(rng, around(rng, p, 3000*rng.Float64()), 3+rng.IntN(12), 2000)
		want := math.Inf(1)
		for i := range r {
			d, _ := nearestOnEdge(p, r[i], r[(i+1)%len(r)])
			want = min(want, d)
		}
		area := MultiPolygon{{r}}
		if got := area.SignedDistance(p); math.Abs(math.Abs(got)-want) > 1e-3 || (got > 0) != area.Contains(p) {
			t.Fatalf("%v of %v: %v, want %v", p, area, got, want)
		}
	}
}

func TestDistanceDoesNotAllocate(t *testing.T) {
	area, p := rectangleOf(Point{13, 52}, 100, 100, 20), Point{13, 52}
	line := Line(area[0][0])
	overlapping := append(rectangleOf(Point{13, 52}, 100, 100, 20), rectangleOf(Point{13, 52}, 150, 50, 0)...)
	crossings := make([]Crossing, 0, 4)
	if n := testing.AllocsPerRun(100, func() {
		area.SignedDistance(p)
		line.Distance(p)
		line.Progress(p)
		area.Passes(p, Point{14, 53})
		overlapping.Passes(p, Point{14, 53})
		overlapping.SignedDistance(p)
		crossings = line.AppendCrossings(crossings[:0], p, Point{14, 53})
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestNoNearerEdgeIsPassedOver: at all distances the search gives to the bit what it gives for the
// nearest edge alone.
func TestNoNearerEdgeIsPassedOver(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(19, 19))
	for range 100 / sampling.Slowdown {
		centre := Point{rng.Float64()*360 - 180, rng.Float64()*176 - 88}
		size := math.Pow(10, 4+3*rng.Float64())
		r := star(rng, centre, 3+rng.IntN(300), size)
		lines := UnwrapLines(MultiLine{Line(r)})
		if b := lines.Bounds(); b.MaxLat > 90 || b.MinLat < -90 {
			continue
		}
		prepared := PrepareLines(lines)
		for range 20 {
			p := around(rng, centre, size*math.Pow(10, 3*rng.Float64()-2))
			if math.Abs(p.Lat) > 90 {
				continue
			}
			want := math.Inf(1)
			for _, l := range lines {
				for i := range l[1:] {
					want = min(want, l[i:i+2].Distance(p))
				}
			}
			if got := prepared.Distance(p); got != want {
				t.Fatalf("%v of %v: %v, want %v", p, lines, got, want)
			}
		}
	}
}

// TestPreparedMeasuresTheSame: to the bit, near and far, at a pole and over the antimeridian.
func TestPreparedMeasuresTheSame(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(18, 18))
	for range 300 / sampling.Slowdown {
		centre := Point{rng.Float64()*360 - 180, rng.Float64()*176 - 88}
		if rng.IntN(3) == 0 {
			centre.Lon = 180
		}
		size := math.Pow(10, 6*rng.Float64())
		var area MultiPolygon
		for range 1 + rng.IntN(2) {
			area = append(area, Polygon{star(rng, around(rng, centre, size/2), 3+rng.IntN(200), size)})
		}
		if area.Bounds().MaxLat > 90 || area.Bounds().MinLat < -90 {
			continue
		}
		area = Unwrap(area)
		var lines MultiLine
		for _, part := range area {
			lines = append(lines, Line(part[0]))
		}
		prepared, preparedLines := PrepareArea(area), PrepareLines(lines)
		for range 30 {
			p := around(rng, centre, size*math.Pow(10, 3*rng.Float64()-2))
			if math.Abs(p.Lat) > 90 {
				continue
			}
			if got, want := prepared.SignedDistance(p), area.SignedDistance(p); got != want {
				t.Fatalf("%v of %v: %v, want %v", p, area, got, want)
			}
			if got, want := preparedLines.Distance(p), lines.Distance(p); got != want {
				t.Fatalf("%v of %v: %v, want %v", p, lines, got, want)
			}
		}
	}
}
