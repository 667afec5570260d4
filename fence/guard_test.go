package fence

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

func box(t *testing.T, key string) Fence {
	t.Helper()
	area, err := geometry.Rectangle(0, 0, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	return Fence{Key: key, Geometry: area}
}

// A change that its guard refuses leaves the set as it is.
func TestGuards(t *testing.T) {
	s, err := NewSet("s", Options{})
	if err != nil {
		t.Fatal(err)
	}
	refused := errors.New("refused")
	at := func(generation uint64) Guard {
		return func(now *Snapshot) error {
			if now.Generation() != generation {
				return refused
			}
			return nil
		}
	}
	c := &Catalog{}
	if err := c.Add(s); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name       string
		change     func() error
		want       error
		generation uint64
	}{
		{"put", func() error { _, _, err := s.If(at(0)).Put(box(t, "a")); return err }, nil, 1},
		{"put too late", func() error { _, _, err := s.If(at(0)).Put(box(t, "b")); return err }, refused, 1},
		{"replace too late", func() error { _, err := s.If(at(0)).Replace(&geojson.Collection{}); return err }, refused, 1},
		{"replace", func() error {
			_, err := s.If(at(1)).Replace(&geojson.Collection{Fences: []Fence{box(t, "a")}})
			return err
		}, nil, 2},
		{"delete too late", func() error { _, _, err := s.If(at(1)).Delete("a"); return err }, refused, 2},
		{"delete", func() error { _, _, err := s.If(at(2)).Delete("a"); return err }, nil, 3},
		{"remove too late", func() error { _, err := c.RemoveIf(s, at(2)); return err }, refused, 3},
		{"remove", func() error { _, err := c.RemoveIf(s, at(3)); return err }, nil, 3},
	} {
		if err := step.change(); err != step.want || s.Snapshot().Generation() != step.generation {
			t.Errorf("%s: %v, generation %d", step.name, err, s.Snapshot().Generation())
		}
	}
	if last, err := c.RemoveIf(s, at(3)); last != nil || err != nil || c.Len() != 0 {
		t.Errorf("again: %v, %v, %d sets", last, err, c.Len())
	}
}

// Of writers that all start from the same state one wins each round: none of their
// changes is lost.
func TestGuardedWritersLoseNothing(t *testing.T) {
	const writers, each = 4, 50
	s, err := NewSet("s", Options{})
	if err != nil {
		t.Fatal(err)
	}
	stale := errors.New("stale")
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			for n := 0; n < each; {
				seen := s.Snapshot()
				_, _, err := s.If(func(now *Snapshot) error {
					if now != seen {
						return stale
					}
					return nil
				}).Put(box(t, fmt.Sprint(w, "-", n)))
				if err == nil {
					n++
				} else if err != stale {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	if snap := s.Snapshot(); snap.Len() != writers*each {
		t.Errorf("%d fences, generation %d", snap.Len(), snap.Generation())
	}
}
