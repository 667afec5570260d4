package traffic

import (
	"cmp"
	"hash/maphash"
	"slices"
)

// seed makes the hashes of texts different in each process.
var seed = maphash.MakeSeed()

const (
	// sketchSlots is the number of texts that a sketch counts at once. A text with a larger share
	// of the offers than one in sketchSlots is among them.
	sketchSlots = 128
	// sketchText is the longest text that is counted, in bytes.
	sketchText = 256
	// sketchMemory is the number of offers after which all counts are halved, so that formerly busy
	// texts make room.
	sketchMemory = 1 << 26
)

// sketch finds the texts that come most often of any number of them, in bounded memory:
// Space-Saving, of Metwally, Agrawal, El Abbadi: Efficient Computation of Frequent and Top-k
// Elements in Data Streams, ICDT 2005. The sketch is small, so that going through all slots is as
// quick as their linked lists. It belongs to one goroutine at a time.
type sketch struct {
	hashes [sketchSlots]uint64
	slots  [sketchSlots]Slot
	used   int
	total  uint64
}

// Slot counts one text. It came at most count times, and at least count - Over times: Over is
// the count of the slot when the text took it.
type Slot struct {
	Text     []byte
	count    uint64
	Over     uint64
	offers   int  // calls, not messages
	labelled bool // it is a prefix with a label
}

// offer counts text n times and returns its slot, or nil if the text is too long.
func (k *sketch) offer(text []byte, n uint64) *Slot {
	if len(text) > sketchText {
		return nil
	}
	if k.total += n; k.total >= sketchMemory {
		k.halve()
	}
	hash := maphash.Bytes(seed, text)
	for i, h := range k.hashes[:k.used] {
		if s := &k.slots[i]; h == hash && string(s.Text) == string(text) {
			s.count += n
			s.offers++
			return s
		}
	}
	at := k.used
	if at < sketchSlots {
		k.used++
	} else {
		at = k.least()
	}
	s := &k.slots[at]
	k.hashes[at] = hash
	*s = Slot{Text: append(s.Text[:0], text...), count: s.count + n, Over: s.count, offers: 1}
	return s
}

// least returns the slot with the smallest count.
func (k *sketch) least() int {
	least := 0
	for i := range k.slots {
		if k.slots[i].count < k.slots[least].count {
			least = i
		}
	}
	return least
}

func (k *sketch) halve() {
	k.total /= 2
	for i := range k.slots[:k.used] {
		k.slots[i].count /= 2
		k.slots[i].Over /= 2
	}
}

// Sure returns how often the text came at least.
func (s *Slot) Sure() uint64 { return s.count - s.Over }

// top copies the n slots whose texts surely came most often, the first first.
func (k *sketch) top(n int) []Slot {
	list := slices.Clone(k.slots[:k.used])
	slices.SortFunc(list, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(b.Sure(), a.Sure()), slices.Compare(a.Text, b.Text))
	})
	list = list[:min(n, len(list))]
	for i := range list {
		list[i].Text = slices.Clone(list[i].Text)
	}
	return list
}
