package geometry

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// ratOrient is the definition of orient in exact rationals.
func ratOrient(a, b, c Point) int {
	r := func(x float64) *big.Rat { return new(big.Rat).SetFloat64(x) }
	sub := func(x, y float64) *big.Rat { return new(big.Rat).Sub(r(x), r(y)) }
	l := new(big.Rat).Mul(sub(b.Lon, a.Lon), sub(c.Lat, a.Lat))
	m := new(big.Rat).Mul(sub(b.Lat, a.Lat), sub(c.Lon, a.Lon))
	return l.Cmp(m)
}

// ulps moves x by n representable values.
func ulps(x float64, n int) float64 {
	for ; n > 0; n-- {
		x = math.Nextafter(x, math.Inf(1))
	}
	for ; n < 0; n++ {
		x = math.Nextafter(x, math.Inf(-1))
	}
	return x
}

func checkOrient(t *testing.T, a, b, c Point) {
	t.Helper()
	if got, want := Orient(a, b, c), ratOrient(a, b, c); got != want {
		t.Fatalf("orient(%v, %v, %v) = %d, want %d", a, b, c, got, want)
	}
}

func TestOrientNearLines(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 800 {
		a := Point{rng.Float64()*360 - 180, rng.Float64()*180 - 90}
		b := Point{a.Lon + math.Ldexp(rng.Float64()-0.5, -rng.IntN(40)), a.Lat + math.Ldexp(rng.Float64()-0.5, -rng.IntN(40))}
		s := rng.Float64()*3 - 1
		c := Point{a.Lon + s*(b.Lon-a.Lon), a.Lat + s*(b.Lat-a.Lat)}
		for i := -2; i <= 2; i++ {
			for j := -2; j <= 2; j++ {
				checkOrient(t, a, b, Point{ulps(c.Lon, i), ulps(c.Lat, j)})
			}
		}
	}
}

// TestOrientUsesEveryStage makes sure that the cases above are as hard as they claim.
func TestOrientUsesEveryStage(t *testing.T) {
	a, b := Point{0.1, 0.1}, Point{0.3, 0.3}
	for c, want := range map[Point]int{
		{0.2, 0.2}:                        0,
		{0.2, ulps(0.2, 1)}:               1,
		{0.2, ulps(0.2, -1)}:              -1,
		{ulps(0.7, 1), ulps(0.7, 1)}:      0,
		{12345678.5, 12345678.5}:          0,
		{12345678.5, ulps(12345678.5, 1)}: 1,
	} {
		checkOrient(t, a, b, c)
		if got := orientExpand(a, b, c); got != want {
			t.Errorf("expansion for %v: %d, want %d", c, got, want)
		}
		if got := orientBig(a, b, c); got != want {
			t.Errorf("big floats for %v: %d, want %d", c, got, want)
		}
	}
}

func TestOrientAtTheLimitsOfFloat64(t *testing.T) {
	t.Parallel()
	values := []float64{
		0, math.Copysign(0, -1), 5e-324, -5e-324, 1e-323, 2.2250738585072014e-308, 1e-200, -1e-200, 1e-150, 1e-140,
		ulps(1e-140, 1), 1e-110, 1e-20, 0.5, 1, ulps(1, 1), -180, 180, 90, 1e150, 1e200, -1e200,
		math.MaxFloat64, -math.MaxFloat64,
	}
	rng := rand.New(rand.NewPCG(3, 4))
	pick := func() Point { return Point{values[rng.IntN(len(values))], values[rng.IntN(len(values))]} }
	for range 10_000 {
		checkOrient(t, pick(), pick(), pick())
	}
}

func TestOrientOfTinyCollinear(t *testing.T) {
	// The products of these differences underflow to 0: a filter without a lower bound calls
	// all of them collinear.
	for _, e := range []int{-1070, -1000, -600, -540, -500, -470, -300} {
		u := math.Ldexp(1, e)
		a, b := Point{0, 0}, Point{8 * u, 4 * u}
		for dx := -3.0; dx <= 3; dx++ {
			for dy := -3.0; dy <= 3; dy++ {
				checkOrient(t, a, b, Point{4*u + dx*u, 2*u + dy*u})
			}
		}
	}
}

func TestOrientOfWhatIsNotFinite(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		if got := Orient(Point{0, 0}, Point{1, x}, Point{x, 2}); got != 0 {
			t.Errorf("%v: %d", x, got)
		}
	}
}

// TestOrientWhereTheFilterMustNotDecide holds values whose products are a few denormals, so
// that the rounded determinant has the wrong sign although it exceeds the bound of the filter.
func TestOrientWhereTheFilterMustNotDecide(t *testing.T) {
	for _, tc := range []struct {
		a, b, c Point
		want    int
	}{
		{
			Point{-1.111379374742538e-162, -1.1113793747425387e-162},
			Point{-2.2227587494850775e-162, -2.222758749485078e-162},
			Point{7.40327382559606e-178, -2.4677579418653533e-178},
			1,
		},
		{
			Point{2.222758749485077e-162, 1.1113793747425387e-162},
			Point{2.2227587494850775e-162, 1.111379374742539e-162},
			Point{0, -1.2338789709326767e-178},
			-1,
		},
	} {
		checkOrient(t, tc.a, tc.b, tc.c)
		if got := Orient(tc.a, tc.b, tc.c); got != tc.want {
			t.Errorf("%v, %v, %v: %d, want %d", tc.a, tc.b, tc.c, got, tc.want)
		}
	}
}
