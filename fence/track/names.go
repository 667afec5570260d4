package track

import (
	"hash/maphash"
	"math/bits"
)

// names finds objects by fleet and id: an open hash table with linear probing. A slot is half of
// the hash and the handle of the object, from 1, or 0.
type names struct {
	slots []uint64
	used  int
	seed  maphash.Seed
}

// leastSlots is the size of the smallest table, a power of two.
const leastSlots = 16

func newNames() names { return names{slots: make([]uint64, leastSlots), seed: maphash.MakeSeed()} }

func (n *names) hash(fleet, id string) uint32 {
	h := maphash.String(n.seed, id) ^ bits.RotateLeft64(maphash.String(n.seed, fleet), 17)
	return uint32(h ^ h>>32)
}

// find returns the object of a name. order has the objects by handle.
func (n *names) find(order []*object, fleet, id string) (*object, bool) {
	hash := n.hash(fleet, id)
	mask := uint32(len(n.slots) - 1)
	for i := hash & mask; ; i = (i + 1) & mask {
		slot := n.slots[i]
		if slot == 0 {
			return nil, false
		}
		if uint32(slot>>32) != hash {
			continue
		}
		if o := order[uint32(slot)-1]; o.id == id && *o.fleet == fleet {
			return o, true
		}
	}
}

// add adds the object of a new name, whose handle is set.
func (n *names) add(o *object) {
	if 4*(n.used+1) > 3*len(n.slots) {
		n.grow()
	}
	n.put(uint64(n.hash(*o.fleet, o.id))<<32 | uint64(o.handle+1))
	n.used++
}

func (n *names) grow() {
	old := n.slots
	n.slots = make([]uint64, 2*len(old))
	for _, slot := range old {
		if slot != 0 {
			n.put(slot)
		}
	}
}

func (n *names) put(slot uint64) {
	mask := uint32(len(n.slots) - 1)
	i := uint32(slot>>32) & mask
	for n.slots[i] != 0 {
		i = (i + 1) & mask
	}
	n.slots[i] = slot
}

// remove takes the object of a name out, and moves others to where they are found.
func (n *names) remove(o *object) {
	mask := uint32(len(n.slots) - 1)
	i := n.hash(*o.fleet, o.id) & mask
	for uint32(n.slots[i]) != o.handle+1 {
		i = (i + 1) & mask
	}
	n.used--
	for next := (i + 1) & mask; n.slots[next] != 0; next = (next + 1) & mask {
		if home := uint32(n.slots[next]>>32) & mask; (next-home)&mask >= (next-i)&mask {
			n.slots[i] = n.slots[next]
			i = next
		}
	}
	n.slots[i] = 0
}
