package index

import (
	"maps"
	"slices"
	"unsafe"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// linear is bbox, city and city-bbox: lists of parts that are gone through from end to end. A
// part is in the list of a parent that it is proven to be within, else in the one of strays.
// A point's fences are then in the lists of the parents that hold it and among the strays.
// With boxes, a part is asked only if its closed box holds the point.
//
// The lists are cut into pages like those of the table, so that an edit makes one page anew.
type linear struct {
	settings linearSettings
	pages    []*linearPage
	t        *Table
}

type linearSettings struct {
	kind    string
	boxes   bool
	parents []parent
	rule    geometry.Rule
}

// linearPage lists the parts of the fences of a page of the table. Group 0 has the parts that are
// within no parent; group k+1 has the parts within parent k. Group g is items[from[g]:from[g+1]].
type linearPage struct {
	from  []int32
	items []partItem
	boxes []geometry.Box // of each item
}

// linearWriter remembers which pages are to be made anew, and each part's group.
type linearWriter struct {
	settings linearSettings
	pages    []*linearPage
	dirty    map[int]struct{}
	groups   map[*Entry][]int32 // nil without parents: all are strays
}

func NewBBoxWriter(o Options) Writer {
	o.Parents = nil
	return newLinearWriter(o, true)
}

func NewCityWriter(o Options) Writer { return newLinearWriter(o, false) }

func NewCityBBoxWriter(o Options) Writer { return newLinearWriter(o, true) }

func newLinearWriter(o Options, boxes bool) Writer {
	w := &linearWriter{
		settings: linearSettings{kind: o.Kind, boxes: boxes, rule: o.Rule, parents: newParents(o.Parents)},
		dirty:    map[int]struct{}{},
	}
	if len(w.settings.parents) > 0 {
		w.groups = map[*Entry][]int32{}
	}
	return w
}

func (w *linearWriter) Replace(old, successor *Entry) {
	for _, e := range []*Entry{old, successor} {
		if e != nil {
			w.dirty[int(e.Ref/PageSize)] = struct{}{}
		}
	}
	if successor != nil {
		successor.prepare()
	}
	if w.groups == nil {
		return
	}
	delete(w.groups, old)
	if successor != nil {
		groups := make([]int32, len(successor.parts))
		for i := range successor.parts {
			groups[i] = groupOf(w.settings.parents, successor, i)
		}
		w.groups[successor] = groups
	}
}

func (w *linearWriter) Publish(t *Table) Index {
	pages := make([]*linearPage, len(t.pages))
	copy(pages, w.pages)
	for i := range w.dirty {
		if i < len(pages) {
			pages[i] = w.page(t.pages[i])
		}
	}
	clear(w.dirty)
	w.pages = pages
	return filtered{&linear{w.settings, pages, t}, w.settings.rule}
}

// page lists the parts of a page of the table. It returns nil for nil.
func (w *linearWriter) page(from *Page) *linearPage {
	if from == nil {
		return nil
	}
	lists := map[int32][]partItem{}
	for _, e := range from.entries {
		if e == nil {
			continue
		}
		for i := range e.parts {
			group := int32(0)
			if w.groups != nil {
				group = w.groups[e][i]
			}
			lists[group] = append(lists[group], partItem{e, i})
		}
	}
	pg := &linearPage{from: make([]int32, len(w.settings.parents)+2)}
	for _, g := range slices.Sorted(maps.Keys(lists)) {
		pg.items = append(pg.items, lists[g]...)
		pg.from[g+1] = int32(len(lists[g]))
	}
	for g := range pg.from[1:] {
		pg.from[g+1] += pg.from[g]
	}
	if w.settings.boxes {
		for _, it := range pg.items {
			pg.boxes = append(pg.boxes, it.entry.boxes[it.part])
		}
	}
	return pg
}

func (x *linear) Find(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	dst = x.group(dst, 0, p)
	for i := range x.settings.parents {
		if x.settings.parents[i].holds(p) {
			dst = x.group(dst, i+1, p)
		}
	}
	return dst
}

func (x *linear) group(dst []geojson.Ref, g int, p geometry.Point) []geojson.Ref {
	for _, pg := range x.pages {
		if pg == nil {
			continue
		}
		for i := pg.from[g]; i < pg.from[g+1]; i++ {
			if x.settings.boxes && !pg.boxes[i].Contains(p) {
				continue
			}
			it := &pg.items[i]
			if it.entry.parts[it.part].Decide(x.settings.rule, p) {
				dst = append(dst, it.entry.Ref)
			}
		}
	}
	return dst
}

func (x *linear) Stats() Stats {
	bytes := geometry.PreparedBytes(x.t.Edges, x.t.Parts)
	for _, pg := range x.pages {
		if pg != nil {
			bytes += int64(len(pg.from))*4 + int64(len(pg.items))*int64(unsafe.Sizeof(partItem{})) +
				int64(len(pg.boxes))*int64(unsafe.Sizeof(geometry.Box{}))
		}
	}
	if len(x.settings.parents) > 0 {
		bytes += int64(x.t.Parts) * 4 // the writer's groups
	}
	for i := range x.settings.parents {
		bytes += x.settings.parents[i].part.Bytes()
	}
	return x.t.Stats(x.settings.kind, bytes)
}

// brute applies the set's rule (see package fence, "Ownership of a point") to every edge of every
// fence. It is the reference that the other kinds are compared with, and is kept plain for that.
type brute struct {
	t    *Table
	rule geometry.Rule
	kind string
}

type bruteWriter struct {
	rule geometry.Rule
	kind string
}

func NewBruteWriter(o Options) Writer { return bruteWriter{o.Rule, o.Kind} }

func (bruteWriter) Replace(_, _ *Entry)      {}
func (w bruteWriter) Publish(t *Table) Index { return filtered{brute{t, w.rule, w.kind}, w.rule} }

func (b brute) Find(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	for e := range b.t.All() {
		if e.Fence.Geometry.Decide(b.rule, p) {
			dst = append(dst, e.Ref)
		}
	}
	return dst
}

func (b brute) Stats() Stats { return b.t.Stats(b.kind, 0) }
