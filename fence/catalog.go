package fence

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
)

// Catalog holds named sets. The zero Catalog is empty and ready to use. It is safe for any
// number of goroutines; readers take no lock and allocate nothing.
type Catalog struct {
	writing sync.Mutex        // held while the list changes
	sets    published[[]*Set] // by name; the slice is never changed. Nil: none
}

func (c *Catalog) load() []*Set {
	if p := c.sets.Load(); p != nil {
		return *p
	}
	return nil
}

// find is the place of the set of that name in sets, or where it would be. By hand: a
// comparison that is a function would let a name that was made from bytes escape.
func find(sets []*Set, name string) (int, bool) {
	low, high := 0, len(sets)
	for low < high {
		if middle := (low + high) / 2; sets[middle].name < name {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, low < len(sets) && sets[low].name == name
}

// Get is the set of that name.
func (c *Catalog) Get(name string) (*Set, bool) {
	sets := c.load()
	i, ok := find(sets, name)
	if !ok {
		return nil, false
	}
	return sets[i], true
}

// Names lists the names of the sets, sorted.
func (c *Catalog) Names() []string {
	var names []string
	for _, s := range c.load() {
		names = append(names, s.name)
	}
	return names
}

// Len is the number of sets.
func (c *Catalog) Len() int { return len(c.load()) }

// All yields the sets by name, as they are when the iteration begins.
func (c *Catalog) All() iter.Seq[*Set] {
	return func(yield func(*Set) bool) {
		for _, s := range c.load() {
			if !yield(s) {
				return
			}
		}
	}
}

// Add adds a set. The error wraps ErrExists if its name is taken.
func (c *Catalog) Add(s *Set) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	old := c.load()
	i, ok := find(old, s.name)
	if ok {
		return fmt.Errorf("%w: %q", ErrExists, s.name)
	}
	sets := slices.Insert(slices.Clone(old), i, s)
	c.sets.Store(&sets)
	return nil
}

// Remove takes a set out, and reports whether there was one.
func (c *Catalog) Remove(name string) bool {
	for { // until it stays the same set
		s, ok := c.Get(name)
		if !ok {
			return false
		}
		if last, _ := c.RemoveIf(s, nil); last != nil {
			return true
		}
	}
}

// RemoveIf removes this set if the guard allows it, while no writer changes the set, and returns
// its last state: nil if it is not in the catalog. The error is the guard's.
func (c *Catalog) RemoveIf(s *Set, allowed Guard) (last *Snapshot, err error) {
	s.mu.Lock() // a set first, the catalog last: see Apply
	defer s.mu.Unlock()
	c.writing.Lock()
	defer c.writing.Unlock()
	old := c.load()
	i, ok := find(old, s.name)
	if !ok || old[i] != s {
		return nil, nil
	}
	last = s.Snapshot()
	if err := allowed.check(last); err != nil {
		return last, err
	}
	sets := slices.Delete(slices.Clone(old), i, i+1)
	c.sets.Store(&sets)
	return last, nil
}

var (
	// ErrNoKey is returned for a Put of a fence without a key.
	ErrNoKey = errors.New("fence has no key")
	// ErrFull is returned when a set has used up its 2^32 refs.
	ErrFull = errors.New("set is full")
	// ErrExists is wrapped where a set's name is taken.
	ErrExists = errors.New("set exists")
	// ErrName is wrapped where a set's name is empty.
	ErrName = errors.New("no name for a set")
	// ErrNoSets is wrapped where a directory holds no set.
	ErrNoSets = errors.New("no sets")
)
