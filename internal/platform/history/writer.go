package history

import (
	"errors"
	"math"
	"slices"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
)

const (
	// stepPositions and stepMerges bound a step.
	stepPositions = 8192
	stepMerges    = 64
	// batchValues and batchBytes bound one change of the journal, because records wait for it.
	batchValues = 256
	batchBytes  = 256 << 10
	// maxFragments is the number of fragments of an hour that become a block in any case, and
	// mergeDelay the time until they do behind the end of the hour, or behind the latest of them.
	maxFragments = 32
	mergeDelay   = 5 * track.Millis(60_000)
	// maxKnown bounds the objects whose last day is known without a look.
	maxKnown = 1 << 20
)

// step does a part of the work, and reports whether more is there.
func (h *History) step() (more bool, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.beginning.kind != "" {
		return true, h.begin()
	}
	records, err := h.takeRecords()
	if err != nil {
		return false, err
	}
	events, err := h.takeEvents()
	if err != nil {
		return false, err
	}
	if h.fixes >= h.o.MaxGathered || h.taken.Load() > h.stored.Load() && time.Since(h.since) >= h.o.Interval {
		if err := h.store(); err != nil {
			return false, err
		}
		h.findDue()
	}
	if err := h.merge(); err != nil {
		return false, err
	}
	close(h.moved)
	h.moved = make(chan struct{})
	return records || events || len(h.merging) > 0, nil
}

// takeRecords gathers the positions of the next records. The caller has the lock.
func (h *History) takeRecords() (more bool, err error) {
	oldest, newest := h.j.Bounds()
	last := h.taken.Load()
	if last >= newest {
		return false, nil
	}
	if last == h.stored.Load() {
		h.since = time.Now()
	}
	if last+1 < oldest {
		h.gap("records", oldest-1-last)
		last = oldest - 1
	}
	for taken := 0; taken < stepPositions && last < newest; {
		fed, until, ok := h.positions.pop(last + 1)
		if !ok {
			if last, taken, err = h.readRecords(last, min(until-1, newest), taken); err != nil {
				return false, err
			}
			continue
		}
		if err := h.gatherAll(fed.at, fed.items); err != nil {
			return false, err
		}
		last++
		taken += 1 + len(fed.items)
		h.positions.release(fed.items)
	}
	if len(h.unlisted) > 0 {
		if err := h.j.Change(nil, h.unlisted...); err != nil {
			return false, err
		}
		h.unlisted = nil
	}
	h.taken.Store(last)
	return last < newest, nil
}

// readRecords gathers the positions of records of the journal: those behind last, up to one, until
// stepPositions are taken. It returns the number of the last one.
func (h *History) readRecords(last, until uint64, taken int) (uint64, int, error) {
	err := h.j.Records(last+1, func(number uint64, record []byte) error {
		if number > last+1 { // others were removed since the bounds were read
			h.gap("records", number-1-last)
		}
		at, list, err := ingest.Positions(record)
		if err != nil {
			h.o.Logger.Error("a record of the journal cannot be read", "record", number, "error", err)
			h.gap("records", 1)
			at = h.at
		}
		if err := h.gatherAll(at, list); err != nil {
			return err
		}
		last = number
		if taken += 1 + len(list); taken >= stepPositions || last >= until {
			return journal.ErrEnough
		}
		return nil
	})
	if errors.Is(err, journal.ErrEnough) {
		err = nil
	}
	return last, taken, err
}

// gatherAll adds the positions of a record to those of their hours.
func (h *History) gatherAll(at track.Millis, list []track.Position) (err error) {
	h.at = at
	for i := range list {
		p := &list[i]
		key := Object{p.Fleet, p.ID}
		to, known := h.current[key]
		if !known || to.hour != floor(p.Time, hour) {
			if to, err = h.hourFor(key, p.Time); err != nil {
				return err
			}
			h.current[key] = to
		}
		*to.fixes = append(*to.fixes, fixOf(p))
		h.fixes++
	}
	return nil
}

// current is the hour of an object to which its last position was added.
type current struct {
	hour  int64 // see floor
	fixes *[]Fix
}

// hourFor returns the gathered positions of an hour, and notes the object's last day if it is new.
func (h *History) hourFor(o Object, t track.Millis) (current, error) {
	object := o.name()
	key := slotOf(object, t)
	list := h.gathered[key]
	if list == nil {
		last, err := h.lastDay(object)
		if err != nil {
			return current{}, err
		}
		list = &[]Fix{}
		h.gathered[key] = list
		h.slots[key.day()]++
		if number := dayOf(t); number > last {
			h.known[object] = number
			h.unlisted = append(h.unlisted, journal.Value{Name: lastDays + object, Bytes: appendNumber(nil, number)})
		}
	}
	return current{floor(t, hour), list}, nil
}

// lastDay returns the last day of an object. The caller has the lock.
func (h *History) lastDay(object string) (int64, error) {
	last, ok := h.known[object]
	switch {
	case ok:
		return last, nil
	case len(h.known) >= maxKnown:
		clear(h.known)
		h.allKnown = false
	case h.allKnown:
		return math.MinInt64, nil
	}
	b, err := h.j.Get(lastDays + object)
	if errors.Is(err, journal.ErrNotFound) {
		return math.MinInt64, nil
	}
	last, _, _ = cutNumber(string(b)) // a damaged one is written again
	h.known[object] = last
	return last, err
}

// gap counts and reports what was gone before it was read.
func (h *History) gap(of string, n uint64) {
	h.written.gaps.Add(n)
	h.o.Logger.Error("the history has a gap", "of", of, "count", n)
}

// store stores the gathered positions, in parts, and behind them the number of the last record. The
// caller has the lock.
func (h *History) store() error {
	last := h.taken.Load()
	if last == h.stored.Load() {
		return nil
	}
	clear(h.current)
	var batch []journal.Value
	var stored []slot
	size := 0
	write := func() error {
		if err := h.j.Change(nil, batch...); err != nil {
			return err
		}
		for _, s := range stored {
			h.drop(s)
		}
		h.written.fragments.Add(uint64(len(stored)))
		batch, stored, size = batch[:0], stored[:0], 0
		return nil
	}
	for s, list := range h.gathered {
		b := appendBlock(nil, ordered(slices.Clone(*list)))
		batch = append(batch, journal.Value{Name: s.fragment(last), Bytes: b})
		stored = append(stored, s)
		h.fragmented(s)
		if size += len(b); len(batch) == batchValues || size >= batchBytes {
			if err := write(); err != nil {
				return err
			}
		}
	}
	batch = append(batch, progressValue("records", last))
	if err := write(); err != nil {
		return err
	}
	h.stored.Store(last)
	return nil
}

// drop forgets the gathered positions of an hour.
func (h *History) drop(s slot) {
	h.fixes -= len(*h.gathered[s])
	delete(h.gathered, s)
	if h.slots[s.day()]--; h.slots[s.day()] == 0 {
		delete(h.slots, s.day())
	}
}

// fragmented notes that an hour has one more fragment.
func (h *History) fragmented(s slot) {
	o := h.open[s]
	if o == nil {
		o = &opened{}
		h.open[s] = o
	}
	o.count++
	o.due = max(s.begin()+hour, h.at) + mergeDelay
	if o.count == maxFragments {
		h.merging = append(h.merging, s)
	}
}

// findDue lists the hours that are over.
func (h *History) findDue() {
	if len(h.merging) > 0 {
		return
	}
	for s, o := range h.open {
		if o.due <= h.at {
			h.merging = append(h.merging, s)
		}
	}
}

// merge makes blocks of the fragments of some hours. The caller has the lock.
func (h *History) merge() error {
	for range min(stepMerges, len(h.merging)) {
		if err := h.mergeHour(h.merging[0]); err != nil {
			return err
		}
		h.merging = h.merging[1:]
	}
	return nil
}

func (h *History) mergeHour(s slot) error {
	if h.open[s] == nil {
		return nil // it was removed
	}
	var c contents
	var remove []journal.Span
	err := h.j.Values(fragments+string(s), "", func(v journal.Value) error {
		remove = append(remove, journal.Only(v.Name))
		c.fragments = append(c.fragments, slices.Clone(v.Bytes))
		return nil
	})
	if err != nil {
		return err
	}
	if c.block, err = h.j.Get(s.block()); err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	fixes, err := c.fixes(nil)
	if err != nil {
		return err
	}
	if len(fixes) > 0 {
		if err := h.j.Change(remove, journal.Value{Name: s.block(), Bytes: appendBlock(nil, fixes)}); err != nil {
			return err
		}
		h.written.blocks.Add(1)
	}
	delete(h.open, s)
	return nil
}
