package bus

import "math/bits"

// pmap is a persistent map from text to V: a change makes a new map that shares
// all but a path with the old one, which stays as it is. It is a hash trie of 16
// branches; whoever uses it brings the hashes, which must be the same for the
// same text. The zero value is empty.
type pmap[V any] struct {
	root *pnode[V]
	n    int
}

// pnode holds the branches that exist, in the order of their four bits.
type pnode[V any] struct {
	present uint16
	slots   []pslot[V]
}

// pslot is a branch or a leaf.
type pslot[V any] struct {
	node *pnode[V]
	leaf *pleaf[V]
}

// pleaf is an entry; next has the same hash and another key.
type pleaf[V any] struct {
	hash  uint64
	key   string
	value V
	next  *pleaf[V]
}

const (
	pbits = 4
	pmask = 1<<pbits - 1
)

// get returns key's value; found = it has one.
//
// hot: guarded by BenchmarkIndex and TestMatchDoesNotAllocate.
func (m *pmap[V]) get(hash uint64, key []byte) (value V, found bool) {
	for n, h := m.root, hash; n != nil; h >>= pbits {
		bit := uint16(1) << (h & pmask)
		if n.present&bit == 0 {
			break
		}
		slot := &n.slots[bits.OnesCount16(n.present&(bit-1))]
		for leaf := slot.leaf; leaf != nil; leaf = leaf.next {
			if leaf.hash == hash && leaf.key == string(key) {
				return leaf.value, true
			}
		}
		n = slot.node
	}
	return value, false
}

// with returns a map in which key has the value.
func (m pmap[V]) with(hash uint64, key string, value V) pmap[V] {
	added := &pleaf[V]{hash: hash, key: key, value: value}
	root, grown := m.root.with(added, 0)
	m.root = root
	if grown {
		m.n++
	}
	return m
}

// with adds the leaf below n, whose branches are told by the bits from shift on.
func (n *pnode[V]) with(added *pleaf[V], shift uint) (changed *pnode[V], grown bool) {
	bit := uint16(1) << (added.hash >> shift & pmask)
	if n == nil {
		return &pnode[V]{present: bit, slots: []pslot[V]{{leaf: added}}}, true
	}
	at := bits.OnesCount16(n.present & (bit - 1))
	if n.present&bit == 0 {
		slots := make([]pslot[V], len(n.slots)+1)
		copy(slots, n.slots[:at])
		copy(slots[at+1:], n.slots[at:])
		slots[at].leaf = added
		return &pnode[V]{present: n.present | bit, slots: slots}, true
	}
	changed = n.clone()
	slot := &changed.slots[at]
	switch {
	case slot.leaf == nil:
		slot.node, grown = slot.node.with(added, shift+pbits)
	case slot.leaf.hash == added.hash:
		var replaced bool
		added.next, replaced = slot.leaf.without(added.key)
		slot.leaf, grown = added, !replaced
	default:
		below, _ := (*pnode[V])(nil).with(slot.leaf, shift+pbits)
		slot.leaf = nil
		slot.node, grown = below.with(added, shift+pbits)
	}
	return changed, grown
}

func (n *pnode[V]) clone() *pnode[V] {
	return &pnode[V]{present: n.present, slots: append(make([]pslot[V], 0, len(n.slots)), n.slots...)}
}

// without returns the list without key; found = it was there.
func (l *pleaf[V]) without(key string) (rest *pleaf[V], found bool) {
	if l == nil {
		return nil, false
	}
	if l.key == key {
		return l.next, true
	}
	next, found := l.next.without(key)
	if !found {
		return l, false
	}
	return &pleaf[V]{hash: l.hash, key: l.key, value: l.value, next: next}, true
}

// without returns a map in which key has no value.
func (m pmap[V]) without(hash uint64, key string) pmap[V] {
	root, found := m.root.without(hash, key, 0)
	m.root = root
	if found {
		m.n--
	}
	return m
}

func (n *pnode[V]) without(hash uint64, key string, shift uint) (changed *pnode[V], found bool) {
	bit := uint16(1) << (hash >> shift & pmask)
	if n == nil || n.present&bit == 0 {
		return n, false
	}
	at := bits.OnesCount16(n.present & (bit - 1))
	slot := n.slots[at]
	if slot.leaf != nil {
		if slot.leaf.hash != hash {
			return n, false
		}
		slot.leaf, found = slot.leaf.without(key)
	} else {
		slot.node, found = slot.node.without(hash, key, shift+pbits)
		if below := slot.node; below != nil && len(below.slots) == 1 && below.slots[0].leaf != nil {
			slot = below.slots[0] // a branch of one leaf is that leaf
		}
	}
	switch {
	case !found:
		return n, false
	case slot.leaf != nil || slot.node != nil:
		changed = n.clone()
		changed.slots[at] = slot
		return changed, true
	case len(n.slots) == 1:
		return nil, true
	}
	slots := make([]pslot[V], 0, len(n.slots)-1)
	slots = append(append(slots, n.slots[:at]...), n.slots[at+1:]...)
	return &pnode[V]{present: n.present &^ bit, slots: slots}, true
}

// values goes through the values, in the order of the hashes.
func (m pmap[V]) values(yield func(V) bool) { m.root.values(yield) }

func (n *pnode[V]) values(yield func(V) bool) bool {
	if n == nil {
		return true
	}
	for _, slot := range n.slots {
		for leaf := slot.leaf; leaf != nil; leaf = leaf.next {
			if !yield(leaf.value) {
				return false
			}
		}
		if !slot.node.values(yield) {
			return false
		}
	}
	return true
}
