package views

import (
	"maps"
	"slices"

	"paddock/fence"
	"paddock/fence/track"
)

// Follow gives the catalog and the book what a stored view holds, and View returns it from now on.
// It does what Adopt does, at a node that applies the records of another one. The documents of the
// view are in the journal already, and sets that have not changed since the last call stay as they
// are. The caller calls Begin too, with the record that begins the view.
func (v *Views) Follow(id []byte) (*track.View, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.store
	d, err := s.decode(id)
	if err != nil {
		return nil, err
	}
	docs := d.documents(hash(id))
	c := &catalogView{view: d.view, id: id, book: d.book}
	var change fence.Change
	there := map[string]bool{}
	clear(s.pages)
	for i, stored := range d.sets {
		set := s.sets[stored.id].set
		s.keepPages(d.snaps[i], stored)
		c.sets = append(c.sets, trackedSet{set: set, id: stored.id, snap: d.snaps[i]})
		there[stored.name] = true
		if known, ok := v.catalog.Get(stored.name); !ok || known != set {
			change.Put = append(change.Put, set)
		}
	}
	maps.DeleteFunc(s.sets, func(id track.SetID, _ *restoredSet) bool { // an id is never used again
		return !slices.ContainsFunc(d.sets, func(stored storedSet) bool { return stored.id == id })
	})
	for _, name := range v.catalog.Names() {
		if !there[name] {
			change.Remove = append(change.Remove, name)
		}
	}
	clear(s.rules)
	if err := v.take(d, change); err != nil {
		return nil, err
	}
	for _, h := range docs {
		s.known[h]++
	}
	s.live = append(s.live, liveView{id: hash(id), docs: docs})
	s.share(docs)
	s.decoded, s.order = map[hash]*storedView{hash(id): d}, []hash{hash(id)} // records do not go back
	v.current.Store(c)
	return d.view, s.pass()
}

// Arrived tells of values that the leader has stored. The documents among them belong to a view
// whose record is still to come, so Release keeps them.
func (v *Views) Arrived(names []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, name := range names {
		if h, ok := hashOf(name); ok {
			v.store.arrived[h] = true
		}
	}
}

// pass is called with each view that is followed. Of the documents that have arrived since the call
// before, some may belong to the next view: the leader stores them before its record. Earlier ones
// that are in no view are removed.
func (s *store) pass() error {
	var gone []string
	for h, young := range s.arrived {
		if young {
			s.arrived[h] = false
			continue
		}
		delete(s.arrived, h)
		if _, known := s.known[h]; !known {
			gone = append(gone, h.name())
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return s.log.Remove(gone...)
}

// documents returns the documents of a view.
func (d *storedView) documents(id hash) []hash {
	docs := append([]hash{id, d.head}, d.rules...)
	for i := range d.sets {
		docs = append(append(docs, d.sets[i].head), d.sets[i].pages...)
	}
	return slices.DeleteFunc(docs, func(h hash) bool { return h == hash{} })
}

// share notes the documents of the present view, which every node has.
func (s *store) share(docs []hash) {
	if !s.Replicated {
		return
	}
	s.shared = make(map[hash]struct{}, len(docs))
	for _, h := range docs {
		s.shared[h] = struct{}{}
	}
}

// has reports whether a document need not be stored. Where other nodes follow, it has to be one of
// the present view: they may have removed others.
func (s *store) has(h hash) bool {
	_, there := s.known[h]
	if there && s.Replicated {
		_, there = s.shared[h]
	}
	return there
}
