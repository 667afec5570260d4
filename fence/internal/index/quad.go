package index

import (
	"unsafe"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// quadDepth is the deepest level of a cell's code; s2 cells go that far.
const quadDepth = 30

// cell names a square of a hierarchy in which each has four children. A code holds the way to
// it from the root: two bits for each level, the first one highest, as in an S2 cell id, of
// which three bits for the face come before.
type cell struct {
	root  int
	code  uint64
	level int
}

// child is which of its parent's four children the cell of that level is, on the way to code.
func child(code uint64, level int) int { return int(code>>(2*(quadDepth-level)+1)) & 3 }

// quad is a cell with what is listed in it; a point's fences are in the lists of all the cells
// that hold it, from the root down. A published one never changes: those of an earlier epoch
// are copied before they are written to.
type quad[L cellList[L]] struct {
	kids  [4]*quad[L]
	list  L
	epoch uint64
}

// cellList lists parts. Its zero value is an empty list.
type cellList[L any] interface {
	clone() L
	with(cellItem) L // in place; only on what clone gave
	without(*Entry) L
	size() int
}

// cellItem is a part that a cell lists. inside says that the part holds all of the cell.
type cellItem struct {
	entry  *Entry
	part   uint32
	inside bool
}

// items is the plain list.
type items []cellItem

func (l items) clone() items           { return append(items(nil), l...) }
func (l items) with(it cellItem) items { return append(l, it) }
func (l items) size() int              { return len(l) }
func (l items) without(old *Entry) items {
	kept := l[:0]
	for _, it := range l {
		if it.entry != old {
			kept = append(kept, it)
		}
	}
	clear(l[len(kept):])
	return kept
}

// quads is a hierarchy that one writer changes.
type quads[L cellList[L]] struct {
	roots [6]*quad[L]
	epoch uint64
	nodes int // in the hierarchy
	items int // in all lists
}

// Publish gives the roots as they are now. What is written from now on goes into copies.
func (q *quads[L]) Publish() [6]*quad[L] {
	q.epoch++
	return q.roots
}

// own makes the quad one that may be written to.
func (q *quads[L]) own(at **quad[L]) *quad[L] {
	n := *at
	switch {
	case n == nil:
		n = &quad[L]{epoch: q.epoch}
		q.nodes++
	case n.epoch != q.epoch:
		n = &quad[L]{n.kids, n.list.clone(), q.epoch}
	}
	*at = n
	return n
}

// add lists the part in the cell.
func (q *quads[L]) add(c cell, it cellItem) {
	n := q.own(&q.roots[c.root])
	for level := 1; level <= c.level; level++ {
		n = q.own(&n.kids[child(c.code, level)])
	}
	n.list = n.list.with(it)
	q.items++
}

// remove takes the entry out of the cell's list, and then the quads that have nothing in them
// or below. It does nothing where the cell is no more: a cell can be named for several parts.
func (q *quads[L]) remove(c cell, old *Entry) { q.removeAt(&q.roots[c.root], c, 0, old) }

func (q *quads[L]) removeAt(at **quad[L], c cell, level int, old *Entry) {
	if *at == nil {
		return
	}
	n := q.own(at)
	if level < c.level {
		q.removeAt(&n.kids[child(c.code, level+1)], c, level+1, old)
	} else {
		before := n.list.size()
		n.list = n.list.without(old)
		q.items -= before - n.list.size()
	}
	if n.list.size() == 0 && n.kids == [4]*quad[L]{} {
		*at = nil
		q.nodes--
	}
}

// quadSettings say which cells an index has.
type quadSettings struct {
	kind string
	rule geometry.Rule

	// locate returns the root of the cells that hold a position, or nowhere, and the code of the
	// least one.
	locate func(p geometry.Point) (root int, code uint64)
	// cover calls add with each cell and each part of an entry that is listed there, and whether
	// the whole cell is inside the part.
	cover func(e *Entry, add func(c cell, part uint32, inside bool))
}

// nowhere is the root of positions that no cell holds.
const nowhere = -1

// quadIndex lists parts in cells. L is how a cell lists them.
type quadIndex[L quadList[L]] struct {
	quadSettings
	roots [6]*quad[L]
	bytes int64
	t     *Table
}

type quadList[L any] interface {
	cellList[L]
	Find(dst []geojson.Ref, p geometry.Point, r geometry.Rule) []geojson.Ref
}

type quadWriter[L quadList[L]] struct {
	quadSettings
	tree quads[L]
}

func (w *quadWriter[L]) Replace(old, successor *Entry) {
	if old != nil {
		w.cover(old, func(c cell, _ uint32, _ bool) { w.tree.remove(c, old) })
	}
	if successor != nil {
		successor.prepare()
		w.cover(successor, func(c cell, part uint32, inside bool) {
			w.tree.add(c, cellItem{successor, part, inside})
		})
	}
}

func (w *quadWriter[L]) Publish(t *Table) Index {
	bytes := int64(w.tree.nodes)*int64(unsafe.Sizeof(quad[L]{})) + int64(w.tree.items)*int64(unsafe.Sizeof(cellItem{}))
	if _, trees := any(w.tree).(quads[itemTree]); trees {
		bytes += int64(w.tree.items) * int64(unsafe.Sizeof(geometry.Box{})) // if all are in R-trees
	}
	return filtered{&quadIndex[L]{w.quadSettings, w.tree.Publish(), bytes, t}, w.rule}
}

func (x *quadIndex[L]) Find(dst []geojson.Ref, p geometry.Point) []geojson.Ref {
	root, code := x.locate(p)
	if root == nowhere {
		return dst
	}
	n := x.roots[root]
	for level := 1; n != nil; level++ {
		dst = n.list.Find(dst, p, x.rule)
		n = n.kids[child(code, level)]
	}
	return dst
}

func (x *quadIndex[L]) Stats() Stats {
	return x.t.Stats(x.kind, x.bytes+geometry.PreparedBytes(x.t.Edges, x.t.Parts))
}
