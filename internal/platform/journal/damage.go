package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"

	"github.com/cockroachdb/pebble/v2"
)

// Damage is a part of a journal that cannot be read.
type Damage struct {
	Where string // file and offset
	What  string // lies there
	// Newest says that the newest records or events may be among it, so that their number is not
	// known. Oldest says so of the oldest events.
	Newest, Oldest bool
}

func (d Damage) String() string { return d.Where + ": " + d.What }

// readable returns the first key behind a damaged place that can be read, or more false if nothing
// follows. Keys are numbers of stepBytes bytes here: leap finds one that can be read, and halves of
// the leap the first one. A damaged block is slow to read, as the store looks for the bit that has
// changed.
func (s *salvage) readable(from []byte) (next []byte, more bool) {
	least := uint(8 * (stepBytes - ordered)) // the power of the smallest step
	if from[0] == keyMeta {
		least = 0
	}
	low := keyNumber(from) // is damaged; low and step are not
	step, next, more, ok := s.leap(low, least)
	if !ok {
		return nil, false
	}
	for step.BitLen() > int(least)+1 {
		step.Rsh(step, 1)
		middle := new(big.Int).Add(low, step)
		if key, found, err := s.at(middle.FillBytes(make([]byte, stepBytes))); err == nil {
			next, more = key, found
		} else {
			low = middle
		}
	}
	return next, more
}

// leap returns a step to a key that can be read, of this power of two or more, and the first key
// from there on.
func (s *salvage) leap(low *big.Int, power uint) (step *big.Int, next []byte, more, ok bool) {
	for power < 8*stepBytes-3 { // the first byte of a key is one of few letters
		step = new(big.Int).Lsh(big.NewInt(1), power)
		key, found, err := s.at(new(big.Int).Add(low, step).FillBytes(make([]byte, stepBytes)))
		if err == nil {
			return step, key, found, true
		}
		if power < 8*stepBytes-8 {
			power += 8
		} else {
			power++
		}
	}
	return nil, nil, false, false
}

// stepBytes is the length of keys as numbers, and ordered that of the keys of records and events.
const (
	stepBytes = 32
	ordered   = 9
)

func keyNumber(key []byte) *big.Int {
	b := make([]byte, stepBytes)
	copy(b, key)
	return new(big.Int).SetBytes(b)
}

// at returns the first key from one on. The error is that of a damaged place.
func (s *salvage) at(from []byte) (key []byte, found bool, err error) {
	it, err := s.in.NewIter(&pebble.IterOptions{LowerBound: from})
	if err != nil {
		return nil, false, err
	}
	if it.First() {
		key, found = bytes.Clone(it.Key()), true
		_, err = it.ValueAndErr()
	}
	return key, found, errors.Join(err, it.Error(), it.Close())
}

// begins reports whether the first events may lie between two keys; next is nil at the end.
func begins(from, next []byte) bool {
	first := pieceKey(1)
	return bytes.Compare(from, first) <= 0 && (next == nil || bytes.Compare(next, first) > 0)
}

// ends reports whether the last keys of a kind lie between two keys; next is nil at the end.
func ends(from, next []byte, kind byte) bool {
	return bytes.Compare(from, []byte{kind + 1}) < 0 && (next == nil || next[0] > kind)
}

// describe names what lies between two keys; next is nil at the end.
func describe(from, next []byte) string {
	if next == nil {
		next = []byte{255}
	}
	var parts []string
	for _, kind := range []struct {
		prefix byte
		name   string
	}{{keyCheckpoint, "states of objects"}, {keyPiece, "events"}, {keyRecord, "records"}, {keyMeta, "values"}} {
		if bytes.Compare(from, []byte{kind.prefix + 1}) >= 0 || bytes.Compare(next, []byte{kind.prefix}) < 0 {
			continue
		}
		text := kind.name
		if begin, ok := numberIn(from, kind.prefix); ok {
			text += fmt.Sprintf(" from %d", begin)
		}
		if end, ok := numberIn(next, kind.prefix); ok {
			text += fmt.Sprintf(" before %d", end)
		}
		if kind.prefix == keyMeta {
			text += fmt.Sprintf(" from %.40q before %.40q", nameOf(from), nameOf(next))
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, ", ")
}

// nameOf returns the name of the key of a value, or "" for another key.
func nameOf(key []byte) []byte {
	name, ok := bytes.CutPrefix(key, []byte{keyMeta})
	if !ok {
		return nil
	}
	return name
}

// numberIn returns the number of a key of a record or a piece.
func numberIn(key []byte, kind byte) (uint64, bool) {
	if len(key) < 9 || key[0] != kind || kind != keyRecord && kind != keyPiece {
		return 0, false
	}
	return binary.BigEndian.Uint64(key[1:]), true
}
