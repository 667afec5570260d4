package index

import (
	"unsafe"

	"github.com/tidwall/rtree"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// partItem is one part of a fence in the tree.
type partItem struct {
	entry *Entry
	part  int
}

// rtreeNodeBytes estimates the memory of one item: its box and payload in nodes of 64 that
// are two thirds full, and its share of the branches above.
const rtreeNodeBytes = 3 * (4*8 + int64(unsafe.Sizeof(partItem{}))) / 2

// RtreeIndex keeps the parts' boxes in an R-tree. A box discards by closed comparisons only;
// the exact predicate decides about what remains.
type RtreeIndex struct {
	tree *rtree.RTreeG[partItem]
	t    *Table
	rule geometry.Rule
	kind string
}

// RtreeWriter owns a tree that it alone changes. Readers get its copy-on-write copies.
type RtreeWriter struct {
	tree rtree.RTreeG[partItem]
	Rule geometry.Rule
	kind string
}

func NewRTreeWriter(o Options) Writer { return &RtreeWriter{Rule: o.Rule, kind: o.Kind} }

func (w *RtreeWriter) Replace(old, successor *Entry) {
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

func (w *RtreeWriter) Publish(t *Table) Index { return filtered{w.Index(t), w.Rule} }

// Index is the tree as it is now.
func (w *RtreeWriter) Index(t *Table) *RtreeIndex {
	return &RtreeIndex{w.tree.Copy(), t, w.Rule, w.kind}
}

func (x *RtreeIndex) Find(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	at := [2]float64{p.Lon, p.Lat}
	x.tree.Search(at, at, func(_, _ [2]float64, it partItem) bool {
		if it.entry.parts[it.part].Decide(x.rule, p) {
			dst = append(dst, it.entry.Ref)
		}
		return true
	})
	return dst
}

func (x *RtreeIndex) Stats() Stats {
	return x.t.Stats(x.kind, x.Bytes()+geometry.PreparedBytes(x.t.Edges, x.t.Parts))
}

// Bytes estimates what the tree takes beside the parts.
func (x *RtreeIndex) Bytes() int64 { return int64(x.tree.Len()) * rtreeNodeBytes }
