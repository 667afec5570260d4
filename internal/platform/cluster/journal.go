package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
)

// appliedName is the value of a node's own journal with the place in the log that it has applied.
const appliedName = "cluster/applied"

// Place is a place in the log: behind an entry.
type Place struct {
	Sequence uint64 // of the entry's last message; 0: nothing is applied
	// Bytes is what the entries up to there take in the log, roughly. All nodes count the same.
	Bytes uint64
}

const (
	// overhead is what an entry takes in the log beside its data, roughly, and at most what a step
	// or a value takes in an entry beside its bytes.
	overhead = 256
	// maxEntry bounds the steps of an entry. It leaves room for the entry's own bytes.
	maxEntry = streamlog.MaxEntry - overhead
)

// next returns the place behind the next entry.
func (p Place) next(sequence uint64, data []byte) Place {
	return Place{sequence, p.Bytes + uint64(len(data)) + overhead}
}

// Value returns the value of a node's journal that holds the place.
func (p Place) Value() journal.Value {
	return journal.Value{Name: appliedName, Bytes: binary.AppendUvarint(binary.AppendUvarint(nil, p.Sequence), p.Bytes)}
}

// Journal is the journal of the leader: what goes into it goes into the log of all nodes first, and
// then into the journal of this node. Reads are those of the node. Waiting callers share an entry
// of the log.
type Journal struct {
	journal.Journal // of this node
	log             *streamlog.Log
	ctx             context.Context // ends with the node
	failed          func(error)     // is called once, when this node is no longer the leader

	leading atomic.Bool

	mu      sync.Mutex
	waiting []*writing
	turn    chan struct{} // holds a token while an entry is written
	buffer  []byte
	over    error                 // nothing is written any more
	place   atomic.Pointer[Place] // behind the newest entry; nil: none was written
}

// writing is a step that waits for its entry.
type writing struct {
	step
	done bool // with err
	err  error
}

// NewJournal returns the journal of a node. failed is called when the log refuses an entry, or
// cannot be reached in time, or until ctx ends: then this node is the leader no longer, and no
// method writes any more.
func NewJournal(ctx context.Context, own journal.Journal, log *streamlog.Log, failed func(error)) *Journal {
	return &Journal{Journal: own, log: log, ctx: ctx, failed: failed, turn: make(chan struct{}, 1)}
}

// Append implements [journal.Journal].
func (j *Journal) Append(record []byte) (number uint64, err error) {
	w := &writing{step: step{kind: stepRecord, record: record}}
	err = j.write(w)
	return w.number, err
}

// Put implements [journal.Journal].
func (j *Journal) Put(values ...journal.Value) error { return j.Change(nil, values...) }

// Change implements [journal.Journal]. It is durable when it returns.
func (j *Journal) Change(remove []journal.Span, put ...journal.Value) error {
	return j.write(&writing{step: step{kind: stepChange, remove: remove, put: put}})
}

// lead makes this node the leader, which goes on behind a place in the log.
func (j *Journal) lead(from Place) {
	j.place.Store(&from)
	j.leading.Store(true)
}

// size is what the step takes in an entry, roughly.
func (w *writing) size() int {
	n := overhead + len(w.record)
	for _, span := range w.remove {
		n += overhead + len(span.From) + len(span.To)
	}
	for _, v := range w.put {
		n += overhead + len(v.Name) + len(v.Bytes)
	}
	return n
}

// write writes a step, together with others that wait. A step that is larger than an entry is
// refused, and nothing else is.
func (j *Journal) write(w *writing) error {
	if n := w.size(); n > maxEntry {
		return fmt.Errorf("%w: it has %d MiB, and an entry of a cluster's log at most %d", journal.ErrTooLarge, n>>20, maxEntry>>20)
	}
	j.mu.Lock()
	j.waiting = append(j.waiting, w)
	j.mu.Unlock()
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	for !w.done {
		all := j.gather()
		err := j.writeAll(all)
		for _, o := range all {
			o.done, o.err = true, err
		}
	}
	return w.err
}

// gather takes the steps that have waited longest, as many as an entry holds. The caller has the
// turn.
func (j *Journal) gather() (all []*writing) {
	j.mu.Lock()
	defer j.mu.Unlock()
	n, size := 0, 0
	for ; n < len(j.waiting); n++ {
		if size += j.waiting[n].size(); n > 0 && size > maxEntry {
			break
		}
	}
	all = j.waiting[:n:n]
	j.waiting = slices.Clone(j.waiting[n:])
	return all
}

// writeAll writes steps as one entry, and applies them to the node's journal. The caller has the
// turn.
func (j *Journal) writeAll(all []*writing) error {
	if j.over != nil {
		return j.over
	}
	if !j.leading.Load() {
		return ingest.ErrReplica
	}
	_, newest := j.Bounds()
	b := append(j.buffer[:0], entryVersion)
	for _, w := range all {
		if w.kind == stepRecord {
			newest++
			w.number = newest
		}
		b = appendStep(b, &w.step)
	}
	j.buffer = b
	_, sequence, err := j.log.Append(j.ctx, b)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	for i := 0; err == nil && i < len(all); i++ {
		err = applyStep(j.Journal, &all[i].step)
	}
	if err == nil {
		place := j.place.Load().next(sequence, b)
		j.place.Store(&place)
		err = j.Journal.Change(nil, place.Value())
	}
	if err != nil {
		j.over = err
		j.failed(j.over)
	}
	return j.over
}

// applyStep writes a step to the journal of a node.
func applyStep(own journal.Journal, s *step) error {
	if s.kind == stepChange {
		return own.Change(s.remove, s.put...)
	}
	number, err := own.Append(s.record)
	if err == nil && number != s.number {
		err = fmt.Errorf("%w: record %d of the log is number %d here", journal.ErrOrder, s.number, number)
	}
	return err
}

// PlaceOf returns the place that a node has applied by its journal.
func PlaceOf(own journal.Journal) (p Place, err error) {
	b, err := own.Get(appliedName)
	if errors.Is(err, journal.ErrNotFound) {
		return p, nil
	}
	f := journal.Fields{Rest: b}
	p = Place{f.Uint(), f.Uint()}
	if err == nil && (f.Failed || len(f.Rest) > 0) {
		err = fmt.Errorf("%w: %s", journal.ErrDamaged, appliedName)
	}
	return p, err
}
