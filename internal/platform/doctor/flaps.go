package doctor

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
)

const (
	// FlapChanges is the number of changes within FlapWindow from which on an object flaps: it has
	// come and gone twice.
	FlapChanges = 4
	// FlapWindow is the time in which changes of an object in one fence count together.
	FlapWindow = 10 * time.Minute

	// flapRows and flapWays bound the pairs of an object and a fence that are counted: 32,768, in
	// 0.8 MB that are never more.
	flapRows = 1 << 13
	flapWays = 4
	// maxNamed bounds the pairs whose names are kept because they flap.
	maxNamed = 1024
	// flapTimes is the number of last changes of a named pair that are kept.
	flapTimes = 32
)

// Flaps counts the changes of each object in each fence, to find objects that enter and leave
// the same fence again and again. It looks at events, not at positions.
//
// A pair of an object and a fence has a cell in one row of a table, which its hash selects. In a
// row that is full, a new pair takes the cell of a pair without a change in the last FlapWindow,
// else of the one with the fewest changes. So while at most some 30,000 pairs change in FlapWindow,
// all that flap are found; beyond that, one that changes more often is found rather.
type Flaps struct {
	seed maphash.Seed

	mu         sync.Mutex
	cells      [flapRows][flapWays]flapCell
	named      map[uint64]*flap // by hash, at most maxNamed
	overlooked uint64           // pairs that found no room in named
}

// flapCell is a pair. The zero value is free.
type flapCell struct {
	tag uint32              // of the hash
	at  [FlapChanges]uint32 // of the last changes, the newest first, in seconds since 1970; 0: none
}

// flap is a pair that flaps.
type flap struct {
	set, fence, fleet, object string
	at                        []uint32 // a ring of the last changes
	next                      int
}

// NewFlaps returns an empty table.
func NewFlaps() *Flaps { return &Flaps{seed: maphash.MakeSeed(), named: map[uint64]*flap{}} }

// Publishing returns a publisher that counts the events that it passes on.
func (f *Flaps) Publishing(to ingest.Publisher) ingest.Publisher { return &countedPublisher{f, to} }

type countedPublisher struct {
	flaps *Flaps
	to    ingest.Publisher
}

// Publish implements [ingest.Publisher].
func (p *countedPublisher) Publish(records []events.Record) {
	p.flaps.Observe(records)
	p.to.Publish(records)
}

// Observe counts the events that are an enter or an exit of a moving object.
func (f *Flaps) Observe(records []events.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range records {
		r := &records[i]
		if r.Kind <= track.Enter && r.Visit.Reason == track.Move && r.Fence != "" {
			f.count(r)
		}
	}
}

func (f *Flaps) hash(r *events.Record) uint64 {
	var h maphash.Hash
	h.SetSeed(f.seed)
	for _, name := range [...]string{r.Set, r.Fence, r.Fleet, r.Object} {
		_, _ = h.WriteString(name)
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

func (f *Flaps) count(r *events.Record) {
	at := uint32(max(1, r.Visit.At/1000))
	sum := f.hash(r)
	tag := max(1, uint32(sum>>32))
	row := &f.cells[sum%flapRows]
	c := find(row, tag, at)
	at = max(at, c.at[0]) // the order of changes is that of the events
	copy(c.at[1:], c.at[:])
	c.at[0] = at
	if !within(c.at[FlapChanges-1], at) {
		return
	}
	n := f.named[sum]
	if n == nil {
		if n = f.name(sum, r, at); n == nil {
			return
		}
		for _, t := range slices.Backward(c.at[1:]) {
			n.add(t)
		}
	}
	n.add(at)
}

// find returns the cell of a pair, which it takes if there is none.
func find(row *[flapWays]flapCell, tag, at uint32) *flapCell {
	least, fewest := 0, FlapChanges+1
	for i := range row {
		c := &row[i]
		if c.tag == tag {
			return c
		}
		n := 0
		for n < FlapChanges && within(c.at[n], at) {
			n++
		}
		if n < fewest || n == fewest && c.at[0] < row[least].at[0] {
			least, fewest = i, n
		}
	}
	row[least] = flapCell{tag: tag}
	return &row[least]
}

// within reports whether a change is not older than the window before another time. 0 is none.
func within(change, at uint32) bool {
	return change > 0 && int64(at)-int64(change) <= int64(FlapWindow/time.Second)
}

// name begins to keep the names of a pair, or returns nil if there is no room.
func (f *Flaps) name(sum uint64, r *events.Record, at uint32) *flap {
	if len(f.named) >= maxNamed {
		f.forget(at)
	}
	if len(f.named) >= maxNamed {
		f.overlooked++
		return nil
	}
	n := &flap{set: strings.Clone(r.Set), fence: strings.Clone(r.Fence), fleet: strings.Clone(r.Fleet), object: strings.Clone(r.Object)}
	f.named[sum] = n
	return n
}

// forget drops the pairs that have not changed within the window before a time.
func (f *Flaps) forget(at uint32) {
	for sum, n := range f.named {
		if !within(n.last(), at) {
			delete(f.named, sum)
		}
	}
}

func (n *flap) add(at uint32) {
	if len(n.at) < flapTimes {
		n.at = append(n.at, at)
		return
	}
	n.at[n.next] = at
	n.next = (n.next + 1) % flapTimes
}

func (n *flap) last() uint32 { return n.at[(n.next+len(n.at)-1)%len(n.at)] }

// Flapping is an object that enters and leaves a fence again and again.
type Flapping struct {
	Set, Fence, Fleet, Object string

	Changes int  // within the last FlapWindow
	More    bool // Changes is as far as they are kept
	Last    time.Time
	// Longest is the longest time between two of them, in or out of the fence.
	Longest time.Duration
}

// List returns the objects that flap now, those with the most changes first, and the number of
// pairs that found no room since the start.
func (f *Flaps) List(now time.Time) (all []Flapping, overlooked uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at := uint32(now.Unix())
	f.forget(at)
	for _, n := range f.named {
		if one := n.reading(at); one.Changes >= FlapChanges {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b Flapping) int {
		return cmp.Or(-cmp.Compare(a.Changes, b.Changes), strings.Compare(a.Object, b.Object), strings.Compare(a.Fence, b.Fence))
	})
	return all, f.overlooked
}

func (n *flap) reading(at uint32) Flapping {
	one := Flapping{Set: n.set, Fence: n.fence, Fleet: n.fleet, Object: n.object, Last: time.Unix(int64(n.last()), 0).UTC()}
	before := uint32(0)
	for i := range n.at {
		t := n.at[(n.next+i)%len(n.at)]
		if !within(t, at) {
			continue
		}
		if one.Changes++; before > 0 {
			one.Longest = max(one.Longest, time.Duration(t-before)*time.Second)
		}
		before = t
	}
	one.More = one.Changes == flapTimes
	return one
}
