package geometry

import "slices"

// Turn is a place at which a path crosses the boundary of an area.
type Turn struct {
	Share float64 // of the path, from 0 at its beginning to 1 at its end
	In    bool    // into the area, not out of it
}

// AppendTurns appends the places at which the path from a to b crosses the boundary of the area, in
// their order on the path. They alternate: after a turn into the area comes one out of it. The
// first and the last one are those of Passes.
func (mp MultiPolygon) AppendTurns(dst []Turn, a, b Point) []Turn {
	w, ok := NewPath(a, b)
	if !ok {
		return dst
	}
	var few [16]turn
	turns, held := few[:0], 0
	for _, part := range mp {
		from, first := len(turns), 1
		turns = cancelled(w.turns(turns, part), from)
		if part.holds(w.from) {
			if len(turns) == from { // all of the path is within
				return dst
			}
			held, first = held+1, -1
		}
		into(turns[from:], first)
	}
	slices.SortFunc(turns, byShare)
	for _, t := range turns {
		before := held
		held += t.into
		if before == 0 || held == 0 {
			dst = append(dst, Turn{t.share, before == 0})
		}
	}
	return dst
}
