package geojson

import (
	"math/rand/v2"
	"testing"

	"paddock/fence/geometry"
)

// TestInradiusUpTo: whatever a fence was asked before, no answer up to what is enough differs from
// that by the whole inradius.
func TestInradiusUpTo(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 50 {
		r := geometry.Ring{{}, {Lon: rng.Float64()}, {Lon: 1, Lat: 1}, {Lat: rng.Float64()}}
		f := Fence{Geometry: geometry.MultiPolygon{{r}}}
		whole := f.Geometry.Inradius()
		f.Keep()
		for range 10 {
			enough := 1.1 * rng.Float64() * whole
			if got := f.InradiusUpTo(enough); min(got, enough) != min(whole, enough) {
				t.Fatalf("%v: %v, but %v of %v is enough", r, got, enough, whole)
			}
		}
		if got := f.Inradius(); got != whole {
			t.Fatalf("%v: %v, want %v", r, got, whole)
		}
	}
}
