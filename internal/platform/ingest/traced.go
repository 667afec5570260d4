package ingest

import (
	"encoding/binary"
	"slices"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/journal"
)

// traced is a run of positions of a record, from one index to before another, that came with a
// trace.
type traced struct {
	from, to int
	trace    track.Trace
}

// tracesOf returns the traces of the batches in a record.
func tracesOf(spans []span) (all []traced) {
	n := 0
	for _, s := range spans {
		from := n
		n += s.to - s.from
		if trace := s.pending.batch.Trace; trace != nil && n > from {
			all = append(all, traced{from, n, *trace})
		}
	}
	return all
}

// appendTraces ends the stored form of a record. Without traces it changes nothing, so that earlier
// versions of this program read the record. Otherwise the record is of tracedVersion, and ends with
// their number, and for each the positions before it since the last one, its positions, and two
// texts.
func appendTraces(b []byte, all []traced) []byte {
	if len(all) == 0 {
		return b
	}
	b[0] = tracedVersion
	b = binary.AppendUvarint(b, uint64(len(all)))
	last := 0
	for i := range all {
		t := &all[i]
		b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(t.from-last)), uint64(t.to-t.from))
		b = journal.AppendText(journal.AppendText(b, t.trace.Parent), t.trace.State)
		last = t.to
	}
	return b
}

// traces reads what appendTraces wrote behind so many positions.
func (r *inputReader) traces(positions int) (all []traced) {
	n := r.Count(4)
	if n == 0 { // it would have another version
		r.Failed = true
	}
	last := uint64(0)
	for range n {
		from := last + r.Uint()
		to := from + r.Uint()
		if from < last || to <= from || to > uint64(positions) {
			r.Failed = true
			return nil
		}
		all = append(all, traced{int(from), int(to), track.Trace{Parent: r.Text(), State: r.Text()}})
		last = to
	}
	return all
}

// replayed holds the positions of a record that is applied again.
type replayed struct {
	positions []track.Position
	traces    []traced

	mu   sync.Mutex
	full []int32 // positions whose object was refused
}

var _ fold.Job = (*replayed)(nil)

// Position implements [fold.Job].
func (r *replayed) Position(i int32) *track.Position { return &r.positions[i] }

// Applied implements [fold.Job].
func (r *replayed) Applied(i int32, o track.Outcome, _ *track.Shard) {
	if o == track.Full {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.full = append(r.full, i)
	}
}

// Trace implements [fold.Job].
func (r *replayed) Trace(i int32) *track.Trace {
	at, _ := slices.BinarySearchFunc(r.traces, int(i), func(t traced, i int) int {
		if t.to <= i {
			return -1
		}
		return 1
	})
	if at < len(r.traces) && r.traces[at].from <= int(i) {
		return &r.traces[at].trace
	}
	return nil
}
