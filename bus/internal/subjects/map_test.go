package subjects

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A persistent map has the entries of a Go map, at each time of its history, also when hashes
// collide wholly or in part.
func TestPersistentMapAgainstMap(t *testing.T) {
	for name, hash := range map[string]func(i int) uint64{
		"spread":       func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 },
		"equal":        func(int) uint64 { return 7 },
		"long prefix":  func(i int) uint64 { return uint64(i) << 56 },
		"few":          func(i int) uint64 { return uint64(i % 5) },
		"equal in low": func(i int) uint64 { return uint64(i)<<32 | 0xabc },
	} {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(3, 4))
			want := make(map[string]int)
			var m, old Map[int]
			var oldWant map[string]int
			for step := range 3000 {
				i := rng.IntN(60)
				key := fmt.Sprint(i)
				if rng.IntN(2) == 0 {
					m = m.With(hash(i), key, step)
					want[key] = step
				} else {
					m = m.Without(hash(i), key)
					delete(want, key)
				}
				if step == 1500 {
					old, oldWant = m, make(map[string]int)
					for k, v := range want {
						oldWant[k] = v
					}
				}
			}
			check := func(m Map[int], want map[string]int) {
				t.Helper()
				if m.n != len(want) {
					t.Errorf("%d entries, want %d", m.n, len(want))
				}
				for i := range 60 {
					key := fmt.Sprint(i)
					got, found := m.Get(hash(i), []byte(key))
					if v, in := want[key]; found != in || got != v {
						t.Errorf("%s: %d %v, want %d %v", key, got, found, v, in)
					}
				}
			}
			check(m, want)
			check(old, oldWant)
			for i := range 60 {
				m = m.Without(hash(i), fmt.Sprint(i))
			}
			if m.root != nil || m.n != 0 {
				t.Errorf("something is left: %+v", m)
			}
		})
	}
}
