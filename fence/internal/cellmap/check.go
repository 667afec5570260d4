package cellmap

import (
	"errors"
	"fmt"
	"runtime"
	"sync"

	"paddock/fence/geometry"
)

// Check returns an error unless every look-up stays within the arrays and finds only existing
// fences, whatever the arrays hold. It cannot tell whether the answers are right. fences is the
// number of fences, whose refs count from 0.
func (m *Map) Check(fences int) error {
	places := uint64(0)
	if n := len(m.rings); n > 0 {
		places = uint64(m.starts[n-1]) + uint64(len(m.rings[n-1]))
	}
	roots := uint64(m.W) * uint64(m.H)
	if roots > uint64(len(m.Dir)) || len(m.Dir) > 1<<entryBits || len(m.Words) > 1<<entryBits || len(m.Words) == 0 || m.Words[0] != 0 {
		return fmt.Errorf("a cellmap of %d x %d cells does not fit into %d entries and %d words", m.W, m.H, len(m.Dir), len(m.Words))
	}
	if m.Shift > maxShift || m.Dir == nil {
		return fmt.Errorf("a cellmap's cells are 2^%d units wide", m.Shift)
	}
	checks := make([]cellCheck, min(1+roots/checkedRoots, uint64(runtime.GOMAXPROCS(0)), maxWorkers))
	var wg sync.WaitGroup
	for i := range checks {
		n := uint64(len(checks))
		checks[i] = cellCheck{m: m, fences: uint64(fences), places: places, from: roots * uint64(i) / n, to: roots * uint64(i+1) / n}
		wg.Go(checks[i].run)
	}
	wg.Wait()
	for i := range checks {
		if err := checks[i].err; err != nil {
			return err
		}
		if i > 0 && !checks[0].nodes.merge(checks[i].nodes) {
			return errSharedNode
		}
	}
	return nil
}

// checkedRoots is how many root cells are worth a goroutine of their own.
const checkedRoots = 1 << 12

// maxShift is that of root cells so wide that two of them hold the world.
const maxShift = 30

// errSharedNode says that two entries lead to a node, which then could lead back to itself.
var errSharedNode = errors.New("a divided cell shares its parts with another")

// cellCheck checks a range of root cells. It goes once over everything that an entry leads to,
// however many lead there.
type cellCheck struct {
	m                     *Map
	fences, places        uint64
	from, to              uint64 // root cells
	lists, records, nodes bitset
	err                   error
}

func (c *cellCheck) run() {
	c.lists, c.records, c.nodes = newBitset(len(c.m.Words)), newBitset(len(c.m.Words)), newBitset(len(c.m.Dir))
	for i, entry := range c.m.Dir[c.from:c.to] {
		if err := c.entry(entry, c.m.Shift); err != nil {
			c.err = fmt.Errorf("cell %d: %w", c.from+uint64(i), err)
			return
		}
	}
}

func (c *cellCheck) entry(entry uint32, shift uint) error {
	at := uint64(entry & entryMask)
	switch entry &^ entryMask {
	case entryOne:
		return c.refs([]uint32{uint32(at)})
	case EntryNode:
		return c.node(at, shift)
	case EntryCell:
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
	if at > uint64(len(c.m.Words)) || n > uint64(len(c.m.Words))-at {
		return nil
	}
	return c.m.Words[at : at+n : at+n]
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

// node checks the children of a node.
func (c *cellCheck) node(at uint64, shift uint) error {
	if shift < nodeBits || at+nodeSize > uint64(len(c.m.Dir)) {
		return fmt.Errorf("it is divided where there is nothing to divide")
	}
	if !c.nodes.add(at) {
		return errSharedNode
	}
	for _, entry := range c.m.Dir[at : at+nodeSize] {
		if err := c.entry(entry, shift-nodeBits); err != nil {
			return err
		}
	}
	return nil
}

func (c *cellCheck) record(at uint64) error {
	head := c.words(at, 1)
	if head == nil {
		return fmt.Errorf("its record begins beyond the end")
	}
	locals, edges := uint64(head[0]&recordLocals), uint64(head[0]>>edgesShift&recordEdges)
	if locals == wideRecord {
		return c.wide(at)
	}
	refs := c.words(at+1, locals)
	sides := c.words(at+1+locals, edges*edgeWords)
	places := c.words(at+1+locals+edges*edgeWords, edges)
	first := c.words(at+1, 1) // appendBatch loads it whether or not there is one
	if first == nil || refs == nil || sides == nil || places == nil || locals > maxLocals || head[0]>>cornerShift>>locals != 0 {
		return fmt.Errorf("its record does not fit")
	}
	for i := uint64(edgeWords - 1); i < uint64(len(sides)); i += edgeWords {
		if sides[i]&localBits>>locals != 0 {
			return fmt.Errorf("an edge of it bounds a part that is not there")
		}
	}
	return c.edges(refs, places)
}

func (c *cellCheck) wide(at uint64) error {
	head := c.words(at, wideHead)
	if head == nil {
		return fmt.Errorf("its record begins beyond the end")
	}
	locals, edges := uint64(head[1]), uint64(head[2])
	masks := (locals + 31) / 32
	at += wideHead + masks
	refs := c.words(at, locals)
	sides := c.words(at+locals, edges*wideEdgeWords)
	places := c.words(at+locals+edges*wideEdgeWords, edges)
	if refs == nil || sides == nil || places == nil {
		return fmt.Errorf("its record ends beyond the end")
	}
	for i, local := range sides {
		if i%wideEdgeWords >= wideEdgeWords-2 && uint64(local) >= locals && local != noLocal {
			return fmt.Errorf("an edge of it bounds part %d of %d", local, locals)
		}
	}
	return c.edges(refs, places)
}

// edges checks what records of both forms have in common.
func (c *cellCheck) edges(refs, places []uint32) error {
	for _, p := range places {
		if uint64(p) >= c.places {
			return fmt.Errorf("an edge of it ends at vertex %d of %d", p, c.places)
		}
	}
	return c.refs(refs)
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

// merge adds what is in a set of as many numbers; false if they have one in common.
func (b bitset) merge(o bitset) bool {
	both := uint64(0)
	for i, w := range o {
		both |= b[i] & w
		b[i] |= w
	}
	return both == 0
}

// Grid is what a cellmap has beside its arrays. It has no padding: images hold it as it is.
type Grid struct {
	X0, Y0             int32
	Shift, W, H, Spare uint32
}

// Open makes a cellmap of the arrays that another had, and checks that no look-up leaves
// them. starts has the place of the first vertex of each ring; refs are below fences.
func Open(g Grid, dir, words []uint32, rings []geometry.Ring, starts []uint32, r geometry.Rule, fences int) (*Map, error) {
	m := &Map{
		rule: r, x0: g.X0, y0: g.Y0, Shift: uint(g.Shift), W: g.W, H: g.H,
		Dir: dir, Words: words, rings: rings, starts: starts,
	}
	return m, m.Check(fences)
}

// Arrays gives what openCellmap needs; false if the index has changed since it was built.
func (x *Index) Arrays() (g Grid, dir, words []uint32, ok bool) {
	m := x.base
	return Grid{X0: m.x0, Y0: m.y0, Shift: uint32(m.Shift), W: m.W, H: m.H}, m.Dir, m.Words, x.edits == nil
}
