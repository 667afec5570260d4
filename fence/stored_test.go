package fence

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// storedOf returns a snapshot's stored form, with all pages.
func storedOf(s *Snapshot) (head []byte, pages map[int][]byte) {
	pages = map[int][]byte{}
	for i, p := range s.Pages() {
		pages[i] = p.Append(nil)
	}
	return s.AppendHead(nil), pages
}

// changedPages returns the pages of a snapshot that are not those of another one.
func changedPages(from, to *Snapshot) map[int][]byte {
	changed, old := map[int][]byte{}, from.Pages()
	for i, p := range to.Pages() {
		if i >= len(old) || old[i] != p {
			changed[i] = p.Append(nil)
		}
	}
	return changed
}

// No page of a set is larger than the bound for its fences, and the bound is not far more.
func TestStoredSize(t *testing.T) {
	t.Parallel()
	var fences []Fence
	for n := range 300 {
		ring := []geometry.Point{{Lon: 0, Lat: -1}}
		for p := range 200 + n%200 {
			ring = append(ring, geometry.Point{Lon: float64(p) / 100, Lat: float64(p % 2)})
		}
		fences = append(fences, Fence{ID: fmt.Append(nil, n), Properties: []byte(`{"a":1}`), Geometry: geometry.MultiPolygon{{ring}}})
	}
	s, err := NewSet("x", Options{})
	if err != nil {
		t.Fatal(err)
	}
	snap, err := s.Replace(&geojson.Collection{Fences: fences})
	if err != nil {
		t.Fatal(err)
	}
	most := 0
	for _, p := range snap.Pages() {
		most = max(most, len(p.Append(nil)))
	}
	if bound := StoredSize(fences); bound < most || bound > most*2 {
		t.Errorf("a page has %d bytes, and the bound is %d", most, bound)
	}
}

// A set that is restored has the keys, refs, generation, findings and answers of the one that was
// stored, and goes on as it does.
func TestStoredSetOfEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range Kinds() {
		o := Options{Kind: kind, Boundary: geometry.BoundaryClosed}
		made := documentSet(t, imageDocument, o)
		made.Delete("a")
		restored, err := NewSet("x", o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := restored.Restore(storedOf(made.Snapshot())); err != nil {
			t.Fatal(err)
		}
		sameSets(t, made, restored)
		for _, s := range []*Set{made, restored} {
			if _, _, err := s.Add(*made.Snapshot().Fence(2)); err != nil {
				t.Fatal(err)
			}
		}
		sameSets(t, made, restored)
	}
}

// A set follows another one by the changed pages alone, forwards and backwards.
func TestStoredPagesFollowEdits(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(7, 7))
	made, err := NewSet("x", Options{Kind: KindRTree})
	if err != nil {
		t.Fatal(err)
	}
	follower, err := NewSet("x", Options{Kind: KindRTree})
	if err != nil {
		t.Fatal(err)
	}
	seen := made.Snapshot() // that the follower has
	past := []*Snapshot{seen}
	for round := range 60 {
		for range 1 + rng.IntN(40)*rng.IntN(20) {
			key := fmt.Sprint(rng.IntN(700))
			if rng.IntN(3) == 0 {
				made.Delete(key)
				continue
			}
			x, y := float64(rng.IntN(20)), float64(rng.IntN(8))
			f := Fence{Key: key, Properties: []byte(`{"n":1}`), Geometry: geometry.MultiPolygon{{{{Lon: x, Lat: y}, {Lon: x + 1.5, Lat: y}, {Lon: x, Lat: y + 1}}}}}
			if _, _, err := made.Put(f); err != nil {
				t.Fatal(err)
			}
		}
		past = append(past, made.Snapshot())
		target := past[len(past)-1]
		if round%7 == 6 {
			target = past[rng.IntN(len(past))]
		}
		if _, err := follower.Restore(target.AppendHead(nil), changedPages(seen, target)); err != nil {
			t.Fatal(err)
		}
		seen = target
		if round%7 != 6 {
			sameSets(t, made, follower)
		}
		if follower.Snapshot().Len() != target.Len() {
			t.Fatalf("%d fences, want %d", follower.Snapshot().Len(), target.Len())
		}
	}
	// The refs of removed fences stay used.
	for _, s := range []*Set{made, follower} {
		if s == follower {
			if _, err := s.Restore(made.Snapshot().AppendHead(nil), changedPages(seen, made.Snapshot())); err != nil {
				t.Fatal(err)
			}
		}
	}
	f := Fence{Key: "last", Geometry: geometry.MultiPolygon{{{{Lon: 1, Lat: 1}, {Lon: 2, Lat: 1}, {Lon: 1, Lat: 2}}}}}
	for _, s := range []*Set{made, follower} {
		if _, _, err := s.Put(f); err != nil {
			t.Fatal(err)
		}
	}
	sameSets(t, made, follower)
}

// A snapshot has the digest of what it was restored from, and each edit gives another one.
func TestDigest(t *testing.T) {
	t.Parallel()
	made := documentSet(t, imageDocument, Options{Kind: KindRTree})
	follower, err := NewSet("x", Options{Kind: KindRTree})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[[32]byte]bool{follower.Snapshot().Digest(): true}
	f := *made.Snapshot().Fence(2)
	before := follower.Snapshot()
	for round := range 600 {
		if _, err := follower.Restore(made.Snapshot().AppendHead(nil), changedPages(before, made.Snapshot())); err != nil {
			t.Fatal(err)
		}
		d := made.Snapshot().Digest()
		if seen[d] || d != follower.Snapshot().Digest() {
			t.Fatalf("round %d: digest %x, restored %x", round, d, follower.Snapshot().Digest())
		}
		seen[d], before = true, made.Snapshot()
		if f.Key = fmt.Sprint(round - round%3); round%3 == 2 {
			made.Delete(f.Key)
		} else if _, _, err := made.Put(f); err != nil {
			t.Fatal(err)
		}
	}
}

// A set that goes back to an earlier state has its answers: a fence that comes again with its ref
// is found, whatever the cells could take.
func TestRestoreOfAnEarlierState(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 60 {
		made, err := NewSet("x", Options{Kind: KindCellmap})
		if err != nil {
			t.Fatal(err)
		}
		var past []*Snapshot
		for n := range 8 {
			x := 2 * rng.Float64()
			f := Fence{Key: fmt.Sprint(rng.IntN(3)), Geometry: geometry.MultiPolygon{{{{Lon: x, Lat: 0}, {Lon: x + 1, Lat: 0}, {Lon: x + 1, Lat: 1}, {Lon: x, Lat: 1}}}}}
			if n < 2 {
				f.Key = fmt.Sprint("square", n)
			}
			if _, _, err := made.Put(f); err != nil {
				t.Fatal(err)
			}
			past = append(past, made.Snapshot())
		}
		follower, err := NewSet("x", Options{Kind: KindCellmap})
		if err != nil {
			t.Fatal(err)
		}
		seen := follower.Snapshot()
		for range 20 {
			target := past[rng.IntN(len(past))]
			if _, err := follower.Restore(target.AppendHead(nil), changedPages(seen, target)); err != nil {
				t.Fatal(err)
			}
			for seen = target; rng.IntN(30) > 0; {
				lon := 3 * rng.Float64()
				if got, want := follower.Snapshot().Append(nil, lon, 0.5), target.Append(nil, lon, 0.5); !slices.Equal(got, want) {
					t.Fatalf("generation %d at %v: %v, want %v", target.Generation(), lon, got, want)
				}
			}
		}
	}
}

func FuzzRestore(f *testing.F) {
	made, err := NewSet("x", Options{})
	if err != nil {
		f.Fatal(err)
	}
	for _, x := range []float64{1, 2} {
		_, _, _ = made.Put(Fence{Key: fmt.Sprint(x), ID: []byte("1"), Geometry: geometry.MultiPolygon{{{{Lon: x, Lat: 1}, {Lon: 2 + x, Lat: 1}, {Lon: x, Lat: 2}}}}})
	}
	head, pages := storedOf(made.Snapshot())
	f.Add(head, pages[0])
	f.Fuzz(func(t *testing.T, head, page []byte) {
		s, err := NewSet("x", Options{Kind: KindBrute})
		if err != nil {
			t.Fatal(err)
		}
		before := s.Snapshot()
		after, err := s.Restore(head, map[int][]byte{0: page})
		if err != nil {
			if !errors.Is(err, ErrStored) || s.Snapshot() != before {
				t.Fatalf("%v; changed: %t", err, s.Snapshot() != before)
			}
			return
		}
		again, err := NewSet("x", Options{Kind: KindBrute})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := again.Restore(storedOf(after)); err != nil {
			t.Fatalf("what was restored is not restored again: %v", err)
		}
	})
}
