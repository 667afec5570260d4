package ingest

import (
	"slices"
	"sync"
	"sync/atomic"

	"paddock/fence"
	"paddock/fence/track"
)

// Views provides the shards with the present contents of a catalog. A set gets an id when it is
// first seen and keeps it while it is in the catalog.
type Views struct {
	catalog *fence.Catalog
	current atomic.Pointer[catalogView]

	mu   sync.Mutex
	next track.SetID
}

// catalogView is a view, and its sets in the catalog's order.
type catalogView struct {
	view *track.View
	sets []trackedSet
}

type trackedSet struct {
	set  *fence.Set
	id   track.SetID
	snap *fence.Snapshot
}

// NewViews returns the views of a catalog.
func NewViews(c *fence.Catalog) *Views {
	v := &Views{catalog: c}
	v.current.Store(&catalogView{view: &track.View{}})
	return v
}

// View returns the present sets: the same pointer until a set changes. It costs one atomic load and
// one comparison a set.
func (v *Views) View() *track.View {
	if c := v.current.Load(); v.isCurrent(c) {
		return c.view
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.current.Load()
	if !v.isCurrent(c) {
		c = v.build(c)
		v.current.Store(c)
	}
	return c.view
}

func (v *Views) isCurrent(c *catalogView) bool {
	i := 0
	for s := range v.catalog.All() {
		if i == len(c.sets) || c.sets[i].set != s || c.sets[i].snap != s.Snapshot() {
			return false
		}
		i++
	}
	return i == len(c.sets)
}

func (v *Views) build(old *catalogView) *catalogView {
	c := &catalogView{view: &track.View{}}
	for s := range v.catalog.All() {
		i := slices.IndexFunc(old.sets, func(t trackedSet) bool { return t.set == s })
		t := trackedSet{set: s, snap: s.Snapshot()}
		if i >= 0 {
			t.id = old.sets[i].id
		} else {
			t.id = v.next
			v.next++
		}
		c.sets = append(c.sets, t)
		c.view.Sets = append(c.view.Sets, track.TrackedSet{ID: t.id, Name: s.Name(), Snapshot: t.snap})
	}
	slices.SortFunc(c.view.Sets, func(a, b track.TrackedSet) int { return int(a.ID) - int(b.ID) })
	return c
}
