package fence

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sync"
)

// Catalog holds named sets. The zero Catalog is empty and ready to use. It is safe for any
// number of goroutines.
type Catalog struct {
	mu   sync.RWMutex // guards what follows
	sets map[string]*Set
}

// Get is the set of that name.
func (c *Catalog) Get(name string) (*Set, bool) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	s, ok := c.sets[name]
	return s, ok
}

// Names lists the names of the sets, sorted.
func (c *Catalog) Names() []string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return slices.Sorted(maps.Keys(c.sets))
}

// Len is the number of sets.
func (c *Catalog) Len() int {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.sets)
}

// All yields the sets by name. Sets that are added or removed meanwhile may be missing or seen.
func (c *Catalog) All() iter.Seq[*Set] {
	return func(yield func(*Set) bool) {
		for _, name := range c.Names() {
			if s, ok := c.Get(name); ok && !yield(s) {
				return
			}
		}
	}
}

// Add adds a set. The error wraps ErrExists if its name is taken.
func (c *Catalog) Add(s *Set) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.sets[s.name]; ok {
		return fmt.Errorf("%w: %q", ErrExists, s.name)
	}
	if c.sets == nil {
		c.sets = map[string]*Set{}
	}
	c.sets[s.name] = s
	return nil
}

// Remove takes a set out, and reports whether there was one.
func (c *Catalog) Remove(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.sets[name]
	delete(c.sets, name)
	return ok
}
