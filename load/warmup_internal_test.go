package load

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// The median is that of the sorted values, with any number of equal ones.
func TestMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for n := 1; n < 200; n++ {
		values := make([]float64, n)
		for i := range values {
			values[i] = float64(rng.IntN(1 + n/2))
		}
		sorted := slices.Sorted(slices.Values(values))
		if want, got := (sorted[(n-1)/2]+sorted[n/2])/2, median(values); got != want {
			t.Fatalf("%v, want %v, of %v", got, want, sorted)
		}
	}
}
