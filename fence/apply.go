package fence

import (
	"cmp"
	"slices"
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
	Collection *Collection
}

// Apply makes the change. Readers see it happen at one moment: who has seen any of it, in
// whichever set, finds the rest of it too. It gives the snapshots of what was replaced, in that
// order. If it fails nothing has changed, and the error is that of Set.Replace. No name may
// occur twice.
//
// Only those who change the same sets wait while their indexes are built.
func (c *Catalog) Apply(ch Change) ([]*Snapshot, error) {
	found := make([]map[int][]Finding, len(ch.Replace))
	for i, r := range ch.Replace {
		var err error
		if found[i], err = r.Set.inspect(r.Collection); err != nil {
			return nil, err
		}
	}
	// Whoever locks several sets does so by name, and the catalog last.
	byName := slices.Clone(ch.Replace)
	slices.SortFunc(byName, func(a, b Replacement) int { return cmp.Compare(a.Set.name, b.Set.name) })
	for _, r := range byName {
		r.Set.mu.Lock()
		defer r.Set.mu.Unlock()
	}
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
