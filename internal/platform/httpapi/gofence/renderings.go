package gofence

import (
	"maps"
	"sync"
	"sync/atomic"

	"paddock/fence"
)

// renderings caches the text of the answered fences, so that an answer is a copy. It holds at most
// one generation of each set: the first request that sees a new generation starts an empty cache.
// It is safe for concurrent use; readers take no lock and allocate nothing.
type renderings struct {
	mu   sync.Mutex // held while the map is changed
	sets atomic.Pointer[map[string]*slot]
}

// slot holds the renderings of the sets of one name.
type slot = atomic.Pointer[setRenderings]

// setRenderings holds the texts of one generation of one set.
type setRenderings struct {
	set        *fence.Set
	generation uint64
	fences     sync.Map // *fence.Fence -> []byte, never written to again
}

// of returns the renderings of a snapshot of a catalog's set. A request with an older snapshot than
// the cache gets renderings of its own.
func (r *renderings) of(c *fence.Catalog, set *fence.Set, snap *fence.Snapshot) *setRenderings {
	s := r.slot(c, set.Name())
	kept := s.Load()
	switch {
	case kept != nil && kept.set == set && kept.generation == snap.Generation():
		return kept
	case kept != nil && kept.set == set && kept.generation > snap.Generation():
		return &setRenderings{}
	}
	next := &setRenderings{set: set, generation: snap.Generation()}
	s.CompareAndSwap(kept, next)
	return next
}

// slot returns the slot of a name. A new one takes the place of those whose sets are gone.
func (r *renderings) slot(c *fence.Catalog, name string) *slot {
	if s := r.load()[name]; s != nil {
		return s
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sets := maps.Clone(r.load())
	if sets == nil {
		sets = map[string]*slot{}
	}
	if sets[name] == nil {
		maps.DeleteFunc(sets, func(name string, _ *slot) bool {
			_, there := c.Get(name)
			return !there
		})
		sets[name] = new(slot)
		r.sets.Store(&sets)
	}
	return sets[name]
}

func (r *renderings) load() map[string]*slot {
	if sets := r.sets.Load(); sets != nil {
		return *sets
	}
	return nil
}

// drop removes a deleted set.
func (r *renderings) drop(name string) {
	if r.load()[name] == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	sets := maps.Clone(r.load())
	delete(sets, name)
	r.sets.Store(&sets)
}

// append adds the text of a fence to dst.
func (s *setRenderings) append(dst []byte, f *fence.Fence) []byte {
	text, ok := s.fences.Load(f)
	if !ok {
		text = renderProperties(f)
		s.fences.Store(f, text)
	}
	return append(dst, text.([]byte)...)
}
