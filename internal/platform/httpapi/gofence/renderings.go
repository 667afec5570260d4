package gofence

import (
	"maps"
	"sync"
	"sync/atomic"

	"paddock/fence"
)

// renderings keeps the text of the fences that were answered, so that an answer
// is a copy. It holds one snapshot of each set at most: the first request that
// sees a new generation starts afresh. Safe for concurrent use; readers take no
// lock and allocate nothing.
type renderings struct {
	mu   sync.Mutex // held by whoever changes the map
	sets atomic.Pointer[map[string]*slot]
}

// slot is the place of the sets of one name.
type slot = atomic.Pointer[setRenderings]

// setRenderings are those of one generation of one set.
type setRenderings struct {
	set        *fence.Set
	generation uint64
	fences     sync.Map // *fence.Fence -> []byte, never written to again
}

// of returns the renderings of a snapshot. A request that still holds an older
// one than the others renders for itself alone.
func (r *renderings) of(set *fence.Set, snap *fence.Snapshot) *setRenderings {
	s := r.slot(set.Name())
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

func (r *renderings) slot(name string) *slot {
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

// drop forgets a set that is no longer there.
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
