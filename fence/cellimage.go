package fence

// cellGrid is what a cellmap has beside its arrays. It has no padding: images hold it as it is.
type cellGrid struct {
	X0, Y0             int32
	Shift, W, H, Spare uint32
}

// openCellmap makes a cellmap of the arrays that another had, and checks that no look-up leaves
// them. starts has the place of the first vertex of each ring; refs are below fences.
func openCellmap(g cellGrid, dir, words []uint32, rings []Ring, starts []uint32, r rule, fences int) (*cellmap, error) {
	m := &cellmap{
		rule: r, x0: g.X0, y0: g.Y0, shift: uint(g.Shift), w: g.W, h: g.H,
		dir: dir, words: words, rings: rings, starts: starts,
	}
	return m, m.check(fences)
}

// arrays gives what openCellmap needs; false if the index has changed since it was built.
func (x *cellIndex) arrays() (g cellGrid, dir, words []uint32, ok bool) {
	m := x.base
	return cellGrid{X0: m.x0, Y0: m.y0, Shift: uint32(m.shift), W: m.w, H: m.h}, m.dir, m.words, x.edits == nil
}
