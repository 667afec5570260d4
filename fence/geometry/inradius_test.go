package geometry

import (
	"math"
	"math/rand/v2"
	"testing"
)

// rectangleOf is a rectangle of that many metres around a point, turned by an angle in degrees.
func rectangleOf(p Point, width, height, turn float64) MultiPolygon {
	m := MetricAt(p)
	sin, cos := math.Sincos(turn * math.Pi / 180)
	var r Ring
	for _, c := range [][2]float64{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}} {
		x, y := c[0]*width/2, c[1]*height/2
		r = append(r, Point{p.Lon + (x*cos-y*sin)/m.east[0], p.Lat + (x*sin+y*cos)/m.north[0]})
	}
	return MultiPolygon{{r}}
}

func TestInradius(t *testing.T) {
	at := Point{-73.9, 40.7}
	circle, err := Circle(at, 700)
	if err != nil {
		t.Fatal(err)
	}
	around, err := Circle(Point{179.999, -16}, 900)
	if err != nil {
		t.Fatal(err)
	}
	pole, err := Circle(Point{10, 89.9}, 50_000)
	if err != nil {
		t.Fatal(err)
	}
	islands := Unwrap(append(rectangleOf(Point{180, -17}, 2000, 700, 20), rectangleOf(Point{-170, -17}, 500, 500, 0)...))
	lake := rectangleOf(at, 400, 400, 0)[0][0]
	for name, c := range map[string]struct {
		area MultiPolygon
		want float64
	}{
		"circle":                {circle, 700},
		"over the antimeridian": {around, 900},
		"islands there":         {islands, 350},
		"round a pole":          {pole, 50_000},
		"square":                {rectangleOf(at, 200, 200, 0), 100},
		"turned":                {rectangleOf(at, 300, 200, 37), 100},
		"long":                  {rectangleOf(at, 20_000, 30, 63), 15},
		"with a hole":           {MultiPolygon{{rectangleOf(at, 1000, 1000, 0)[0][0], lake}}, 300 / (1 + math.Sqrt2) * math.Sqrt2},
		"two parts":             {append(rectangleOf(at, 80, 90, 10), rectangleOf(Point{-73, 41}, 300, 500, 5)...), 150},
		"none":                  {nil, 0},
		"a line":                {MultiPolygon{{{{1, 1}, {2, 2}}}}, 0},
		"a point":               {MultiPolygon{{{{1, 1}}}}, 0},
	} {
		if got := c.area.Inradius(); got > c.want*1.001 || got < c.want/(1+inradiusError)*0.999 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestInradiusIsOfACircleWithin: no place that is asked is further from the boundary than a tenth
// more.
func TestInradiusIsOfACircleWithin(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	for range 40 {
		area := MultiPolygon{{star(rng, Point{rng.Float64()*360 - 180, rng.Float64()*160 - 80}, 3+rng.IntN(40), 3000)}}
		got := area.Inradius()
		b := area.Bounds()
		if !(got > 0) {
			t.Fatalf("%v: %v", area, got)
		}
		for range 500 {
			p := Point{b.MinLon + rng.Float64()*(b.MaxLon-b.MinLon), b.MinLat + rng.Float64()*(b.MaxLat-b.MinLat)}
			if d := area.SignedDistance(p); d > got*(1+inradiusError)*1.000001 {
				t.Fatalf("%v: %v, but %v is at %v", area, got, p, d)
			}
		}
	}
}

// TestInradiusUpTo: a circle that is enough ends the search, and with less it is the whole search.
func TestInradiusUpTo(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(8, 8))
	ended := 0
	for range 100 {
		at := Point{rng.Float64()*360 - 180, rng.Float64()*160 - 80}
		area := Unwrap(MultiPolygon{{star(rng, at, 3+rng.IntN(40), 3000)}, {star(rng, at, 3+rng.IntN(40), 3000)}})
		whole := area.Inradius()
		for range 20 {
			enough := whole * rng.Float64() * 1.2
			got := area.InradiusUpTo(enough)
			if got != whole && (got < enough || got > whole) {
				t.Fatalf("%v: %v of %v is enough, got %v", area, enough, whole, got)
			}
			if got != whole {
				ended++
			}
		}
		if got := area.InradiusUpTo(whole); got != whole {
			t.Fatalf("%v: %v, want %v", area, got, whole)
		}
	}
	if ended < 500 {
		t.Errorf("only %d searches ended before the whole", ended)
	}
}

// star is a ring around a point that does not cross itself, of about so many metres.
func star(rng *rand.Rand, p Point, n int, metres float64) Ring {
	m := MetricAt(p)
	r := make(Ring, n)
	for i := range r {
		sin, cos := math.Sincos((float64(i) + rng.Float64()*0.9) / float64(n) * 2 * math.Pi)
		size := metres * (0.2 + rng.Float64())
		r[i] = Point{p.Lon + size*cos/m.east[0], p.Lat + size*sin/m.north[0]}
	}
	return r
}
