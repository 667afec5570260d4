package fence

import (
	"iter"
	"sync"
)

// entry is a fence in a set. It is immutable once published, but for its parts: a
// writer prepares these before it publishes an index that asks them.
type entry struct {
	ref      Ref
	fence    *Fence
	boxes    []Box // of each part, in order
	bounds   Box
	parts    []preparedPart // of each part; nil until prepare
	once     sync.Once      // of prepare
	edges    int
	findings []Finding
}

func newEntry(ref Ref, f *Fence, findings []Finding) *entry {
	e := &entry{ref: ref, fence: f, edges: f.Geometry.Vertices(), findings: findings}
	e.boxes, e.bounds = make([]Box, len(f.Geometry)), EmptyBox()
	for i, part := range f.Geometry {
		e.boxes[i] = part.Bounds()
		e.bounds = e.bounds.Union(e.boxes[i])
	}
	return e
}

// prepare makes the parts, for indexes that ask them about points. It does nothing the second
// time; it is called by the set's writer and by a builder in the background.
func (e *entry) prepare() {
	e.once.Do(func() {
		e.parts = make([]preparedPart, len(e.fence.Geometry))
		for i, part := range e.fence.Geometry {
			e.parts[i] = prepare(part)
		}
	})
}

// pageSize trades what an edit copies (one page and the list of pages) against the length
// of that list.
const pageSize = 256

type page struct {
	live    int
	entries [pageSize]*entry
}

// table maps refs to entries. It is immutable: with gives a changed copy that shares all
// pages but one, so that an edit of a set of a million fences copies some 35 kB. A page
// without entries is nil, so that refs that are never used again cost 8 bytes per 256.
type table struct {
	pages  []*page
	fences int
	parts  int
	edges  int
}

func (t *table) get(r Ref) *entry {
	i := int(r / pageSize)
	if i >= len(t.pages) || t.pages[i] == nil {
		return nil
	}
	return t.pages[i].entries[r%pageSize]
}

// with gives a table in which e is at r; nil takes out what is there.
func (t *table) with(r Ref, e *entry) *table {
	i := int(r / pageSize)
	next := *t
	next.pages = make([]*page, max(len(t.pages), i+1))
	copy(next.pages, t.pages)
	pg := new(page)
	if next.pages[i] != nil {
		*pg = *next.pages[i]
	}
	next.pages[i] = pg
	next.put(r, e)
	return &next
}

// page is the i-th one, nil if it has no entries.
func (t *table) page(i int) *page {
	if i >= len(t.pages) {
		return nil
	}
	return t.pages[i]
}

func (pg *page) entry(k int) *entry {
	if pg == nil {
		return nil
	}
	return pg.entries[k]
}

// put changes the table in place: only for one that is not published yet, and whose page of
// r is not shared.
func (t *table) put(r Ref, e *entry) {
	i := int(r / pageSize)
	for len(t.pages) <= i {
		t.pages = append(t.pages, nil)
	}
	if t.pages[i] == nil {
		t.pages[i] = new(page)
	}
	pg := t.pages[i]
	t.account(pg, pg.entries[r%pageSize], -1)
	t.account(pg, e, 1)
	pg.entries[r%pageSize] = e
	if pg.live == 0 {
		t.pages[i] = nil
	}
}

func (t *table) account(pg *page, e *entry, sign int) {
	if e == nil {
		return
	}
	pg.live += sign
	t.fences += sign
	t.parts += sign * len(e.boxes)
	t.edges += sign * e.edges
}

// all yields the entries by ascending ref.
func (t *table) all() iter.Seq[*entry] {
	return func(yield func(*entry) bool) {
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

func (t *table) bounds() Box {
	b := EmptyBox()
	for e := range t.all() {
		b = b.Union(e.bounds)
	}
	return b
}

// boundsAfter is the table's bounds, given those of the table before old was replaced by e.
// Only where old reached their border must all entries be asked.
func (t *table) boundsAfter(before Box, old, e *entry) Box {
	if old != nil && (old.bounds.MinLon == before.MinLon || old.bounds.MinLat == before.MinLat ||
		old.bounds.MaxLon == before.MaxLon || old.bounds.MaxLat == before.MaxLat) {
		return t.bounds()
	}
	if e == nil {
		return before
	}
	return before.Union(e.bounds)
}

func (t *table) stats(kind string, extra int64) indexStats {
	const pageBytes = 8 * pageSize
	bytes := extra
	for _, pg := range t.pages {
		if pg != nil {
			bytes += pageBytes
		}
	}
	return indexStats{kind: kind, fences: t.fences, parts: t.parts, edges: t.edges, bytes: bytes}
}

// changes yields the entries that are others in the table now, with their successors. Either may
// be nil.
func (t *table) changes(now *table) iter.Seq2[*entry, *entry] {
	return func(yield func(old, successor *entry) bool) {
		for i := range max(len(t.pages), len(now.pages)) {
			before, after := t.page(i), now.page(i)
			if before == after {
				continue
			}
			for k := range pageSize {
				if old, successor := before.entry(k), after.entry(k); old != successor && !yield(old, successor) {
					return
				}
			}
		}
	}
}
