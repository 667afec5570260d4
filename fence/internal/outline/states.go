package outline

import "slices"

// A cell's state is how far away the next cell with an edge is, at most farthest, and busy if its
// list does not say all.
const (
	farthest uint8 = 1<<7 - 1
	busy     uint8 = 1 << 7
)

// statePage is how many states are copied together.
const statePage = 1 << 10

// states are those of all cells. An edit copies the pages that it changes, and shares the others.
type states struct {
	pages []*[statePage]uint8
	own   []bool // pages that may be changed, as no other states share them
}

func newStates(all []uint8) states {
	var s states
	for part := range slices.Chunk(all, statePage) {
		page := new([statePage]uint8)
		copy(page[:], part)
		s.pages = append(s.pages, page)
	}
	return s
}

// edited returns states for set to change.
func (s states) edited() states {
	return states{slices.Clone(s.pages), make([]bool, len(s.pages))}
}

func (s *states) of(cell int) uint8   { return s.pages[cell/statePage][cell%statePage] }
func (s *states) away(cell int) uint8 { return s.of(cell) & farthest }

func (s *states) set(cell int, state uint8) {
	i := cell / statePage
	if !s.own[i] {
		page := *s.pages[i]
		s.pages[i], s.own[i] = &page, true
	}
	s.pages[i][cell%statePage] = state
}
