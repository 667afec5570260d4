package fence

import "fmt"

// check makes sure that no look-up leaves the arrays or finds a fence that is not there,
// whatever the arrays hold; whether its answers are true only who built it knows. fences is the
// number of fences, whose refs count from 0.
func (m *cellmap) check(fences int) error {
	roots := uint64(m.w) * uint64(m.h)
	if roots > uint64(len(m.dir)) || len(m.dir) > 1<<entryBits || len(m.words) > 1<<entryBits || len(m.words) == 0 || m.words[0] != 0 {
		return fmt.Errorf("a cellmap of %d x %d cells does not fit into %d entries and %d words", m.w, m.h, len(m.dir), len(m.words))
	}
	if m.shift > maxShift || m.dir == nil {
		return fmt.Errorf("a cellmap's cells are 2^%d units wide", m.shift)
	}
	c := cellCheck{m: m, fences: uint64(fences), lists: newBitset(len(m.words)), records: newBitset(len(m.words)), nodes: newBitset(len(m.dir))}
	for i, entry := range m.dir[:roots] {
		if err := c.entry(entry, m.shift); err != nil {
			return fmt.Errorf("cell %d: %w", i, err)
		}
	}
	return nil
}

// maxShift is that of root cells so wide that two of them hold the world.
const maxShift = 30

// cellCheck goes once over everything that an entry leads to, however many lead there.
type cellCheck struct {
	m                     *cellmap
	fences                uint64
	lists, records, nodes bitset
}

func (c *cellCheck) entry(entry uint32, shift uint) error {
	at := uint64(entry & entryMask)
	switch entry &^ entryMask {
	case entryOne:
		return c.refs([]uint32{uint32(at)})
	case entryNode:
		return c.node(at, shift)
	case entryCell:
		if c.records.add(at) {
			return c.record(at)
		}
	case entryList:
		if c.lists.add(at) {
			return c.list(at)
		}
	}
	return nil
}

// words are those from at on; nil if there are less.
func (c *cellCheck) words(at, n uint64) []uint32 {
	if at > uint64(len(c.m.words)) || n > uint64(len(c.m.words))-at {
		return nil
	}
	return c.m.words[at : at+n : at+n]
}

func (c *cellCheck) refs(refs []uint32) error {
	for _, r := range refs {
		if uint64(r) >= c.fences {
			return fmt.Errorf("it names fence %d of %d", r, c.fences)
		}
	}
	return nil
}

func (c *cellCheck) list(at uint64) error {
	size := c.words(at, 1)
	if size == nil {
		return fmt.Errorf("its list begins beyond the end")
	}
	refs := c.words(at+1, uint64(size[0]))
	if refs == nil {
		return fmt.Errorf("its list ends beyond the end")
	}
	return c.refs(refs)
}

// node checks the children of a node. One that two entries lead to could lead back to itself.
func (c *cellCheck) node(at uint64, shift uint) error {
	if shift < nodeBits || at+nodeSize > uint64(len(c.m.dir)) {
		return fmt.Errorf("it is divided where there is nothing to divide")
	}
	if !c.nodes.add(at) {
		return fmt.Errorf("it shares its parts with another")
	}
	for _, entry := range c.m.dir[at : at+nodeSize] {
		if err := c.entry(entry, shift-nodeBits); err != nil {
			return err
		}
	}
	return nil
}

func (c *cellCheck) record(at uint64) error {
	head := c.words(at, recordHead)
	if head == nil {
		return fmt.Errorf("its record begins beyond the end")
	}
	if head[0] == bigRecord {
		return c.big(at)
	}
	locals, edges := uint64(head[0]&recordLocals), uint64(head[0]>>recordShift)
	refs := c.words(at+recordHead, locals)
	sides := c.words(at+recordHead+locals, edges*edgeWords)
	if refs == nil || sides == nil || locals > maxLocals {
		return fmt.Errorf("its record does not fit")
	}
	for ; len(sides) > 0; sides = sides[edgeWords:] {
		ring, known := sides[2], sides[4]&flagLong != 0
		if err := c.place(sides[3], ring, known); err != nil {
			return err
		}
	}
	return c.refs(refs)
}

func (c *cellCheck) big(at uint64) error {
	locals, edges := uint64(c.m.words[at+1]), uint64(c.m.words[at+2])
	masks := (locals + 31) / 32
	at += bigHead + masks
	refs := c.words(at, locals)
	sides := c.words(at+locals, edges*bigEdgeWords)
	if refs == nil || sides == nil {
		return fmt.Errorf("its record ends beyond the end")
	}
	for ; len(sides) > 0; sides = sides[bigEdgeWords:] {
		if err := c.place(sides[0], sides[1], true); err != nil {
			return err
		}
		for _, local := range sides[2:4] {
			if uint64(local) >= locals && local != noLocal {
				return fmt.Errorf("an edge of it bounds part %d of %d", local, locals)
			}
		}
	}
	return c.refs(refs)
}

// place checks the vertex at which an edge ends, and its ring if that is said.
func (c *cellCheck) place(place, ring uint32, known bool) error {
	m := c.m
	if n := len(m.rings); n == 0 || uint64(place) >= uint64(m.starts[n-1])+uint64(len(m.rings[n-1])) {
		return fmt.Errorf("an edge of it ends at vertex %d, which is not there", place)
	}
	if known && (uint64(ring) >= uint64(len(m.rings)) || place-m.starts[ring] >= uint32(len(m.rings[ring]))) {
		return fmt.Errorf("an edge of it ends at vertex %d, which is not in ring %d", place, ring)
	}
	return nil
}

// bitset is a set of small numbers.
type bitset []uint64

func newBitset(n int) bitset { return make(bitset, (n+63)/64) }

// add adds i, and reports whether it is new. A number that is too large always is.
func (b bitset) add(i uint64) bool {
	if i/64 >= uint64(len(b)) {
		return true
	}
	isNew := b[i/64]>>(i%64)&1 == 0
	b[i/64] |= 1 << (i % 64)
	return isNew
}
