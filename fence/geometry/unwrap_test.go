package geometry

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

func TestWrapLon(t *testing.T) {
	for lon, want := range map[float64]float64{
		0: 0, 180: 180, -180: -180, 181: -179, -181: 179, 360: 0, 540: 180, -540: -180, 541: -179,
		720: 0, 900: 180, -900: -180, 901: -179, 1e18: -80,
	} {
		if got := WrapLon(lon); got != want {
			t.Errorf("%v is wrapped to %v, want %v", lon, got, want)
		}
	}
	for _, lon := range []float64{math.Inf(1), math.Inf(-1), math.NaN()} {
		if got := WrapLon(lon); got == got {
			t.Errorf("%v is wrapped to %v", lon, got)
		}
	}
	rng := rand.New(rand.NewPCG(31, 31))
	for range 1000 {
		lon := math.Ldexp(rng.NormFloat64(), rng.IntN(1000))
		got := WrapLon(lon)
		turns := new(big.Rat).Sub(new(big.Rat).SetFloat64(lon), new(big.Rat).SetFloat64(got))
		if !(math.Abs(got) <= 180) || !turns.Quo(turns, big.NewRat(360, 1)).IsInt() {
			t.Fatalf("%v is wrapped to %v", lon, got)
		}
	}
}
