package geojson

import (
	"slices"
	"sort"
)

// blockSize bounds what an insertion moves: 1 kB at most in a block, and the list of blocks
// when one is split or emptied.
const blockSize = 256

// status is an ordered list of edges in blocks that are never empty. It knows no order
// itself; the sweep does.
type status struct {
	blocks [][]int32
	free   [][]int32 // emptied blocks, for use again
}

// place is between two edges: before the i-th one of a block, or at its end.
type place struct{ block, i int }

func (s *status) reset() {
	s.free = append(s.free, s.blocks...)
	s.blocks = s.blocks[:0]
}

// search finds the place below the first edge for which side is not positive. side must not
// grow from the bottom to the top.
func (s *status) search(side func(int32) int) place {
	b := sort.Search(len(s.blocks), func(i int) bool { return side(s.blocks[i][0]) <= 0 })
	if b > 0 {
		b--
	}
	if b == len(s.blocks) {
		return place{}
	}
	block := s.blocks[b]
	return place{b, sort.Search(len(block), func(i int) bool { return side(block[i]) <= 0 })}
}

// get is the edge above the place, which it moves to the beginning of the next block if it
// is at the end of one.
func (s *status) get(at *place) (int32, bool) {
	if at.block < len(s.blocks) && at.i == len(s.blocks[at.block]) && at.block+1 < len(s.blocks) {
		*at = place{at.block + 1, 0}
	}
	if at.block >= len(s.blocks) || at.i >= len(s.blocks[at.block]) {
		return 0, false
	}
	return s.blocks[at.block][at.i], true
}

// before is the edge below the place.
func (s *status) before(at place) (int32, bool) {
	if at.i > 0 {
		return s.blocks[at.block][at.i-1], true
	}
	if at.block > 0 {
		b := s.blocks[at.block-1]
		return b[len(b)-1], true
	}
	return 0, false
}

func (s *status) insert(at place, id int32) {
	if len(s.blocks) == 0 {
		s.blocks = append(s.blocks, s.newBlock())
	}
	b := slices.Insert(s.blocks[at.block], at.i, id)
	s.blocks[at.block] = b
	if len(b) == blockSize {
		upper := append(s.newBlock(), b[blockSize/2:]...)
		s.blocks[at.block] = b[:blockSize/2]
		s.blocks = slices.Insert(s.blocks, at.block+1, upper)
	}
}

// remove takes out the edge above the place. The place is then below the next edge, or at
// the end of what is there.
func (s *status) remove(at place) {
	b := slices.Delete(s.blocks[at.block], at.i, at.i+1)
	s.blocks[at.block] = b
	if len(b) == 0 {
		s.free = append(s.free, b)
		s.blocks = slices.Delete(s.blocks, at.block, at.block+1)
	}
}

func (s *status) newBlock() []int32 {
	if n := len(s.free); n > 0 {
		b := s.free[n-1]
		s.free = s.free[:n-1]
		return b[:0]
	}
	return make([]int32, 0, blockSize)
}
