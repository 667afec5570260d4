package fence

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"paddock/fence/geojson"
)

// collectionOf is a document of one square with this id.
func collectionOf(t *testing.T, id int) *geojson.Collection {
	t.Helper()
	text := fmt.Sprintf(`{"type":"Feature","id":%d,"geometry":{"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]]]}}`, id)
	c, err := geojson.ReadGeoJSON(strings.NewReader(text), "x", geojson.ReadOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func setOf(t *testing.T, name string, id int) *Set {
	t.Helper()
	s, err := NewSet(name, Options{})
	if err == nil {
		_, err = s.Replace(collectionOf(t, id))
	}
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestApply(t *testing.T) {
	var c Catalog
	a, b := setOf(t, "a", 1), setOf(t, "b", 1)
	if _, err := c.Apply(Change{Put: []*Set{b, a}}); err != nil || !slices.Equal(c.Names(), []string{"a", "b"}) {
		t.Fatalf("%v, %v", c.Names(), err)
	}
	d, other := setOf(t, "d", 1), setOf(t, "b", 5)
	snaps, err := c.Apply(Change{
		Put:     []*Set{other},
		Replace: []Replacement{{d, collectionOf(t, 2)}, {a, collectionOf(t, 3)}},
		Remove:  []string{"nowhere"},
	})
	if err != nil || !slices.Equal(c.Names(), []string{"a", "b", "d"}) {
		t.Fatalf("%v, %v", c.Names(), err)
	}
	if snaps[0] != d.Snapshot() || snaps[1] != a.Snapshot() || a.Snapshot().Generation() != 2 {
		t.Error("not the snapshots of what was replaced")
	}
	if s, _ := c.Get("b"); s != other {
		t.Error("b is not the set that was put")
	}
	if _, err := c.Apply(Change{Remove: []string{"a", "d"}}); err != nil || !slices.Equal(c.Names(), []string{"b"}) {
		t.Errorf("%v, %v", c.Names(), err)
	}
}

func TestApplyFailsAsAWhole(t *testing.T) {
	var c Catalog
	a, b := setOf(t, "a", 1), setOf(t, "b", 1)
	if _, err := c.Apply(Change{Put: []*Set{a, b}}); err != nil {
		t.Fatal(err)
	}
	b.next = 1 << 32
	_, err := c.Apply(Change{Remove: []string{"a"}, Replace: []Replacement{{a, collectionOf(t, 2)}, {b, collectionOf(t, 2)}}})
	if !errors.Is(err, ErrFull) || a.Snapshot().Generation() != 1 || c.Len() != 2 {
		t.Errorf("%v; generation %d, %d sets", err, a.Snapshot().Generation(), c.Len())
	}
	empty := &geojson.Collection{Fences: []Fence{{Key: "x"}}}
	_, err = c.Apply(Change{Replace: []Replacement{{a, collectionOf(t, 2)}, {b, empty}}})
	if _, ok := errors.AsType[*geojson.RefusedError](err); !ok || a.Snapshot().Generation() != 1 {
		t.Errorf("%v; generation %d", err, a.Snapshot().Generation())
	}
}

// A writer that is changing a set finishes before the set is removed: its guard still finds the set
// in the catalog.
func TestApplyHoldsWhatItRemoves(t *testing.T) {
	var c Catalog
	s := setOf(t, "s", 1)
	if err := c.Add(s); err != nil {
		t.Fatal(err)
	}
	removed := make(chan error, 1)
	var changed atomic.Bool
	_, _, err := s.If(func(*Snapshot) error {
		go func() { // ends before the test, which waits for what it sends
			_, err := c.Apply(Change{Remove: []string{"s"}})
			if !changed.Load() {
				err = errors.Join(err, errors.New("removed while it was being changed"))
			}
			removed <- err
		}()
		for range 1000 { // were it not held, it would be gone by then
			runtime.Gosched()
		}
		if _, ok := c.Get("s"); !ok {
			t.Error("it has gone already")
		}
		changed.Store(true)
		return nil
	}).Put(Fence{Key: "late", Geometry: collectionOf(t, 1).Fences[0].Geometry})
	if err := errors.Join(err, <-removed); err != nil {
		t.Error(err)
	}
	if c.Len() != 0 {
		t.Error("it has stayed")
	}
}

// A reader that has seen a change in one set finds it in all others, and in the list.
func TestApplyIsOneMoment(t *testing.T) {
	t.Parallel()
	var c Catalog
	names := []string{"a", "b", "c"}
	var sets [3]*Set
	for i, name := range names {
		sets[i] = setOf(t, name, 0)
	}
	if _, err := c.Apply(Change{Put: sets[:]}); err != nil {
		t.Fatal(err)
	}
	var stop atomic.Bool
	var readers sync.WaitGroup
	for r := range 3 {
		readers.Go(func() {
			for ; !stop.Load(); runtime.Gosched() {
				first := sets[r].Snapshot().Generation()
				_, extra := c.Get(fmt.Sprintf("extra-%d", first))
				second := sets[(r+1)%3].Snapshot().Generation()
				third := sets[(r+2)%3].Snapshot().Generation()
				if first > second || second > third {
					t.Errorf("generations %d, %d, %d, seen one after the other", first, second, third)
					return
				}
				if third == first && !extra && first > 1 {
					t.Errorf("generation %d without its set", first)
					return
				}
			}
		})
	}
	for g := uint64(2); g < 200; g++ {
		ch := Change{Put: []*Set{setOf(t, fmt.Sprintf("extra-%d", g), 0)}, Remove: []string{fmt.Sprintf("extra-%d", g-1)}}
		for i := range sets {
			ch.Replace = append(ch.Replace, Replacement{sets[(i+int(g))%3], collectionOf(t, int(g))})
		}
		if _, err := c.Apply(ch); err != nil {
			t.Error(err)
		}
	}
	stop.Store(true)
	readers.Wait()
}
