package index

import (
	"crypto/sha256"
	"iter"
	"sync"
	"sync/atomic"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// Entry is a fence in a set. It is immutable once published, but for its parts: a
// writer prepares these before it publishes an index that asks them.
type Entry struct {
	Ref      geojson.Ref
	Fence    *geojson.Fence
	boxes    []geometry.Box          // of each part, in order
	Bounds   geometry.Box            // of the parts
	Extent   geometry.Box            // of the lines too
	parts    []geometry.PreparedPart // of each part; nil until prepare
	once     sync.Once               // of prepare
	Edges    int
	Findings []geojson.Finding

	cut    sync.Once // of pieces
	pieces []Piece
}

// Piece is a few edges in a row of a ring of a part, with the box around them.
type Piece struct {
	Box              geometry.Box
	Part, Ring, From int32
}

// Pieces returns the pieces of the fence, which cut makes the first time.
func (e *Entry) Pieces(cut func() []Piece) []Piece {
	e.cut.Do(func() { e.pieces = cut() })
	return e.pieces
}

// NewEntry makes the entry of a fence, which must not be published yet.
func NewEntry(ref geojson.Ref, f *geojson.Fence, findings []geojson.Finding) *Entry {
	e := &Entry{Ref: ref, Fence: f, Edges: f.Geometry.Vertices(), Findings: findings}
	e.boxes, e.Bounds = make([]geometry.Box, len(f.Geometry)), geometry.EmptyBox()
	for i, part := range f.Geometry {
		e.boxes[i] = part.Bounds()
		e.Bounds = e.Bounds.Union(e.boxes[i])
	}
	e.Extent = e.Bounds.Union(f.Lines.Bounds())
	f.Keep()
	return e
}

// Boxes are those of the parts of the fence, in order.
func (e *Entry) Boxes() []geometry.Box { return e.boxes }

// prepare makes the parts, for indexes that ask them about points. It does nothing the second
// time; it is called by the set's writer and by a builder in the background.
func (e *Entry) prepare() {
	e.once.Do(func() {
		e.parts = make([]geometry.PreparedPart, len(e.Fence.Geometry))
		for i, part := range e.Fence.Geometry {
			e.parts[i] = geometry.Prepare(part)
		}
	})
}

// PageSize trades what an edit copies (one page and the list of pages) against the length
// of that list.
const PageSize = 256

// Page is the entries of PageSize refs in a row. It is immutable once published.
type Page struct {
	live    int
	entries [PageSize]*Entry
	digest  atomic.Pointer[[sha256.Size]byte] // see Digest
}

// Digest returns the hash of the page, which find makes the first time.
func (pg *Page) Digest(find func() [sha256.Size]byte) [sha256.Size]byte {
	if known := pg.digest.Load(); known != nil {
		return *known
	}
	d := find()
	pg.digest.Store(&d)
	return d
}

// Table maps refs to entries. It is immutable: with gives a changed copy that shares all
// pages but one, so that an edit of a set of a million fences copies some 35 kB. A page
// without entries is nil, so that refs that are never used again cost 8 bytes per 256.
type Table struct {
	pages  []*Page
	Fences int
	Parts  int
	Edges  int // of the parts
	Lines  int // edges of the fences that are lines
	// Settings is the number of fences with settings, and Expiring that of fences with an end.
	Settings, Expiring int
}

func (t *Table) Get(r geojson.Ref) *Entry {
	i := int(r / PageSize)
	if i >= len(t.pages) || t.pages[i] == nil {
		return nil
	}
	return t.pages[i].entries[r%PageSize]
}

// With gives a table in which e is at r; nil takes out what is there.
func (t *Table) With(r geojson.Ref, e *Entry) *Table {
	i := int(r / PageSize)
	next := *t
	next.pages = make([]*Page, max(len(t.pages), i+1))
	copy(next.pages, t.pages)
	pg := new(Page)
	if old := next.pages[i]; old != nil {
		pg.live, pg.entries = old.live, old.entries
	}
	next.pages[i] = pg
	next.Put(r, e)
	return &next
}

// Page is the i-th one, nil if it has no entries.
func (t *Table) Page(i int) *Page {
	if i >= len(t.pages) {
		return nil
	}
	return t.pages[i]
}

// Pages is the number of pages, with empty ones.
func (t *Table) Pages() int { return len(t.pages) }

// Sized gives a table of this many pages, with empty ones behind its own; those beyond are left
// out.
func (t *Table) Sized(pages int) *Table {
	if pages == len(t.pages) {
		return t
	}
	next := *t
	next.pages = make([]*Page, pages)
	copy(next.pages, t.pages)
	return &next
}

// All yields the entries with their places in the page.
func (pg *Page) All() iter.Seq2[int, *Entry] {
	return func(yield func(int, *Entry) bool) {
		for k, e := range pg.entries {
			if e != nil && !yield(k, e) {
				return
			}
		}
	}
}

func (pg *Page) entry(k int) *Entry {
	if pg == nil {
		return nil
	}
	return pg.entries[k]
}

// Put changes the table in place: only for one that is not published yet, and whose page of
// r is not shared.
func (t *Table) Put(r geojson.Ref, e *Entry) {
	i := int(r / PageSize)
	for len(t.pages) <= i {
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		t.pages[i] = new(Page)
	}
	pg := t.pages[i]
	t.account(pg, pg.entries[r%PageSize], -1)
	t.account(pg, e, 1)
	pg.entries[r%PageSize] = e
	if pg.live == 0 {
		t.pages[i] = nil
	}
}

func (t *Table) account(pg *Page, e *Entry, sign int) {
	if e == nil {
		return
	}
	pg.live += sign
	t.Fences += sign
	t.Parts += sign * len(e.boxes)
	t.Edges += sign * e.Edges
	if e.Fence.OnlyCrossed() {
		t.Lines += sign * e.Fence.Lines.Edges()
	}
	if s := e.Fence.Settings(); s != nil {
		t.Settings += sign
		if !s.Expires.IsZero() {
			t.Expiring += sign
		}
	}
}

// All yields the entries by ascending ref.
func (t *Table) All() iter.Seq[*Entry] {
	return func(yield func(*Entry) bool) {
		for _, pg := range t.pages {
			if pg == nil {
				continue
			}
			for _, e := range pg.entries {
				if e != nil && !yield(e) {
					return
				}
			}
		}
	}
}

func (t *Table) Bounds() geometry.Box {
	b := geometry.EmptyBox()
	for e := range t.All() {
		b = b.Union(e.Extent)
	}
	return b
}

// BoundsAfter is the table's bounds, given those of the table before old was replaced by e.
// Only where old reached their border must all entries be asked.
func (t *Table) BoundsAfter(before geometry.Box, old, e *Entry) geometry.Box {
	if old != nil && (old.Extent.MinLon == before.MinLon || old.Extent.MinLat == before.MinLat ||
		old.Extent.MaxLon == before.MaxLon || old.Extent.MaxLat == before.MaxLat) {
		return t.Bounds()
	}
	if e == nil {
		return before
	}
	return before.Union(e.Extent)
}

func (t *Table) Stats(kind string, extra int64) Stats {
	const pageBytes = 8 * PageSize
	bytes := extra
	for _, pg := range t.pages {
		if pg != nil {
			bytes += pageBytes
		}
	}
	return Stats{Kind: kind, Fences: t.Fences, Parts: t.Parts, Edges: t.Edges, Bytes: bytes}
}

// Changes yields the entries that are others in the table now, with their successors. Either may
// be nil.
func (t *Table) Changes(now *Table) iter.Seq2[*Entry, *Entry] {
	return func(yield func(old, successor *Entry) bool) {
		for i := range max(len(t.pages), len(now.pages)) {
			before, after := t.Page(i), now.Page(i)
			if before == after {
				continue
			}
			for k := range PageSize {
				if old, successor := before.entry(k), after.entry(k); old != successor && !yield(old, successor) {
					return
				}
			}
		}
	}
}
