package gofence

import (
	"sync"

	"paddock/fence"
)

// renderings keeps the text of the fences that were answered, so that an answer
// is a copy. It holds one snapshot of each set at most: the first request that
// sees a new generation starts afresh. Safe for concurrent use.
type renderings struct {
	sets sync.Map // name of the set -> *setRenderings
}

// setRenderings are those of one generation of one set.
type setRenderings struct {
	set        *fence.Set
	generation uint64
	fences     sync.Map // fence.Ref -> []byte, never written to again
}

// of returns the renderings of a snapshot. A request that still holds an older
// one than the others renders for itself alone.
func (r *renderings) of(set *fence.Set, snap *fence.Snapshot) *setRenderings {
	fresh := func() *setRenderings { return &setRenderings{set: set, generation: snap.Generation()} }
	v, ok := r.sets.Load(set.Name())
	if !ok {
		v, _ = r.sets.LoadOrStore(set.Name(), fresh())
	}
	kept := v.(*setRenderings)
	switch {
	case kept.set == set && kept.generation == snap.Generation():
		return kept
	case kept.set == set && kept.generation > snap.Generation():
		return fresh()
	}
	next := fresh()
	r.sets.CompareAndSwap(set.Name(), v, next)
	return next
}

// drop forgets a set that is no longer there.
func (r *renderings) drop(name string) { r.sets.Delete(name) }

// append adds the text of fence ref to dst.
func (s *setRenderings) append(dst []byte, snap *fence.Snapshot, ref fence.Ref) []byte {
	if text, ok := s.fences.Load(ref); ok {
		return append(dst, text.([]byte)...)
	}
	text := renderProperties(snap.Fence(ref))
	s.fences.Store(ref, text)
	return append(dst, text...)
}
