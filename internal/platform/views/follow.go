package views

import (
	"paddock/fence"
	"paddock/fence/track"
)

// Follow gives the catalog and the book what a stored view holds, and View returns it from now on.
// It is Adopt for a node that applies the records of another one: the documents of the view are in
// the journal, and what has not changed since the last call stays as it is. Begin has to be told
// the record that begins the view.
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
	pages := map[fence.Page]hash{}
	for i, stored := range d.sets {
		set := s.sets[stored.id].set
		for k, p := range d.snaps[i].Pages() {
			pages[p] = pageHash(stored.pages, k)
		}
		c.sets = append(c.sets, trackedSet{set: set, id: stored.id, snap: d.snaps[i]})
		there[stored.name] = true
		if known, ok := v.catalog.Get(stored.name); !ok || known != set {
			change.Put = append(change.Put, set)
		}
	}
	for name := range s.sets {
		if !containsSet(d.sets, name) {
			delete(s.sets, name) // its id is never used again
		}
	}
	for _, name := range v.catalog.Names() {
		if !there[name] {
			change.Remove = append(change.Remove, name)
		}
	}
	if _, err := v.catalog.Apply(change); err != nil {
		return nil, err
	}
	v.next, s.files = d.next, d.files
	v.book.Adopt(d.book)
	s.pages = pages
	clear(s.rules)
	for n, p := range d.book.Pages() {
		s.rules[p] = pageHash(d.rules, n)
	}
	for _, h := range docs {
		s.known[h]++
	}
	s.live = append(s.live, liveView{id: hash(id), docs: docs})
	s.share(docs)
	s.decoded, s.order = map[hash]*storedView{hash(id): d}, []hash{hash(id)} // records do not go back
	v.current.Store(c)
	return d.view, nil
}

func containsSet(sets []storedSet, id track.SetID) bool {
	for i := range sets {
		if sets[i].id == id {
			return true
		}
	}
	return false
}

// documents returns the documents of a view.
func (d *storedView) documents(id hash) []hash {
	docs := append([]hash{id, d.head}, d.rules...)
	for i := range d.sets {
		docs = append(append(docs, d.sets[i].head), d.sets[i].pages...)
	}
	kept := docs[:0]
	for _, h := range docs {
		if h != (hash{}) {
			kept = append(kept, h)
		}
	}
	return kept
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
