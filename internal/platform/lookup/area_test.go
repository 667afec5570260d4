package lookup

import (
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"paddock/fence/geometry"
)

// placeAnywhere returns a point in 1e-7 degrees that is often on the antimeridian, at a pole, or in
// a small area.
func placeAnywhere(r *rand.Rand) geometry.Point {
	lons := []float64{-180, 180, 0, math.Round(r.Float64()*360 - 180), r.Float64()*4 - 180, 180 - r.Float64()*4}
	lats := []float64{-90, 90, 0, math.Round(r.Float64()*180 - 90), r.Float64()*4 - 90, 90 - r.Float64()*4, r.Float64()*4 - 2}
	round := func(v float64) float64 { return math.Round(v*1e7) / 1e7 }
	return geometry.Point{Lon: round(lons[r.IntN(len(lons))]), Lat: round(lats[r.IntN(len(lats))])}
}

func joined(values ...float64) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = strconv.FormatFloat(v, 'f', -1, 64)
	}
	return strings.Join(texts, ",")
}

// inBox goes round the parallel from the west of a box, which any point of a pole is on.
func inBox(w, s, e, n float64, p geometry.Point) bool {
	if p.Lat < s || p.Lat > n {
		return false
	}
	turn := func(degrees float64) float64 { return math.Mod(degrees+720, 360) }
	width := turn(e - w)
	if w == -180 && e == 180 {
		width = 360
	}
	return math.Abs(p.Lat) == 90 || turn(p.Lon-w+1e-9) <= width+2e-9
}

// TestBoxes holds that a box has the points that a walk round the earth finds in it.
func TestBoxes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	inside := 0
	for range 100_000 {
		a, b, p := placeAnywhere(r), placeAnywhere(r), placeAnywhere(r)
		s, n := min(a.Lat, b.Lat), max(a.Lat, b.Lat)
		if a.Lon == 180 && b.Lon == -180 {
			continue // the antimeridian alone, which the walk takes for no width, and is right
		}
		area, err := ParseArea(joined(a.Lon, s, b.Lon, n), "")
		if err != nil {
			t.Fatal(err)
		}
		want := inBox(a.Lon, s, b.Lon, n, p)
		if got := area.Contains(p); got != want {
			t.Fatalf("%v in %v,%v,%v,%v: %v, want %v", p, a.Lon, s, b.Lon, n, got, want)
		}
		if want {
			inside++
		}
	}
	if inside < 1000 {
		t.Errorf("only %d points were in their boxes", inside)
	}
}

// arcOf is the way over a sphere, which is at most 0.6 % from that over the ellipsoid.
func arcOf(p, q geometry.Point) float64 {
	const rad = math.Pi / 180
	vector := func(p geometry.Point) [3]float64 {
		sin, cos := math.Sincos(p.Lat * rad)
		east, north := math.Sincos(p.Lon * rad)
		return [3]float64{cos * north, cos * east, sin}
	}
	a, b := vector(p), vector(q)
	return 2 * 6_371_008.8 * math.Asin(min(1, math.Sqrt((a[0]-b[0])*(a[0]-b[0])+(a[1]-b[1])*(a[1]-b[1])+(a[2]-b[2])*(a[2]-b[2]))/2))
}

// TestNearness holds that the points within a distance are those of a sphere, apart from its error,
// also over the antimeridian and round the poles, and that no distance is greater than asked for.
func TestNearness(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	inside := 0
	for range 100_000 {
		from, metres := placeAnywhere(r), r.Float64()*MaxDistance
		p := placeAnywhere(r)
		if r.IntN(2) == 0 { // beside it
			p = geometry.Point{Lon: math.Remainder(from.Lon+r.Float64()*2-1, 360), Lat: max(-90, min(90, from.Lat+r.Float64()*2-1))}
		}
		area, err := ParseArea("", joined(from.Lon, from.Lat, metres))
		if err != nil {
			t.Fatal(err)
		}
		d, known := area.Distance(p)
		if !known {
			t.Fatal("no distance")
		}
		got, sphere := area.Contains(p), arcOf(from, p)
		if got && sphere > metres*1.01+0.01 || !got && sphere < metres*0.99-0.01 || got && d > metres+0.001 {
			t.Fatalf("%v from %v within %v: %v, the sphere has %v, the answer %v", p, from, metres, got, sphere, d)
		}
		if got {
			inside++
		}
	}
	if inside < 1000 {
		t.Errorf("only %d points were near", inside)
	}
}

func TestBoxAndDistanceTogether(t *testing.T) {
	area, err := ParseArea("0,0,1,1", "0,0,50000")
	if err != nil {
		t.Fatal(err)
	}
	for p, want := range map[geometry.Point]bool{
		{Lon: 0.1, Lat: 0.1}: true, {Lon: -0.1, Lat: 0.1}: false, {Lon: 0.9, Lat: 0.9}: false,
	} {
		if area.Contains(p) != want {
			t.Errorf("%v: not %v", p, want)
		}
	}
	if none, err := ParseArea("", ""); none != nil || err != nil {
		t.Error(none, err)
	}
	if _, ok := (*Area)(nil).Distance(geometry.Point{}); ok {
		t.Error("no area has a distance")
	}
}

func TestAreasThatAreNone(t *testing.T) {
	for _, c := range []struct{ bbox, near, want string }{
		{"1,2,3", "", `bbox "1,2,3": 3 numbers: want west,south,east,north`},
		{"1,2,3,4,5", "", `bbox "1,2,3,4,5": 5 numbers: want west,south,east,north`},
		{"1,2,x,4", "", `bbox "1,2,x,4": "x" is not a number: want west,south,east,north`},
		{"1,2,NaN,4", "", `bbox "1,2,NaN,4": "NaN" is not a number: want west,south,east,north`},
		{"1,5,3,4", "", `bbox "1,5,3,4": south is greater than north: the order is west,south,east,north`},
		{"1,2,3,91", "", `bbox "1,2,3,91": lat 91 is out of range -90 to 90: lon and lat swapped?`},
		{"1,2,300,4", "", `bbox "1,2,300,4": lon 300 is out of range -180 to 180`},
		{"", "1,2", `near "1,2": 2 numbers: want lon,lat,metres`},
		{"", "1,200,3", `near "1,200,3": lat 200 is out of range -90 to 90`},
		{"", "1,2,-1", `near "1,2,-1": the distance is not a number of metres from 0 to 100000`},
		{"", "1,2,100001", `near "1,2,100001": the distance is not a number of metres from 0 to 100000`},
		{"", "1,2,Inf", `near "1,2,Inf": "Inf" is not a number: want lon,lat,metres`},
	} {
		if _, err := ParseArea(c.bbox, c.near); err == nil || err.Error() != c.want {
			t.Errorf("%q %q: %v\nwant %s", c.bbox, c.near, err, c.want)
		}
	}
}
