package trie_test

import (
	"maps"
	"math/rand/v2"
	"testing"

	"paddock/fence/track/rule/internal/trie"
)

// TestAgainstMap compares random changes with a map of the language, and holds that earlier maps
// stay as they were.
func TestAgainstMap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var m trie.Map[int, int]
	want := map[int]int{}
	kept, keptWant := m, map[int]int{}
	for i := range 20_000 {
		key := r.IntN(2000)
		if r.IntN(5) < 2 {
			m = m.Without(key)
			delete(want, key)
		} else {
			m = m.With(key, i)
			want[key] = i
		}
		if i%5000 == 2500 {
			kept, keptWant = m, maps.Clone(want)
		}
		if i%1000 == 999 {
			compare(t, m, want)
			compare(t, kept, keptWant)
		}
	}
	for range m.All() { // ends at the first
		break
	}
}

func compare(t *testing.T, m trie.Map[int, int], want map[int]int) {
	t.Helper()
	if got := maps.Collect(m.All()); !maps.Equal(got, want) || m.Len() != len(want) {
		t.Fatalf("%d entries, Len %d, want %d", len(got), m.Len(), len(want))
	}
	for key := range 2000 {
		v, ok := m.Get(key)
		if w, in := want[key]; v != w || ok != in {
			t.Fatalf("%d: %d, %v; want %d, %v", key, v, ok, w, in)
		}
	}
}
