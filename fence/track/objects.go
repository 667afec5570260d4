package track

import "iter"

// objects holds the objects of a shard by handle. An object keeps its place in memory, so a pointer
// to it stays valid; a removed one keeps its place until that is given to another.
type objects struct {
	chunks []*[chunkLen]object
	n      int
}

const (
	chunkBits = 6
	chunkLen  = 1 << chunkBits
	// manyChunks is the number of chunks that are allocated at once in a shard that has as many.
	manyChunks = 16
)

func (t *objects) len() int { return t.n }

func (t *objects) at(handle uint32) *object {
	return &t.chunks[handle>>chunkBits][handle&(chunkLen-1)]
}

// all yields the objects by ascending handle, with the removed ones.
func (t *objects) all() iter.Seq[*object] {
	return func(yield func(*object) bool) {
		for h := range t.n {
			if !yield(t.at(uint32(h))) {
				return
			}
		}
	}
}

// add returns an object with the next handle.
func (t *objects) add() *object {
	if t.n == len(t.chunks)*chunkLen {
		t.grow()
	}
	o := t.at(uint32(t.n))
	o.handle = uint32(t.n)
	t.n++
	return o
}

func (t *objects) grow() {
	if len(t.chunks) < manyChunks {
		t.chunks = append(t.chunks, new([chunkLen]object))
		return
	}
	many := make([]object, manyChunks*chunkLen)
	for ; len(many) > 0; many = many[chunkLen:] {
		t.chunks = append(t.chunks, (*[chunkLen]object)(many))
	}
}
