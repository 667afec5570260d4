package geometry

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"paddock/internal/sampling"
)

// walk is a line of n edges of about so many metres, in any directions.
func walk(rng *rand.Rand, p Point, n int, metres float64) Line {
	l := Line{p}
	for range n {
		q := around(rng, p, metres*(0.02+rng.Float64()))
		q = Point{p.Lon + WrapLon(q.Lon-p.Lon), q.Lat} // it may go on beyond 180
		l, p = append(l, q), q
	}
	return l
}

func unbounded(int) bool { return true }

// TestCorridor asks about points on both sides of the promised error.
func TestCorridor(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(13, 13))
	asked := 0
	for round := range 400 / sampling.Slowdown {
		buffer := math.Pow(10, 5*rng.Float64()-1)
		p := Point{rng.Float64()*360 - 180, rng.Float64()*150 - 75}
		if round%4 == 0 {
			p.Lon = 180
		}
		l := walk(rng, p, 1+rng.IntN(6), buffer*math.Pow(10, 3*rng.Float64()-1))
		if l.Bounds().MaxLat > 80 || l.Bounds().MinLat < -80 {
			continue
		}
		lines := UnwrapLines(MultiLine{l})
		area, err := Corridor(lines, buffer, unbounded)
		if err != nil {
			t.Fatal(err)
		}
		side := max(0.01, buffer*1e-5)
		arc := min(0.25, buffer/1000) + side
		for range 100 {
			k := rng.IntN(len(l) - 1)
			share := rng.Float64()
			on := Point{l[k].Lon + share*(l[k+1].Lon-l[k].Lon), l[k].Lat + share*(l[k+1].Lat-l[k].Lat)}
			off := []float64{0.5, -arc * 1.2, -arc * 1.2, side * 1.2, side * 1.2, 2}[rng.IntN(6)]
			if off == 0.5 {
				off = -buffer * rng.Float64()
			}
			q := around(rng, Point{WrapLon(on.Lon), on.Lat}, buffer+off)
			d := lines.Distance(q)
			if d > buffer-arc && d < buffer+side {
				continue
			}
			asked++
			if got := area.Contains(q); got != (d < buffer) {
				t.Fatalf("%v of %v, %v m: %v m away is %v", q, l, buffer, d, got)
			}
		}
	}
	if asked < 10_000/sampling.Slowdown {
		t.Errorf("only %d points asked", asked)
	}
}

// TestCorridorSides: beside the middle of an edge there is no arc, and only the lesser error.
func TestCorridorSides(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(14, 14))
	for range 300 / sampling.Slowdown {
		buffer := math.Pow(10, 4*rng.Float64())
		a := Point{rng.Float64()*340 - 170, rng.Float64()*140 - 70}
		b := around(rng, a, buffer*(1+30*rng.Float64()))
		lines := MultiLine{{a, b}}
		area, err := Corridor(lines, buffer, unbounded)
		if err != nil {
			t.Fatal(err)
		}
		m := MetricAt(a)
		d := toward((b.Lon-a.Lon)*m.east[0], (b.Lat-a.Lat)*m.north[0]).left()
		for range 50 {
			share := rng.Float64()
			size := buffer * (1 + 1e-3*rng.NormFloat64())
			if rng.IntN(2) == 0 {
				d = d.opposite()
			}
			on := Point{a.Lon + share*(b.Lon-a.Lon), a.Lat + share*(b.Lat-a.Lat)}
			m := MetricAt(on)
			q := Point{on.Lon + size*d.x/m.east[0], on.Lat + size*d.y/m.north[0]}
			dist := lines.Distance(q)
			if math.Abs(dist-buffer) < max(0.01, buffer*1e-5) {
				continue
			}
			if got := area.Contains(q); got != (dist < buffer) {
				t.Fatalf("%v of %v, %v m: %v m away is %v", q, lines, buffer, dist, got)
			}
		}
	}
}

// TestCorridorHasNoSeams: a vertex of the line is in the corridor, though parts meet there, and
// whichever the boundary rule.
func TestCorridorHasNoSeams(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 15))
	for range 300 / sampling.Slowdown {
		l := walk(rng, Point{179.99, 50 * rng.NormFloat64() / 3}, 12, 3000)
		area, err := Corridor(UnwrapLines(MultiLine{l}), 20, unbounded)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range l {
			p.Lon = WrapLon(p.Lon)
			for _, rule := range []Rule{HalfOpen, Closed, Open} {
				if !area.Decide(rule, p) {
					t.Fatalf("vertex %d of %v is not within by rule %d", i, l, rule)
				}
			}
		}
	}
}

func TestCorridorRefuses(t *testing.T) {
	line := MultiLine{{{1, 2}, {1.1, 2}}}
	for name, c := range map[string]struct {
		lines  MultiLine
		buffer float64
	}{
		"no width":     {line, 0},
		"too wide":     {line, 10_001},
		"negative":     {line, -5},
		"no number":    {line, math.NaN()},
		"no line":      {nil, 5},
		"one place":    {MultiLine{{{1, 2}, {1, 2}}}, 5},
		"at a pole":    {MultiLine{{{1, 89.99}, {2, 89.99}}}, 500},
		"a lone point": {MultiLine{{{1, 2}}}, 5},
		"out of range": {MultiLine{{{1, 2}, {1e18, 2}}}, 5},
		"not finite":   {MultiLine{{{1, 2}, {math.Inf(1), 2}}}, 5},
	} {
		if area, err := Corridor(c.lines, c.buffer, unbounded); !errors.Is(err, ErrShape) {
			t.Errorf("%s: %v, %v", name, area, err)
		}
	}
}

// TestCorridorEndsAtItsBound: of a line that asks for a hundred million vertices no more is made
// than the caller allows.
func TestCorridorEndsAtItsBound(t *testing.T) {
	l := Line{{-180, 0}}
	for range 3000 {
		l = append(l, Point{180, 0}, Point{-180, 0})
	}
	left := 0
	spend := func(n int) bool {
		if n < 0 || left < 0 {
			t.Fatal("asked for less, or after the end")
		}
		left -= n
		return left >= 0
	}
	allocs := testing.AllocsPerRun(1, func() {
		left = 1000
		if area, err := Corridor(MultiLine{l}, 10, spend); area != nil || !errors.Is(err, ErrVertices) {
			t.Fatalf("%d parts, %v", len(area), err)
		}
	})
	if allocs > 10 {
		t.Errorf("%v allocations", allocs)
	}
	line := MultiLine{{{1, 2}, {1.1, 2}, {1.1, 2.01}, {1.2, 2}, {1.1, 2}, {1.11, 1.99}}}
	whole, _ := Corridor(line, 10, unbounded)
	left = whole.Vertices()
	if _, err := Corridor(line, 10, spend); err != nil || left != 0 {
		t.Errorf("%d of all vertices are left, %v", left, err)
	}
	left-- // of the arcs, which are not known before
	left += whole.Vertices()
	if _, err := Corridor(line, 10, spend); !errors.Is(err, ErrVertices) {
		t.Errorf("one vertex more than allowed: %v", err)
	}
}

// TestCorridorIsTheSameEverywhere holds bits that were computed on amd64.
func TestCorridorIsTheSameEverywhere(t *testing.T) {
	rng := rand.New(rand.NewPCG(16, 16))
	sum := uint64(0)
	for range 100 {
		l := Line{{rng.Float64() * 100, rng.Float64() * 70}}
		for range 5 {
			p := l[len(l)-1]
			l = append(l, Point{p.Lon + rng.Float64()/50 - 0.01, p.Lat + rng.Float64()/50 - 0.01})
		}
		area, err := Corridor(MultiLine{l}, 10+rng.Float64()*100, unbounded)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range area {
			for _, p := range part[0] {
				sum = (sum ^ math.Float64bits(p.Lon)) * 0x9e3779b97f4a7c15
				sum = (sum ^ math.Float64bits(p.Lat)) * 0x9e3779b97f4a7c15
			}
		}
	}
	if sum != 0x50868c586135c27b {
		t.Errorf("%#x", sum)
	}
}
