package views

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/rulebook"
)

// A view is stored as documents, each under the hash of its bytes:
//
//	view    version, next id of a set, boundary rule, files, hash of the head of the book, number
//	        of its pages and their hashes, number of sets; for each set its id, its name, the hash
//	        of its head, its number of pages and their hashes
//	head    see fence.Snapshot.AppendHead, and rulebook.State.Head
//	page    see fence.Page, and rulebook.Page
//
// The hash of an empty page is zero; if all pages of the book are empty, their number is. An edit
// of one fence or rule changes one page, a head and the view.
const (
	viewVersion = 1
	prefix      = "sets/" // of the documents' names in the journal
	maxDecoded  = 256     // views in memory while records are applied again: checkpoints refer to 64
	saveBytes   = 4 << 20 // of documents that are written together
)

// ErrView: a stored view cannot be read.
var ErrView = errors.New("views: not a stored view")

type hash [sha256.Size]byte

func (h hash) name() string { return prefix + hex.EncodeToString(h[:]) }

// hashOf returns the hash in the name of a document.
func hashOf(name string) (h hash, ok bool) {
	text, ok := strings.CutPrefix(name, prefix)
	if !ok || len(text) != 2*len(h) {
		return h, false
	}
	_, err := hex.Decode(h[:], []byte(text))
	return h, err == nil
}

// Options configure Open.
type Options struct {
	Catalog *fence.Catalog
	Book    *rulebook.Book // nil: one without rules
	Fences  fence.Options  // of restored sets
	Journal journal.Journal
	// Files returns a text that is stored with each view, and [Views.Files] returns it after a
	// restart: what the sets were read from. Nil: none.
	Files func() []byte
	// Lost is called for a stored set that cannot be read, and the view is restored without it.
	// Nil: that is an error.
	Lost func(set string, err error)
	// Replicated says that other nodes follow the journal, and remove documents on their own.
	Replicated bool
	// Extra returns further values that are stored with the next view, before it is in use. Nil:
	// none.
	Extra func() []journal.Value
}

// store keeps views in a journal.
type store struct {
	Options
	log   journal.Journal
	pages map[fence.Page]hash // of the newest view
	rules map[*rulebook.Page]hash
	known map[hash]int // documents in the journal, each with the number of live views
	live  []liveView   // oldest first
	files []byte       // of the adopted view

	shared  map[hash]struct{} // see share
	arrived map[hash]bool     // see Arrived; true: since the last view

	unsaved []journal.Value // documents that are not in the journal yet
	size    int             // of them

	sets    map[track.SetID]*restoredSet // by Decode
	decoded map[hash]*storedView
	order   []hash // of decoded
	last    *storedView
}

// liveView is a view that records or checkpoints need.
type liveView struct {
	number uint64 // of the record that begins it
	id     hash
	docs   []hash
}

// Open returns the views of a catalog, which are kept in a journal.
func Open(o Options) (*Views, error) {
	v := New(o.Catalog, o.Book)
	var err error
	if o.Fences.Boundary, err = geometry.ParseBoundary(string(o.Fences.Boundary)); err != nil {
		return nil, err
	}
	s := &store{Options: o, log: o.Journal, known: map[hash]int{}, shared: map[hash]struct{}{}, arrived: map[hash]bool{}, pages: map[fence.Page]hash{}, rules: map[*rulebook.Page]hash{}}
	names, err := s.log.Names(prefix)
	if err != nil {
		return nil, err
	}
	found := liveView{}
	for _, name := range names {
		if h, ok := hashOf(name); ok {
			s.known[h]++
			found.docs = append(found.docs, h)
			if o.Replicated { // the record of its view may be still to come
				s.arrived[h] = true
			}
		}
	}
	s.live = []liveView{found}
	s.forget()
	v.store = s
	return v, nil
}

// Files returns the text that was stored with the adopted view.
func (v *Views) Files() []byte { return v.store.files }

// add stores a document unless it is there, at the latest with the next save.
func (s *store) add(doc []byte, docs *[]hash) (hash, error) {
	h := hash(sha256.Sum256(doc))
	*docs = append(*docs, h)
	if s.has(h) {
		return h, nil
	}
	if _, there := s.known[h]; !there {
		s.known[h] = 0
	}
	if s.Replicated {
		s.shared[h] = struct{}{}
	}
	s.unsaved = append(s.unsaved, journal.Value{Name: h.name(), Bytes: doc})
	if s.size += len(doc); s.size < saveBytes {
		return h, nil
	}
	return h, s.save()
}

// save writes the added documents. What is refused is added again with the next view that has it.
func (s *store) save() error {
	values := s.unsaved
	s.unsaved, s.size = nil, 0
	if len(values) == 0 {
		return nil
	}
	err := s.log.Put(values...)
	if err == nil {
		return nil
	}
	for _, v := range values {
		h, _ := hashOf(v.Name)
		if delete(s.shared, h); s.known[h] == 0 {
			delete(s.known, h)
		}
	}
	return err
}

// put stores a view, and returns its id.
func (s *store) put(c *catalogView, next track.SetID) ([]byte, error) {
	var docs []hash
	pages := map[fence.Page]hash{}
	b := []byte{viewVersion}
	b = binary.AppendUvarint(b, uint64(next))
	b = journal.AppendText(b, string(s.Fences.Boundary))
	files := ""
	if s.Options.Files != nil {
		files = string(s.Options.Files())
	}
	b = journal.AppendText(b, files)
	b, rules, err := s.putBook(b, c.book, &docs)
	if err != nil {
		return nil, err
	}
	b = binary.AppendUvarint(b, uint64(len(c.sets)))
	for _, t := range c.sets {
		b = journal.AppendText(binary.AppendUvarint(b, uint64(t.id)), t.set.Name())
		head, err := s.add(t.snap.AppendHead(nil), &docs)
		if err != nil {
			return nil, err
		}
		b = append(b, head[:]...)
		if b, err = putPages(s, b, t.snap.Pages(), s.pages, pages, &docs); err != nil {
			return nil, err
		}
	}
	id, err := s.add(b, &docs)
	if s.Extra != nil {
		s.unsaved = append(s.unsaved, s.Extra()...)
	}
	if err == nil {
		err = s.save()
	}
	if err != nil {
		return nil, err
	}
	s.pages, s.rules = pages, rules
	for _, h := range docs {
		s.known[h]++
	}
	s.live = append(s.live, liveView{id: id, docs: docs})
	s.share(docs)
	return id[:], s.pass()
}

// putBook stores the state of the book, and appends its part of the view.
func (s *store) putBook(b []byte, book *rulebook.State, docs *[]hash) (out []byte, rules map[*rulebook.Page]hash, err error) {
	head, err := s.add(book.Head(), docs)
	if err != nil {
		return nil, nil, err
	}
	b = append(b, head[:]...)
	rules = map[*rulebook.Page]hash{}
	all := book.Pages()
	if !slices.ContainsFunc(all[:], func(p *rulebook.Page) bool { return !p.Empty() }) {
		return append(b, 0), rules, nil
	}
	out, err = putPages(s, b, all[:], s.rules, rules, docs)
	return out, rules, err
}

// page is a part of a set, or of the book.
type page interface {
	comparable
	Empty() bool
	Append(b []byte) []byte
}

// putPages stores the pages that the last view does not have, and appends their number and hashes.
// It notes the hashes in now.
func putPages[P page](s *store, b []byte, all []P, last, now map[P]hash, docs *[]hash) (out []byte, err error) {
	b = binary.AppendUvarint(b, uint64(len(all)))
	for _, p := range all {
		h, kept := last[p]
		switch {
		case p.Empty():
			h = hash{}
		case kept:
			*docs = append(*docs, h)
		default:
			if h, err = s.add(p.Append(nil), docs); err != nil {
				return nil, err
			}
		}
		now[p] = h
		b = append(b, h[:]...)
	}
	return b, nil
}

// Begin notes the record from which on a view is in use. Release needs it.
func (v *Views) Begin(id []byte, number uint64) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := len(v.store.live) - 1; i >= 0; i-- {
		if l := &v.store.live[i]; l.number == 0 && bytes.Equal(l.id[:], id) {
			l.number = number
			return
		}
	}
}

// Release removes what is needed only for records before this one. It does nothing while a view is
// being staged: the next call does it.
func (v *Views) Release(before uint64) error {
	if !v.mu.TryLock() {
		return nil
	}
	defer v.mu.Unlock()
	s := v.store
	// A view ends with the next one that is in use.
	last := -1
	for i, l := range s.live {
		if l.number > 0 && l.number <= before {
			last = i
		}
	}
	if last < 1 {
		return nil
	}
	var gone []string
	for _, l := range s.live[:last] {
		for _, h := range l.docs {
			if s.known[h]--; s.known[h] == 0 {
				delete(s.known, h)
				if _, waits := s.arrived[h]; !waits {
					gone = append(gone, h.name())
				}
			}
		}
	}
	s.live = slices.Clone(s.live[last:])
	return s.log.Remove(gone...)
}
