package cellmap

import (
	"slices"

	"paddock/fence/geometry"
)

// tileMaker puts a tile together from cells of other cellmaps. It keeps its memory.
type tileMaker struct {
	dir, words []uint32
}

// begin starts a tile all of which is as built.
func (t *tileMaker) begin() {
	t.dir, t.words = slices.Grow(t.dir[:0], tileCells)[:tileCells], append(t.words[:0], 0) // the empty list first
	for i := range t.dir {
		t.dir[i] = asBuilt
	}
}

// take makes a cell of the tile what an entry of another cellmap says, whose records name the
// ends of their edges.
func (t *tileMaker) take(cell uint32, entry uint32, from *Map) {
	moved := t.copy(entry, from) // makes the directory longer
	t.dir[cell] = moved
}

// copy takes over what an entry leads to, and gives the entry that leads there.
func (t *tileMaker) copy(entry uint32, from *Map) uint32 {
	at := entry & entryMask
	switch {
	case entry == asBuilt || entry == entryList:
		return entry
	case entry >= EntryNode:
		node := uint32(len(t.dir))
		t.dir = append(t.dir, make([]uint32, nodeSize)...)
		for k := range uint32(nodeSize) {
			moved := t.copy(from.Dir[at+k], from)
			t.dir[node+k] = moved
		}
		return EntryNode | node
	case entry >= EntryCell:
		return EntryCell | t.append(from.Words[at:at+from.recordSize(at)])
	case entry >= entryOne:
		return entry
	}
	return entryList | t.append(from.Words[at:at+1+from.Words[at]])
}

func (t *tileMaker) append(words []uint32) (at uint32) {
	at = uint32(len(t.words))
	t.words = append(t.words, words...)
	return at
}

// end gives the tile.
func (t *tileMaker) end(r geometry.Rule) *Map {
	both := append(append(make([]uint32, 0, len(t.dir)+len(t.words)), t.dir...), t.words...)
	n := len(t.dir)
	return &Map{rule: r, Dir: both[:n:n], Words: both[n:], named: true}
}

// recordSize is the number of words of a record that names the ends of its edges.
func (m *Map) recordSize(at uint32) uint32 {
	head := m.Words[at]
	locals, edges := head&recordLocals, head>>edgesShift&recordEdges
	if locals != wideRecord {
		return 1 + locals + edges*(edgeWords+endsWords)
	}
	locals, edges = m.Words[at+1], m.Words[at+2]
	return wideHead + (locals+31)/32 + locals + edges*(wideEdgeWords+endsWords)
}
