package fence

import (
	"maps"
	"slices"
	"unsafe"
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
	t        *table
}

type linearSettings struct {
	kind    string
	boxes   bool
	parents []parent
	rule    rule
}

// linearPage lists the parts of the fences of a page of the table: those of group g, which is
// 0 for strays and else the ordinal of the parent and one, are items[from[g]:from[g+1]].
type linearPage struct {
	from  []int32
	items []partItem
	boxes []Box // of each item
}

// linearWriter remembers which pages are to be made anew, and each part's group.
type linearWriter struct {
	settings linearSettings
	pages    []*linearPage
	dirty    map[int]struct{}
	groups   map[*entry][]int32 // nil without parents: all are strays
}

func newBBoxWriter(o indexOptions) writer {
	o.parents = nil
	return newLinearWriter(o, true)
}

func newCityWriter(o indexOptions) writer { return newLinearWriter(o, false) }

func newCityBBoxWriter(o indexOptions) writer { return newLinearWriter(o, true) }

func newLinearWriter(o indexOptions, boxes bool) writer {
	w := &linearWriter{
		settings: linearSettings{kind: o.kind, boxes: boxes, rule: o.rule, parents: newParents(o.parents)},
		dirty:    map[int]struct{}{},
	}
	if len(w.settings.parents) > 0 {
		w.groups = map[*entry][]int32{}
	}
	return w
}

func (w *linearWriter) replace(old, successor *entry) {
	for _, e := range []*entry{old, successor} {
		if e != nil {
			w.dirty[int(e.ref/pageSize)] = struct{}{}
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

func (w *linearWriter) publish(t *table) index {
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

// page lists the parts of a page of the table, nil if it is.
func (w *linearWriter) page(from *page) *linearPage {
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

func (x *linear) find(dst []Ref, p Point) []Ref {
	dst = x.group(dst, 0, p)
	for i := range x.settings.parents {
		if x.settings.parents[i].holds(p) {
			dst = x.group(dst, i+1, p)
		}
	}
	return dst
}

func (x *linear) group(dst []Ref, g int, p Point) []Ref {
	for _, pg := range x.pages {
		if pg == nil {
			continue
		}
		for i := pg.from[g]; i < pg.from[g+1]; i++ {
			if x.settings.boxes && !pg.boxes[i].Contains(p) {
				continue
			}
			it := &pg.items[i]
			if it.entry.parts[it.part].decide(x.settings.rule, p) {
				dst = append(dst, it.entry.ref)
			}
		}
	}
	return dst
}

func (x *linear) Stats() indexStats {
	bytes := preparedBytes(x.t.edges, x.t.parts)
	for _, pg := range x.pages {
		if pg != nil {
			bytes += int64(len(pg.from))*4 + int64(len(pg.items))*int64(unsafe.Sizeof(partItem{})) +
				int64(len(pg.boxes))*int64(unsafe.Sizeof(Box{}))
		}
	}
	if len(x.settings.parents) > 0 {
		bytes += int64(x.t.parts) * 4 // the writer's groups
	}
	for i := range x.settings.parents {
		bytes += x.settings.parents[i].part.bytes()
	}
	return x.t.stats(x.settings.kind, bytes)
}
