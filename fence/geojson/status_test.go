package geojson

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestStatus compares the blocks with a plain sorted list, through growth, splits and decay.
func TestStatus(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var s status
	for round := range 2 { // the second one uses the blocks again
		var want []int32
		for step := range 6000 {
			v := int32(rng.IntN(5000))
			at := s.search(func(id int32) int { return int(v - id) })
			i, found := slices.BinarySearch(want, v)

			below, ok := s.before(at)
			if ok != (i > 0) || (ok && below != want[i-1]) {
				t.Fatalf("before %d: %d, %v", v, below, ok)
			}
			above, ok := s.get(&at)
			if ok != (i < len(want)) || (ok && above != want[i]) {
				t.Fatalf("at %d: %d, %v", v, above, ok)
			}
			if below, ok := s.before(at); ok != (i > 0) || (ok && below != want[i-1]) {
				t.Fatalf("before %d, after get: %d, %v", v, below, ok)
			}
			switch {
			case found:
				s.remove(at)
				want = slices.Delete(want, i, i+1)
				if next, ok := s.get(&at); ok != (i < len(want)) || (ok && next != want[i]) {
					t.Fatalf("after %d was removed: %d, %v", v, next, ok)
				}
			case step < 4000 || rng.IntN(3) == 0:
				s.insert(at, v)
				want = slices.Insert(want, i, v)
			}
			if step > 4000 && len(want) > 0 { // decay faster than chance would
				at := s.search(func(id int32) int { return int(want[0] - id) })
				s.remove(at)
				want = want[1:]
			}
		}
		if got := slices.Concat(s.blocks...); !slices.Equal(got, want) {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
		s.reset()
	}
}
