package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"

	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// Forwarder passes batches of a replica's doors to the leader, in their order. Submit and TrySubmit
// are those of [Pipeline].
type Forwarder interface {
	Submit(ctx context.Context, b *Batch) (Result, error)
	TrySubmit(b *Batch, done func(Result)) error
	// Waiting reports whether there are batches that no leader has yet. Until they have gone to the
	// pipeline of a new leader, the batches of its doors are passed behind them.
	Waiting() bool
}

// forwards reports whether the batches of the doors go to the Forwarder.
func (p *Pipeline) forwards() bool {
	return p.cfg.Forward != nil && (p.Role() == Replica || p.cfg.Forward.Waiting())
}

// batchVersion is the first byte of the stored form of a batch.
const batchVersion = 1

var errBatch = errors.New("ingest: not a valid batch")

// AppendBatch appends what a leader needs of a batch: its positions, their trace, and the progress
// of its session. Numbers are varints.
func AppendBatch(b []byte, batch *Batch) []byte {
	b = append(b, batchVersion)
	if batch.Handled == nil {
		b = append(b, 0)
	} else {
		b = appendHandled(append(b, 1), *batch.Handled)
	}
	if batch.Trace == nil {
		b = append(b, 0)
	} else {
		b = journal.AppendText(journal.AppendText(append(b, 1), batch.Trace.Parent), batch.Trace.State)
	}
	b = binary.AppendUvarint(b, uint64(len(batch.Positions)))
	for i := range batch.Positions {
		b = appendPosition(b, &batch.Positions[i], 0)
	}
	return b
}

// ParseBatches reads batches of AppendBatch.
func ParseBatches(b []byte) (all []*Batch, err error) {
	r := newReader(b)
	for len(r.Rest) > 0 {
		batch := &Batch{}
		if r.Byte() != batchVersion {
			return nil, errBatch
		}
		if r.Byte() == 1 {
			h := r.handled()
			batch.Handled = &h
		}
		if r.Byte() == 1 {
			batch.Trace = &track.Trace{Parent: r.Text(), State: r.Text()}
		}
		for range r.Count(12) {
			p := r.position(0)
			if p.Arrived = 0; r.Failed {
				break
			}
			batch.Positions = append(batch.Positions, p)
		}
		if r.Failed {
			return nil, errBatch
		}
		all = append(all, batch)
	}
	return all, nil
}

// Half returns the two halves of a batch of two positions or more, the progress of its session in
// the second one.
func (b *Batch) Half() (first, second *Batch) {
	n := len(b.Positions) / 2
	return &Batch{Positions: b.Positions[:n], Trace: b.Trace}, &Batch{Positions: b.Positions[n:], Trace: b.Trace, Handled: b.Handled}
}

// Outcomes is what became of each position of a batch.
type Outcomes struct {
	each   []outcome
	late   []lateness // by index
	reason string     // of refused ones
}

// Refusal returns the outcomes of a batch that is refused for a reason.
func (b *Batch) Refusal(reason string) Outcomes {
	return Outcomes{each: slices.Repeat([]outcome{refused}, len(b.Positions)), reason: reason}
}

// Unapplied reports whether positions were not applied because their pipeline ended.
func (o *Outcomes) Unapplied() bool {
	return slices.ContainsFunc(o.each, func(one outcome) bool { return one == unapplied || one == unstored })
}

// Then returns the outcomes of two halves together.
func (o Outcomes) Then(next Outcomes) Outcomes {
	for i := range next.late {
		next.late[i].member += int32(len(o.each))
	}
	o.each, o.late = append(o.each, next.each...), append(o.late, next.late...)
	if o.late = o.late[:min(len(o.late), maxLate)]; o.reason == "" {
		o.reason = next.reason
	}
	return o
}

// Append appends the stored form.
func (o *Outcomes) Append(b []byte) []byte {
	b = binary.AppendUvarint(b, uint64(len(o.each)))
	for _, one := range o.each {
		b = append(b, byte(one))
	}
	b = binary.AppendUvarint(b, uint64(len(o.late)))
	for _, l := range o.late {
		b = binary.AppendVarint(binary.AppendUvarint(b, uint64(l.member)), int64(l.than))
	}
	return journal.AppendText(b, o.reason)
}

// ParseOutcomes reads the outcomes of batches of which the caller knows the lengths.
func ParseOutcomes(b []byte, positions []int) (all []Outcomes, err error) {
	r := newReader(b)
	for _, n := range positions {
		var o Outcomes
		for range r.Count(1) {
			one := outcome(r.Byte())
			if o.each = append(o.each, one); one > outcome(track.Past) && one < refused {
				return nil, errBatch
			}
		}
		for range r.Count(2) {
			o.late = append(o.late, lateness{int32(r.Uint()), track.Millis(r.Int())})
		}
		o.reason = r.Text()
		if r.Failed || len(o.each) != n || slices.ContainsFunc(o.late, func(l lateness) bool { return l.member < 0 || int(l.member) >= n }) {
			return nil, errBatch
		}
		all = append(all, o)
	}
	return all, nil
}

// Result returns the answer for a batch with these outcomes, and tells its door.
func (b *Batch) Result(o Outcomes) Result {
	pd := &pending{batch: b, outcomes: o.each, reason: o.reason}
	pd.late.first = o.late
	applied, _ := pd.counts()
	pd.tell(applied)
	return pd.result()
}

// Pass is TrySubmit for a batch that a replica has forwarded.
func (p *Pipeline) Pass(b *Batch, done func(Outcomes)) error {
	return p.trySubmit(b, func(pd *pending) { done(Outcomes{pd.outcomes, pd.late.first, pd.reason}) })
}
