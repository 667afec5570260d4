// Package traffic counts messages by the beginnings of their subjects, and finds the busiest
// subjects, in bounded memory.
package traffic

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// MaxLabels is the number of prefixes that get a label of their own, beside the configured
	// ones.
	MaxLabels = 32
	// labelShare is which part of all messages a prefix must have for a label: one
	// in so many. As it is a part of all there were, labels come ever more rarely.
	labelShare = 1000
	// labelOffers is the number of times that it must have been offered: one sample may stand for
	// many.
	labelOffers = 4
	// samplePart and maxSampleEvery set the precision with which busy subjects are found: a subject
	// is offered after one message in samplePart of all so far, and after maxSampleEvery at the
	// latest.
	samplePart     = 1024
	maxSampleEvery = 256
)

// Other is the label of all subjects that belong to no other.
const Other = "other"

// Table counts messages by the beginnings of their subjects. Which prefixes have a label is known
// without a lock. Its counters only ever grow, also the counter of all other subjects: the messages
// of a prefix before it got its label stay there, and one that loses its label takes its count
// along.
type Table struct {
	labels      atomic.Pointer[Labels]
	other       Tally
	sampleEvery atomic.Uint64 // messages after which a subject is offered to the sketches

	mu       sync.Mutex // guards the fields below
	prefixes sketch
	subjects sketch
}

// Tally counts the messages of one label.
type Tally struct{ in, out atomic.Uint64 }

// Labels are the prefixes that are counted apart. They never change: others take their place.
type Labels struct {
	configured []label // the longest first
	busy       map[string]*Tally
}

type label struct {
	prefix string
	tally  *Tally
}

// New returns a table with a label for each prefix.
func New(prefixes []string) *Table {
	t := new(Table)
	list := make([]label, len(prefixes))
	for i, p := range prefixes {
		list[i] = label{p, new(Tally)}
	}
	slices.SortStableFunc(list, func(a, b label) int { return cmp.Compare(len(b.prefix), len(a.prefix)) })
	t.labels.Store(&Labels{configured: list, busy: map[string]*Tally{}})
	t.sampleEvery.Store(1)
	return t
}

// Find returns where the messages of subject count, or nil.
func (l *Labels) Find(subject []byte) *Tally {
	for i := range l.configured {
		c := &l.configured[i]
		n := len(c.prefix)
		if len(subject) >= n && string(subject[:n]) == c.prefix && (len(subject) == n || subject[n] == '.') {
			return c.tally
		}
	}
	return l.busy[string(prefixOf(subject))]
}

// prefixOf returns the part of a subject from which a label may be made: its first two tokens, but
// never the last of several, which distinguishes one object from the other. All inboxes are one.
func prefixOf(subject []byte) []byte {
	first := bytes.IndexByte(subject, '.')
	if first < 0 {
		return subject
	}
	second := bytes.IndexByte(subject[first+1:], '.')
	if second < 0 || string(subject[:first]) == inboxes {
		return subject[:first]
	}
	return subject[:first+1+second]
}

// inboxes is the beginning of the subjects that clients use for replies.
const inboxes = "_INBOX"

// Note counts messages under a label; nil = the label of all other subjects.
func (t *Table) Note(to *Tally, in, out uint64) {
	if to == nil {
		to = &t.other
	}
	to.in.Add(in)
	if out > 0 {
		to.out.Add(out)
	}
}

// Offer reports n messages to subject to the sketches. It returns false if the sketches are busy:
// the router does not wait for them.
func (t *Table) Offer(subject []byte, n uint64) bool {
	if !t.mu.TryLock() {
		return false
	}
	defer t.mu.Unlock()
	t.subjects.offer(subject, n)
	if s := t.prefixes.offer(prefixOf(subject), n); s != nil && !s.labelled {
		t.consider(s)
	}
	t.sampleEvery.Store(min(maxSampleEvery, 1+t.prefixes.total/samplePart))
	return true
}

// consider gives a prefix a label if it is busy enough; if there is no room, in
// place of one that surely had less than half as much. t.mu is held.
func (t *Table) consider(s *Slot) {
	now := t.labels.Load()
	if s.labelled = now.busy[string(s.Text)] != nil; s.labelled || s.Sure()*labelShare < t.prefixes.total || s.offers < labelOffers {
		return
	}
	if now.Find(s.Text) != nil || !utf8.Valid(s.Text) || string(s.Text) == Other {
		return // it has a label that was configured, or cannot be one
	}
	busy := maps.Clone(now.busy)
	if len(busy) >= MaxLabels {
		least := t.leastLabelled(busy)
		if least.Sure()*2 >= s.Sure() {
			return
		}
		least.labelled = false
		delete(busy, string(least.Text))
	}
	s.labelled = true
	busy[string(s.Text)] = new(Tally)
	t.labels.Store(&Labels{configured: now.configured, busy: busy})
}

// leastLabelled returns the label to give up first: one that the sketch has lost, if any, else the
// one with the lowest certain count.
func (t *Table) leastLabelled(busy map[string]*Tally) *Slot {
	var least *Slot
	lost := maps.Clone(busy)
	for i := range t.prefixes.slots[:t.prefixes.used] {
		s := &t.prefixes.slots[i]
		if s.labelled {
			delete(lost, string(s.Text))
			if least == nil || s.Sure() < least.Sure() {
				least = s
			}
		}
	}
	for prefix := range lost {
		return &Slot{Text: []byte(prefix)}
	}
	return least
}

// Labels returns the labels as they are now.
func (t *Table) Labels() *Labels { return t.labels.Load() }

// SampleEvery returns after how many messages a subject is offered.
func (t *Table) SampleEvery() uint64 { return t.sampleEvery.Load() }

// Read calls yield with the counts of the configured prefixes, of the busiest others, and last of
// all other subjects.
func (t *Table) Read(yield func(prefix string, in, out uint64)) {
	now := t.labels.Load()
	read := func(prefix string, c *Tally) { yield(prefix, c.in.Load(), c.out.Load()) }
	configured := slices.Clone(now.configured)
	slices.SortFunc(configured, func(a, b label) int { return cmp.Compare(a.prefix, b.prefix) })
	for _, c := range configured {
		read(c.prefix, c.tally)
	}
	for _, prefix := range slices.Sorted(maps.Keys(now.busy)) {
		read(prefix, now.busy[prefix])
	}
	read(Other, &t.other)
}

// Busiest returns the subjects that are probably the busiest, at most n.
func (t *Table) Busiest(n int) []Slot {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.subjects.top(n)
}
