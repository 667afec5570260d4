package track

import (
	"hash/maphash"
	"math/bits"
)

// names finds objects by fleet and id. It is an open hash table with linear probing. An empty slot
// is 0. In the slot of an object the low bits are its handle plus one, and the high bits are from
// its hash. The low bits are as many as an index of the table has, which is enough, because there
// are more slots than handles.
type names struct {
	slots []uint32 // a power of two
	used  int
	seed  maphash.Seed
}

// leastSlots is the size of the smallest table.
const leastSlots = 16

func newNames() names { return names{slots: make([]uint32, leastSlots), seed: maphash.MakeSeed()} }

// slot returns the index at which the search for a name begins, and the high bits of its slot.
func (n *names) slot(fleet, id string) (place, tag uint32) {
	h := maphash.String(n.seed, id) ^ bits.RotateLeft64(maphash.String(n.seed, fleet), 17)
	return uint32(h) & n.mask(), uint32(h>>32) &^ n.mask()
}

// mask covers the low bits: those of a handle in a slot, and of an index in the table.
func (n *names) mask() uint32 { return uint32(len(n.slots) - 1) }

// find returns the object of a name.
func (s *Shard) find(fleet, id string) (*object, bool) {
	n := &s.names
	mask := n.mask()
	for i, tag := n.slot(fleet, id); ; i = (i + 1) & mask {
		slot := n.slots[i]
		if slot == 0 {
			return nil, false
		}
		if slot&^mask != tag {
			continue
		}
		o := s.objects.at(slot&mask - 1)
		if f, text := s.nameOf(o); text == id && f == fleet {
			return o, true
		}
	}
}

// addName adds the object of a new name.
func (s *Shard) addName(o *object) {
	if 4*s.objects.len() > 3*len(s.names.slots) {
		s.growNames()
	}
	s.putName(o)
	s.names.used++
}

// growNames makes room for the names of all objects.
func (s *Shard) growNames() {
	n := &s.names
	old, mask := n.slots, n.mask()
	size := len(old)
	for 4*s.objects.len() > 3*size {
		size *= 2
	}
	n.slots = make([]uint32, size)
	for _, slot := range old {
		if slot != 0 {
			s.putName(s.objects.at(slot&mask - 1))
		}
	}
}

func (s *Shard) putName(o *object) {
	n := &s.names
	i, tag := n.slot(s.nameOf(o))
	for n.slots[i] != 0 {
		i = (i + 1) & n.mask()
	}
	n.slots[i] = tag | (o.handle + 1)
}

// removeName takes the object of a name out, and moves others to where they are found.
func (s *Shard) removeName(o *object) {
	n := &s.names
	mask := n.mask()
	i, _ := n.slot(s.nameOf(o))
	for n.slots[i]&mask != o.handle+1 {
		i = (i + 1) & mask
	}
	n.used--
	for next := (i + 1) & mask; n.slots[next] != 0; next = (next + 1) & mask {
		home, _ := n.slot(s.nameOf(s.objects.at(n.slots[next]&mask - 1)))
		if (next-home)&mask >= (next-i)&mask {
			n.slots[i] = n.slots[next]
			i = next
		}
	}
	n.slots[i] = 0
}
