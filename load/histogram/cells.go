package histogram

import (
	"encoding/binary"
	"iter"
)

// Cells holds counts by index, in ascending order and without zeros. Each entry is two varints: the
// distance to the previous index, and the count. Most entries take two or three bytes. The zero
// value is empty.
type Cells struct {
	bytes []byte
	last  int // place
}

// Append adds the count of a place behind all others.
func (c *Cells) Append(place int, n uint64) {
	c.bytes = binary.AppendUvarint(c.bytes, uint64(place-c.last))
	c.bytes = binary.AppendUvarint(c.bytes, n)
	c.last = place
}

// Clip gives up the room that is left behind the cells.
func (c *Cells) Clip() { c.bytes = append(make([]byte, 0, len(c.bytes)), c.bytes...) }

// All yields the places and their counts.
func (c *Cells) All() iter.Seq2[int, uint64] {
	return func(yield func(int, uint64) bool) {
		r := cellReader{rest: c.bytes}
		for r.next() {
			if !yield(r.place, r.n) {
				return
			}
		}
	}
}

// cellReader is at one of some cells.
type cellReader struct {
	rest  []byte // those behind it
	place int
	n     uint64
}

// next goes to the next cell, if there is one.
func (r *cellReader) next() bool {
	if len(r.rest) == 0 {
		return false
	}
	step, size := binary.Uvarint(r.rest)
	n, more := binary.Uvarint(r.rest[size:])
	r.rest, r.place, r.n = r.rest[size+more:], r.place+int(step), n
	return true
}
