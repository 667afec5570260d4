package subjects

import (
	"math/bits"
	"slices"
)

// Map is a persistent map from text to V: a change makes a new map that shares all but a path with
// the old one, which stays as it is. It is a hash trie of 16 branches. The caller provides the
// hashes, which must be the same for the same text. The zero value is empty.
type Map[V any] struct {
	root *mapNode[V]
	n    int
}

// mapNode holds the branches that exist, in the order of their four bits.
type mapNode[V any] struct {
	present uint16
	slots   []mapSlot[V]
}

// mapSlot is a branch or a leaf.
type mapSlot[V any] struct {
	node *mapNode[V]
	leaf *mapLeaf[V]
}

// mapLeaf is an entry; next has the same hash and another key.
type mapLeaf[V any] struct {
	hash  uint64
	key   string
	value V
	next  *mapLeaf[V]
}

const (
	mapBits = 4
	mapMask = 1<<mapBits - 1
)

// Get returns key's value; found = it has one.
//
// hot: guarded by BenchmarkFlow and TestMatchDoesNotAllocate.
func (m *Map[V]) Get(hash uint64, key []byte) (value V, found bool) {
	for n, h := m.root, hash; n != nil; h >>= mapBits {
		bit := uint16(1) << (h & mapMask)
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

// With returns a map in which key has the value.
func (m Map[V]) With(hash uint64, key string, value V) Map[V] {
	added := &mapLeaf[V]{hash: hash, key: key, value: value}
	root, grown := m.root.with(added, 0)
	m.root = root
	if grown {
		m.n++
	}
	return m
}

// with adds the leaf below n, whose branches are selected by the bits from shift on.
func (n *mapNode[V]) with(added *mapLeaf[V], shift uint) (changed *mapNode[V], grown bool) {
	bit := uint16(1) << (added.hash >> shift & mapMask)
	if n == nil {
		return &mapNode[V]{present: bit, slots: []mapSlot[V]{{leaf: added}}}, true
	}
	at := bits.OnesCount16(n.present & (bit - 1))
	if n.present&bit == 0 {
		slots := slices.Concat(n.slots[:at], []mapSlot[V]{{leaf: added}}, n.slots[at:])
		return &mapNode[V]{present: n.present | bit, slots: slots}, true
	}
	changed = n.clone()
	slot := &changed.slots[at]
	switch {
	case slot.leaf == nil:
		slot.node, grown = slot.node.with(added, shift+mapBits)
	case slot.leaf.hash == added.hash:
		var replaced bool
		added.next, replaced = slot.leaf.without(added.key)
		slot.leaf, grown = added, !replaced
	default:
		below, _ := (*mapNode[V])(nil).with(slot.leaf, shift+mapBits)
		slot.leaf = nil
		slot.node, grown = below.with(added, shift+mapBits)
	}
	return changed, grown
}

func (n *mapNode[V]) clone() *mapNode[V] {
	return &mapNode[V]{present: n.present, slots: slices.Clone(n.slots)}
}

// without returns the list without key; found = it was there.
func (l *mapLeaf[V]) without(key string) (rest *mapLeaf[V], found bool) {
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
	return &mapLeaf[V]{hash: l.hash, key: l.key, value: l.value, next: next}, true
}

// Without returns a map in which key has no value.
func (m Map[V]) Without(hash uint64, key string) Map[V] {
	root, found := m.root.without(hash, key, 0)
	m.root = root
	if found {
		m.n--
	}
	return m
}

func (n *mapNode[V]) without(hash uint64, key string, shift uint) (changed *mapNode[V], found bool) {
	bit := uint16(1) << (hash >> shift & mapMask)
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
		slot.node, found = slot.node.without(hash, key, shift+mapBits)
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
	return &mapNode[V]{present: n.present &^ bit, slots: slices.Concat(n.slots[:at], n.slots[at+1:])}, true
}

// Values goes through the values, in the order of the hashes.
func (m Map[V]) Values(yield func(V) bool) { m.root.values(yield) }

func (n *mapNode[V]) values(yield func(V) bool) bool {
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

// Len returns the number of entries.
func (m *Map[V]) Len() int { return m.n }
