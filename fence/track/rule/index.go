package rule

import (
	"errors"
	"fmt"
	"slices"

	"paddock/fence/track/rule/internal/trie"
)

// index finds the selections of an object. A selection is in one bucket, by the plain text of its
// pattern: all of it, if it has no wildcards; or else the text before its first wildcard; or, if it
// begins with one, the text behind its last one. Patterns that neither begin nor end with plain
// text are in the bucket of the empty prefix.
//
// So to find the selections of an object is a look-up for each length of such a text, and a match
// with each pattern of a bucket that is met. A copy of an index stays as it is while the other one
// is changed: the maps are replaced, and not changed.
type index struct {
	buckets trie.Map[bucketKey, []*Selection]
	fleets  trie.Map[string, lengths] // the fleets of selections
}

type bucketKey struct {
	fleet string
	part  part
	text  string
}

// part is where the plain text of a pattern stands.
type part uint8

const (
	whole part = iota
	prefixPart
	suffixPart
	parts
)

// lengths counts the buckets of one fleet by the length of their texts, in ascending order.
type lengths [parts][]lengthCount

type lengthCount struct{ length, buckets int }

// maxBucket bounds the patterns in one bucket, which are compared one by one.
const maxBucket = 1000

var errBucket = errors.New("too many patterns")

// bucket returns the bucket of a selector.
func (s selector) bucket() bucketKey {
	prefix, rest := s.pattern.literal()
	switch {
	case rest == "":
		return bucketKey{s.fleet, whole, prefix}
	case prefix != "":
		return bucketKey{s.fleet, prefixPart, prefix}
	}
	if end := suffix(rest); end != "" {
		return bucketKey{s.fleet, suffixPart, end}
	}
	return bucketKey{s.fleet, prefixPart, ""}
}

// get returns the selection of a selector, or nil.
func (x *index) get(s selector) *Selection {
	all, _ := x.buckets.Get(s.bucket())
	for _, o := range all {
		if o.selector == s {
			return o
		}
	}
	return nil
}

// add adds a selection that is not there.
func (x *index) add(s *Selection) error {
	key := s.bucket()
	old, _ := x.buckets.Get(key)
	if len(old) == maxBucket {
		return fmt.Errorf("%w: objects %q is one of over %d with the same text before the first wildcard, or behind the last one: give it more text at its beginning, or use fewer", errBucket, s.pattern.text, maxBucket)
	}
	x.buckets = x.buckets.With(key, append(slices.Clip(old), s))
	if len(old) == 0 {
		x.count(key, 1)
	}
	return nil
}

// remove removes a selection that is there.
func (x *index) remove(s *Selection) {
	key := s.bucket()
	old, _ := x.buckets.Get(key)
	if len(old) == 1 {
		x.buckets = x.buckets.Without(key)
		x.count(key, -1)
		return
	}
	x.buckets = x.buckets.With(key, slices.DeleteFunc(slices.Clone(old), func(o *Selection) bool { return o == s }))
}

// count adds n buckets like this one to its fleet.
func (x *index) count(key bucketKey, n int) {
	l, _ := x.fleets.Get(key.fleet)
	counts := slices.Clone(l[key.part])
	i, found := slices.BinarySearchFunc(counts, len(key.text), func(c lengthCount, n int) int { return c.length - n })
	if !found {
		counts = slices.Insert(counts, i, lengthCount{length: len(key.text)})
	}
	if counts[i].buckets += n; counts[i].buckets == 0 {
		counts = slices.Delete(counts, i, i+1)
	}
	l[key.part] = counts
	if len(l[whole])+len(l[prefixPart])+len(l[suffixPart]) == 0 {
		x.fleets = x.fleets.Without(key.fleet)
		return
	}
	x.fleets = x.fleets.With(key.fleet, l)
}

// find appends the selections of an object.
func (x *index) find(fleet, id string, dst []*Selection) []*Selection {
	dst = x.findIn(fleet, id, dst)
	if fleet != "" {
		dst = x.findIn("", id, dst)
	}
	return dst
}

// findIn appends the selections of one fleet, or of any fleet, that an id matches.
func (x *index) findIn(fleet, id string, dst []*Selection) []*Selection {
	l, ok := x.fleets.Get(fleet)
	if !ok {
		return dst
	}
	for p := range parts {
		for _, c := range l[p] {
			if text, ok := p.cut(id, c.length); ok {
				dst = x.match(bucketKey{fleet, p, text}, id, dst)
			}
		}
	}
	return dst
}

// cut returns the part of an id that has this length.
func (p part) cut(id string, length int) (text string, ok bool) {
	switch {
	case length > len(id) || p == whole && length != len(id):
		return "", false
	case p == suffixPart:
		return id[len(id)-length:], true
	}
	return id[:length], true
}

func (x *index) match(key bucketKey, id string, dst []*Selection) []*Selection {
	all, _ := x.buckets.Get(key)
	for _, s := range all {
		if s.pattern.Match(id) {
			dst = append(dst, s)
		}
	}
	return dst
}
