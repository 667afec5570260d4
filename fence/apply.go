package fence

import (
	"cmp"
	"slices"

	"paddock/fence/geojson"
)

// Change is a step of a catalog that readers see all of, or nothing.
type Change struct {
	Put     []*Set        // come in, each in place of the one of its name if there is one
	Replace []Replacement // get other fences; a set that is not in the catalog comes in
	Remove  []string      // names of sets that go
}

// Replacement is a set and the collection that becomes the whole of it: see Set.Replace.
type Replacement struct {
	Set        *Set
	Collection *geojson.Collection
}

// Apply makes the change. Readers see it at one moment: a reader that has seen any of it, in
// whichever set, finds the rest of it too. It returns the snapshots of the replaced sets, in the
// order of the change. If it fails nothing has changed, and the error is that of Set.Replace. No
// name may occur twice.
//
// Only writers of the same sets wait while their indexes are built. A removed set is locked too: a
// writer that is changing it finishes first.
func (c *Catalog) Apply(ch Change) ([]*Snapshot, error) {
	found := make([]map[int][]geojson.Finding, len(ch.Replace))
	for i, r := range ch.Replace {
		var err error
		if found[i], err = r.Collection.Check(r.Set.options.Strict); err != nil {
			return nil, err
		}
	}
	defer c.hold(ch)()
	for _, r := range ch.Replace {
		if !r.Set.room(r.Collection) {
			return nil, ErrFull
		}
	}
	next := make([]*Snapshot, len(ch.Replace))
	for i, r := range ch.Replace {
		next[i] = r.Set.prepare(r.Set.rebuild(r.Collection, found[i]))
	}
	c.commit(ch, next)
	return next, nil
}

// hold locks the replaced and the removed sets, until release.
func (c *Catalog) hold(ch Change) (release func()) {
	for { // until the locked sets are the ones to be removed
		held := ch.touched(c)
		for _, s := range held {
			s.mu.Lock()
		}
		release = func() {
			for _, s := range held {
				s.mu.Unlock()
			}
		}
		if slices.Equal(held, ch.touched(c)) {
			return release
		}
		release()
	}
}

// touched returns the replaced sets, and the sets of the catalog that are removed, by name. Code
// that locks several sets locks them in this order, and the catalog last.
func (ch Change) touched(c *Catalog) []*Set {
	var sets []*Set
	for _, r := range ch.Replace {
		sets = append(sets, r.Set)
	}
	for _, name := range ch.Remove {
		if s, ok := c.Get(name); ok && !slices.Contains(sets, s) {
			sets = append(sets, s)
		}
	}
	slices.SortFunc(sets, func(a, b *Set) int { return cmp.Compare(a.name, b.name) })
	return sets
}

// commit publishes the next snapshots of the sets that are replaced, which the caller has
// locked, together with the list of sets.
func (c *Catalog) commit(ch Change, next []*Snapshot) {
	c.writing.Lock()
	defer c.writing.Unlock()
	var now commit
	sets := ch.list(c.load())
	c.sets.stage(&sets, &now)
	for i, r := range ch.Replace {
		r.Set.current.stage(next[i], &now)
	}
	now.done.Store(true)
	c.sets.settle()
	for _, r := range ch.Replace {
		r.Set.current.settle()
		r.Set.tend()
	}
}

// list gives the sets after the change, by name.
func (ch Change) list(sets []*Set) []*Set {
	sets = slices.Clone(sets)
	for _, name := range ch.Remove {
		if i, ok := find(sets, name); ok {
			sets = slices.Delete(sets, i, i+1)
		}
	}
	put := func(s *Set) {
		i, ok := find(sets, s.name)
		if ok {
			sets[i] = s
			return
		}
		sets = slices.Insert(sets, i, s)
	}
	for _, r := range ch.Replace {
		put(r.Set)
	}
	for _, s := range ch.Put {
		put(s)
	}
	return sets
}
