package fence

import (
	"unsafe"

	"github.com/tidwall/rtree"
)

// partItem is one part of a fence in the tree.
type partItem struct {
	entry *entry
	part  int
}

// rtreeNodeBytes estimates the memory of one item: its box and payload in nodes of 64 that
// are two thirds full, and its share of the branches above.
const rtreeNodeBytes = 3 * (4*8 + int64(unsafe.Sizeof(partItem{}))) / 2

// rtreeIndex keeps the parts' boxes in an R-tree. A box discards by closed comparisons only;
// the exact predicate decides about what remains.
type rtreeIndex struct {
	tree *rtree.RTreeG[partItem]
	t    *table
	rule rule
	kind string
}

// rtreeWriter owns a tree that it alone changes. Readers get its copy-on-write copies.
type rtreeWriter struct {
	tree rtree.RTreeG[partItem]
	rule rule
	kind string
}

func newRTreeWriter(o indexOptions) writer { return &rtreeWriter{rule: o.rule, kind: o.kind} }

func (w *rtreeWriter) replace(old, successor *entry) {
	if old != nil {
		for i, b := range old.boxes {
			w.tree.Delete([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, partItem{old, i})
		}
	}
	if successor != nil {
		successor.prepare()
		for i, b := range successor.boxes {
			w.tree.Insert([2]float64{b.MinLon, b.MinLat}, [2]float64{b.MaxLon, b.MaxLat}, partItem{successor, i})
		}
	}
}

func (w *rtreeWriter) publish(t *table) index { return filtered{w.index(t), w.rule} }

// index is the tree as it is now.
func (w *rtreeWriter) index(t *table) *rtreeIndex {
	return &rtreeIndex{w.tree.Copy(), t, w.rule, w.kind}
}

func (x *rtreeIndex) find(dst []Ref, p Point) []Ref {
	at := [2]float64{p.Lon, p.Lat}
	x.tree.Search(at, at, func(_, _ [2]float64, it partItem) bool {
		if it.entry.parts[it.part].decide(x.rule, p) {
			dst = append(dst, it.entry.ref)
		}
		return true
	})
	return dst
}

func (x *rtreeIndex) Stats() indexStats {
	return x.t.stats(x.kind, x.bytes()+preparedBytes(x.t.edges, x.t.parts))
}

// bytes estimates what the tree takes beside the parts.
func (x *rtreeIndex) bytes() int64 { return int64(x.tree.Len()) * rtreeNodeBytes }
