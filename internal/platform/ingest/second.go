package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

// The second fold has no checkpoint. What it knows of objects follows from the partitions, and its
// latches are values in the journal: open ones by their names, and ended ones by the record that
// ended them. So the latches are known as of every record from the oldest kept checkpoint on,
// whichever changes of later records are there.
//
// A start applies records again from the oldest of the newest checkpoints on. Let X be the record
// of the newest one that is loaded. Up to X the partitions are as of different records, and the
// fold judges nothing. After X every partition is as it was then, and so are the numbers and the
// places. The latches as of X are all in the journal, and so are the events up to X: the changes
// and pieces of a record are written before a checkpoint that follows it, and a loss of power takes
// the newest writes alone. So the records behind X cause the same events and changes again.
const (
	openLatches = "second/open/" // + name -> number of the record, time
	pastLatches = "second/past/" // + number of the record that ended it, in hex, / and the name -> likewise
)

// severals is the state of the second fold.
type severals struct {
	*fold.Second
	from    uint64 // records behind it are judged
	waiting bool   // the latches as of from are not loaded yet
	past    bool   // the journal may hold latches that have ended
	events  []track.Event
}

// severally ends a record for the second fold.
func (p *Pipeline) severally(r *record) {
	s, outliers := &p.folding.several, 0
	for _, t := range p.partitions {
		s.Take(t.Partition)
		outliers += t.TakeOutliers()
	}
	if !p.folding.store.replaying && r.copied == nil { // another node has counted them
		p.Metrics.results[resultOutlier].Add(uint64(outliers))
	}
	round := fold.Round{Number: r.number, At: r.at, View: p.seen.Load()}
	if r.number <= s.from && p.cfg.Journal != nil {
		s.Skip(round)
		return
	}
	if err := p.loadLatches(); err != nil {
		p.fail(r, err)
		return
	}
	var changes *fold.Changes
	s.events, changes = s.End(round, s.events)
	p.Metrics.crowded.Store(s.Crowded())
	p.encodeTo(subjects.Partitions, s.events)
	clear(s.events)
	s.events = s.events[:0]
	if err := p.storeLatches(r.number, changes); err != nil {
		p.fail(r, err)
	}
}

// beginSeveral prepares the second fold, once the partitions are loaded: from is the newest record
// of theirs.
func (p *Pipeline) beginSeveral(from uint64) {
	s := &p.folding.several
	s.from, s.waiting = from, true
}

// endLoading gives the second fold what the partitions told while they were loaded. It precedes the
// first record that is judged, which would be taken for one that moves all objects otherwise.
func (p *Pipeline) endLoading() error {
	s := &p.folding.several
	if !s.waiting {
		return nil
	}
	for _, t := range p.partitions {
		s.Take(t.Partition)
	}
	s.Skip(fold.Round{Number: s.from, At: p.folding.store.at, View: p.seen.Load()})
	return p.loadLatches()
}

// storesLatches reports whether the journal takes what the second fold changes.
func (p *Pipeline) storesLatches() bool {
	return p.cfg.Journal != nil && p.folding.store.check == nil
}

// storeLatches writes the changes of a record. It does not wait for the disk.
func (p *Pipeline) storeLatches(number uint64, c *fold.Changes) error {
	if len(c.Begun)+len(c.Ended) == 0 || !p.storesLatches() {
		return nil
	}
	var remove []journal.Span
	var put []journal.Value
	for _, l := range c.Ended {
		remove = append(remove, journal.Only(openLatches+l.Name))
		put = append(put, journal.Value{Name: pastLatch(number) + "/" + l.Name, Bytes: appendLatch(&l)})
		p.folding.several.past = true
	}
	for _, l := range c.Begun {
		put = append(put, journal.Value{Name: openLatches + l.Name, Bytes: appendLatch(&l)})
	}
	return p.cfg.Journal.Change(remove, put...)
}

func pastLatch(number uint64) string { return fmt.Sprintf("%s%016x", pastLatches, number) }

func appendLatch(l *fold.Latch) []byte {
	return binary.AppendVarint(binary.AppendUvarint(nil, l.Begun), int64(l.Since))
}

func parseLatch(name string, b []byte) (fold.Latch, error) {
	f := journal.Fields{Rest: b}
	l := fold.Latch{Name: name, Begun: f.Uint(), Since: track.Millis(f.Int())}
	if f.Failed || len(f.Rest) > 0 || l.Begun == 0 {
		return l, fmt.Errorf("%w: the state of the rule %q", journal.ErrDamaged, name)
	}
	return l, nil
}

// loadLatches gives the second fold the latches as of the record behind which it judges. Changes of
// later records stay in the journal: these records are applied again, and write them again.
func (p *Pipeline) loadLatches() error {
	s := &p.folding.several
	if !s.waiting {
		return nil
	}
	s.waiting = false
	latches, err := p.latchesAsOf(s.from)
	if err != nil && (!p.folding.store.damaged || !errors.Is(err, journal.ErrDamaged)) {
		return err
	}
	s.Restore(latches)
	return nil
}

// latchesAsOf returns the latches as of a record.
func (p *Pipeline) latchesAsOf(number uint64) (latches []fold.Latch, err error) {
	err = p.cfg.Journal.Values(openLatches, "", func(v journal.Value) error {
		l, err := parseLatch(strings.TrimPrefix(v.Name, openLatches), v.Bytes)
		if err == nil && l.Begun <= number {
			latches = append(latches, l)
		}
		return err
	})
	if err != nil {
		return latches, err
	}
	err = p.cfg.Journal.Values(pastLatches, "", func(v journal.Value) error {
		p.folding.several.past = true
		ended, name, _ := strings.Cut(strings.TrimPrefix(v.Name, pastLatches), "/")
		at, err := strconv.ParseUint(ended, 16, 64)
		if err != nil {
			return fmt.Errorf("%w: %q", journal.ErrDamaged, v.Name)
		}
		l, err := parseLatch(name, v.Bytes)
		if err == nil && l.Begun <= number && number < at {
			latches = append(latches, l)
		}
		return err
	})
	return latches, err
}

// trimLatches removes the latches that ended up to a record.
func (p *Pipeline) trimLatches(upTo uint64) error {
	s := &p.folding.several
	if !s.past {
		return nil
	}
	return p.cfg.Journal.Change([]journal.Span{{From: pastLatches, To: pastLatch(upTo + 1)}})
}

// replaceLatches makes the journal hold the latches that follow from the present state alone, after
// a loss. No events tell of the difference.
func (p *Pipeline) replaceLatches() error {
	s := &p.folding.several
	for _, t := range p.partitions {
		s.Take(t.Partition)
	}
	if err := p.loadLatches(); err != nil {
		return err
	}
	st := &p.folding.store
	latches := s.Settle(fold.Round{Number: st.number, At: st.at, View: p.seen.Load()})
	put := make([]journal.Value, len(latches))
	for i := range latches {
		put[i] = journal.Value{Name: openLatches + latches[i].Name, Bytes: appendLatch(&latches[i])}
	}
	return p.cfg.Journal.Change([]journal.Span{
		{From: openLatches, To: journal.PrefixEnd(openLatches)}, {From: pastLatches, To: journal.PrefixEnd(pastLatches)},
	}, put...)
}

// encodeTo encodes events, for the place of a partition or behind all of them.
func (p *Pipeline) encodeTo(place int, list []track.Event) {
	if len(list) == 0 {
		return // partitions that are loaded side by side have no events, and the record changes
	}
	run := p.cfg.Runs.Of(p.folding.store.number)
	for i := range list {
		if !p.folding.store.replaying {
			p.Metrics.event(&list[i])
		}
		p.folding.out[place] = append(p.folding.out[place], events.NewRecord(&list[i], run))
	}
}
