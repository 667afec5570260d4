package views

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
)

// storedView is a view as a document has it.
type storedView struct {
	next     track.SetID
	boundary geometry.Boundary
	files    []byte
	head     hash   // of the book
	rules    []hash // its pages
	sets     []storedSet

	book  *rulebook.State
	lost  bool              // sets are missing
	view  *track.View       // with restored sets
	snaps []*fence.Snapshot // in the order of sets
}

type storedSet struct {
	id    track.SetID
	name  string
	head  hash
	pages []hash // zero: no fences
}

// restoredSet is a set, and the stored state that it has.
type restoredSet struct {
	set      *fence.Set
	boundary geometry.Boundary
	head     hash
	pages    []hash
}

// forget ends the use of decoded views.
func (s *store) forget() {
	s.sets, s.decoded, s.order, s.last = map[track.SetID]*restoredSet{}, map[hash]*storedView{}, nil, nil
}

// doc reads a document.
func (s *store) doc(h hash) ([]byte, error) {
	doc, err := s.log.Get(h.name())
	if err != nil {
		return nil, fmt.Errorf("%w: document %x: %w", ErrView, h[:8], err)
	}
	if sha256.Sum256(doc) != h {
		return nil, fmt.Errorf("%w: document %x is damaged", ErrView, h[:8])
	}
	return doc, nil
}

// Decode returns the view with an id. It is for the start, before Adopt.
func (v *Views) Decode(id []byte) (*track.View, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	d, err := v.store.decode(id)
	if err != nil {
		return nil, err
	}
	return d.view, nil
}

func (s *store) decode(id []byte) (*storedView, error) {
	if len(id) != len(hash{}) {
		return nil, ErrView
	}
	h := hash(id)
	if d := s.decoded[h]; d != nil {
		return d, nil
	}
	doc, err := s.doc(h)
	if err != nil {
		return nil, err
	}
	d, err := parseView(doc)
	if err != nil {
		return nil, err
	}
	if d.book, err = s.restoreBook(d); err != nil && s.Lost != nil {
		s.Lost("rules and policies", err)
		d.book, d.head, d.rules, d.lost = rulebook.New(track.Policy{}).State(), hash{}, nil, true
	} else if err != nil {
		return nil, err
	}
	d.view = &track.View{Rules: rulesOf(d.book)}
	sets := d.sets
	d.sets = nil
	for _, stored := range sets {
		set, err := s.restore(stored, d.boundary)
		if err != nil && s.Lost != nil {
			s.Lost(stored.name, err)
			d.lost = true
			continue
		}
		if err != nil {
			return nil, err
		}
		d.sets = append(d.sets, stored)
		d.snaps = append(d.snaps, set.Snapshot())
		d.view.Sets = append(d.view.Sets, tracked(stored.id, stored.name, set.Snapshot(), d.book))
	}
	sortSets(d.view)
	s.decoded[h], s.last = d, d
	if s.order = append(s.order, h); len(s.order) > maxDecoded {
		delete(s.decoded, s.order[0]) // a replay does not come back to it
		s.order = s.order[1:]
	}
	return d, nil
}

// restoreBook returns the state of the book of a view, as a change of that of the last decoded one.
func (s *store) restoreBook(d *storedView) (*rulebook.State, error) {
	earlier, pages := (*rulebook.State)(nil), []hash(nil)
	if s.last != nil {
		earlier, pages = s.last.book, s.last.rules
		if s.last.head == d.head && slices.Equal(pages, d.rules) {
			return earlier, nil
		}
	}
	head, err := s.doc(d.head)
	if err != nil {
		return nil, err
	}
	changed := map[int][]byte{}
	for n := range rulebook.Pages {
		before, now := pageHash(pages, n), pageHash(d.rules, n)
		if before == now {
			continue
		}
		if changed[n] = nil; now != (hash{}) {
			if changed[n], err = s.doc(now); err != nil {
				return nil, err
			}
		}
	}
	return rulebook.Decode(earlier, head, changed)
}

// pageHash returns the hash of a page, zero for an empty one.
func pageHash(pages []hash, n int) hash {
	if n < len(pages) {
		return pages[n]
	}
	return hash{}
}

// restore brings a set to a stored state.
func (s *store) restore(stored storedSet, boundary geometry.Boundary) (*fence.Set, error) {
	r := s.sets[stored.id]
	if r == nil || r.boundary != boundary {
		o := s.Fences
		o.Boundary = boundary
		set, err := fence.NewSet(stored.name, o)
		if err != nil {
			return nil, err
		}
		r = &restoredSet{set: set, boundary: boundary}
		s.sets[stored.id] = r
	}
	if r.head == stored.head {
		return r.set, nil
	}
	head, err := s.doc(stored.head)
	if err != nil {
		return nil, err
	}
	changed := map[int][]byte{}
	for i, h := range stored.pages {
		switch {
		case i < len(r.pages) && r.pages[i] == h:
		case h == hash{}:
			changed[i] = nil
		default:
			if changed[i], err = s.doc(h); err != nil {
				return nil, err
			}
		}
	}
	if _, err := r.set.Restore(head, changed); err != nil {
		return nil, err
	}
	r.head, r.pages = stored.head, stored.pages
	return r.set, nil
}

// take gives the catalog and the book what a stored view holds; change is that of the catalog.
func (v *Views) take(d *storedView, change fence.Change) error {
	if _, err := v.catalog.Apply(change); err != nil {
		return err
	}
	v.next, v.store.files = d.next, d.files
	v.book.Adopt(d.book)
	for n, p := range d.book.Pages() {
		v.store.rules[p] = pageHash(d.rules, n)
	}
	return nil
}

// keepPages notes which documents the pages of a set are in.
func (s *store) keepPages(snap *fence.Snapshot, stored storedSet) {
	for k, p := range snap.Pages() {
		s.pages[p] = stored.pages[k]
	}
}

// Adopt gives the catalog the sets of a stored view, which View returns from now on. Without an id
// it begins with the sets that the catalog has.
func (v *Views) Adopt(id []byte) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := v.store
	if !s.Replicated {
		defer s.forget() // Follow goes on with what is decoded
	}
	if len(id) == 0 && s.Replicated {
		return nil // a leader stores a view once there is a set or a rule
	}
	if len(id) == 0 {
		c := v.build(v.current.Load())
		var err error
		if c.id, err = s.put(c, v.next); err == nil {
			v.current.Store(c)
		}
		return err
	}
	d, err := s.decode(id)
	if err != nil {
		return err
	}
	c := &catalogView{view: d.view, id: id, book: d.book}
	var change fence.Change
	for i, stored := range d.sets {
		set, err := s.restore(stored, s.Fences.Boundary) // another rule, another set
		if err != nil {
			return err
		}
		s.keepPages(set.Snapshot(), stored)
		c.sets = append(c.sets, trackedSet{set: set, id: stored.id, snap: d.snaps[i]})
		change.Put = append(change.Put, set)
	}
	if err := v.take(d, change); err != nil {
		return err
	}
	s.share(d.documents(hash(id)))
	if d.lost {
		if c.id, err = s.put(c, v.next); err != nil {
			return err
		}
	}
	v.current.Store(c)
	return nil
}

func readHash(f *journal.Fields) (h hash) {
	copy(h[:], f.Take(uint64(len(h))))
	return h
}

func parseView(doc []byte) (*storedView, error) {
	r := &journal.Fields{Rest: doc}
	if r.Byte() != viewVersion {
		return nil, fmt.Errorf("%w: it has another version", ErrView)
	}
	d := &storedView{next: track.SetID(r.Uint()), boundary: geometry.Boundary(r.Text()), files: []byte(r.Text()), head: readHash(r)}
	for n := r.Uint(); n > 0 && !r.Failed; n-- {
		d.rules = append(d.rules, readHash(r))
	}
	for n := r.Uint(); n > 0 && !r.Failed; n-- {
		set := storedSet{id: track.SetID(r.Uint()), name: r.Text(), head: readHash(r)}
		for k := r.Uint(); k > 0 && !r.Failed; k-- {
			set.pages = append(set.pages, readHash(r))
		}
		d.sets = append(d.sets, set)
	}
	if r.Failed || len(r.Rest) > 0 {
		return nil, fmt.Errorf("%w: it is damaged", ErrView)
	}
	return d, nil
}
