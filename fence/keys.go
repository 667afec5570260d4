package fence

import (
	"hash/maphash"
	"slices"
)

// bucketLoad is the mean number of keys in a bucket at which the buckets are doubled.
const bucketLoad = 16

type keyRef struct {
	key string
	ref Ref
}

// keys maps keys to refs. It is immutable: with and without give changed copies that share
// all buckets but one, so that an edit copies half a byte per key of the set, not a map.
type keys struct {
	seed    maphash.Seed
	buckets [][]keyRef // a power of two
	n       int
}

// newKeys gives an empty map made for n keys.
func newKeys(n int) *keys {
	size := 1
	for size*bucketLoad < n {
		size *= 2
	}
	return &keys{seed: maphash.MakeSeed(), buckets: make([][]keyRef, size)}
}

func (k *keys) bucket(key string) int {
	return int(maphash.String(k.seed, key) & uint64(len(k.buckets)-1))
}

func (k *keys) get(key string) (Ref, bool) {
	for _, kr := range k.buckets[k.bucket(key)] {
		if kr.key == key {
			return kr.ref, true
		}
	}
	return 0, false
}

// put adds a key that is not there, in place: only for a map that is not published yet.
func (k *keys) put(key string, r Ref) {
	i := k.bucket(key)
	k.buckets[i] = append(k.buckets[i], keyRef{key, r})
	k.n++
}

// with gives a map that has a new key too.
func (k *keys) with(key string, r Ref) *keys {
	if k.n >= 2*bucketLoad*len(k.buckets) {
		k = k.grown()
	}
	next := &keys{k.seed, slices.Clone(k.buckets), k.n}
	i := next.bucket(key)
	next.buckets[i] = slices.Clip(next.buckets[i]) // append must not write to what readers see
	next.put(key, r)
	return next
}

func (k *keys) grown() *keys {
	next := newKeys(4 * k.n)
	for _, b := range k.buckets {
		for _, kr := range b {
			next.put(kr.key, kr.ref)
		}
	}
	return next
}

// without gives a map that lacks the key.
func (k *keys) without(key string) *keys {
	next := &keys{k.seed, slices.Clone(k.buckets), k.n}
	i := next.bucket(key)
	b := slices.DeleteFunc(slices.Clone(next.buckets[i]), func(kr keyRef) bool { return kr.key == key })
	next.n -= len(next.buckets[i]) - len(b)
	next.buckets[i] = b
	return next
}
