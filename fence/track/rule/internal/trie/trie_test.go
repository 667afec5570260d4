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
			expectApart(t, m, kept)
			expectApart(t, kept, m)
			expectApart(t, m, trie.Map[int, int]{}.With(key, -1))
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

// expectApart checks that each key with different values is told once, and no other one twice.
func expectApart(t *testing.T, a, b trie.Map[int, int]) {
	t.Helper()
	told := map[int]bool{}
	for key := range a.Apart(b) {
		if told[key] {
			t.Fatalf("%d is told twice", key)
		}
		told[key] = true
	}
	for key := range 2000 {
		v, in := a.Get(key)
		if w, there := b.Get(key); (v != w || in != there) && !told[key] {
			t.Fatalf("%d is not told: %d, %v; %d, %v", key, v, in, w, there)
		}
	}
	for range a.Apart(b) { // ends at the first
		break
	}
	few := 0
	for range a.With(-1, 0).Apart(a) {
		few++
	}
	if few > 20 {
		t.Fatalf("%d keys are apart after one change", few)
	}
}
