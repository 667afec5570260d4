package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
)

// appliedName is the value of a node's own journal with the sequence of the last entry of the log
// that it has applied.
const appliedName = "cluster/applied"

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
	over    error         // nothing is written any more
	applied atomic.Uint64 // sequence of the newest entry
}

// writing is a step that waits for its entry.
type writing struct {
	step
	done bool // with err
	err  error
}

// NewJournal returns the journal of a node. failed is called when the log refuses an entry, or
// cannot be reached until ctx ends: then this node is the leader no longer, and no method writes
// any more.
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

// Applied returns the sequence of the newest entry that this leader has written; 0: none.
func (j *Journal) Applied() uint64 { return j.applied.Load() }

// write writes a step, together with others that wait.
func (j *Journal) write(w *writing) error {
	j.mu.Lock()
	j.waiting = append(j.waiting, w)
	j.mu.Unlock()
	j.turn <- struct{}{}
	defer func() { <-j.turn }()
	if w.done {
		return w.err
	}
	j.mu.Lock()
	all := j.waiting
	j.waiting = nil
	j.mu.Unlock()
	err := j.writeAll(all)
	for _, o := range all {
		o.done, o.err = true, err
	}
	return err
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
	bounded, cancel := context.WithTimeout(j.ctx, appendTimeout)
	_, sequence, err := j.log.Append(bounded, b)
	if cancel(); err != nil {
		err = fmt.Errorf("%w: %w", ErrReplaced, err)
	}
	for i := 0; err == nil && i < len(all); i++ {
		err = applyStep(j.Journal, &all[i].step)
	}
	if err == nil {
		j.applied.Store(sequence)
		err = saveApplied(j.Journal, sequence)
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

func saveApplied(own journal.Journal, sequence uint64) error {
	return own.Change(nil, journal.Value{Name: appliedName, Bytes: binary.AppendUvarint(nil, sequence)})
}

// applied returns the sequence of the last entry that a node has applied; 0: none.
func applied(own journal.Journal) (uint64, error) {
	b, err := own.Get(appliedName)
	if errors.Is(err, journal.ErrNotFound) {
		return 0, nil
	}
	f := journal.Fields{Rest: b}
	sequence := f.Uint()
	if err == nil && (f.Failed || len(f.Rest) > 0) {
		err = fmt.Errorf("%w: %s", journal.ErrDamaged, appliedName)
	}
	return sequence, err
}
