package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

// keptBuffer bounds the memory of a stored record that is kept for the next one.
const keptBuffer = 4 << 20

// storing is the state of the journal's use. It belongs to the holder of the turn to apply.
type storing struct {
	number    uint64 // of the last applied record
	at        track.Millis
	options   []byte // of the tracker
	view      []byte // id of the present fences
	buffer    []byte
	replaying bool
	damaged   bool                // fences may be missing, see Recover
	check     func(journal.Piece) // is called in place of storing a piece; nil: pieces are stored

	loading sync.Mutex // guards the state above while partitions are loaded side by side

	since int                            // positions and records since the last checkpoint
	saves int                            // checkpoints since records were last removed
	saved [subjects.Partitions][2]uint64 // records of the last two checkpoints, the newest one first
}

// append stores a record before it is applied. The caller has the turn. After an error nothing is
// stored any more.
func (p *Pipeline) append(r *record) (err error) {
	if p.cfg.Journal == nil {
		return nil
	}
	in := &input{at: r.at, stepping: r.stepping, options: r.options, view: r.viewID, handled: r.done}
	for _, o := range r.removals {
		in.removals = append(in.removals, *o)
	}
	b := binary.AppendUvarint(appendInput(p.making.buffer[:0], in), uint64(r.count))
	for _, span := range r.spans {
		for i := span.from; i < span.to; i++ {
			b = appendPosition(b, &span.pending.batch.Positions[i], r.at)
		}
	}
	b = appendTraces(b, tracesOf(r.spans))
	if p.making.buffer = b; cap(b) > keptBuffer {
		p.making.buffer = nil
	}
	if r.number, err = p.cfg.Append(b); err == nil && r.view != nil {
		p.cfg.Fences.Begin(r.viewID, r.number)
	}
	return err
}

// fail refuses the positions of a record, and ends the pipeline: positions that wait are refused,
// and later ones too. The caller has the turn to apply.
func (p *Pipeline) fail(r *record, err error) {
	for _, span := range r.spans {
		for i := span.from; i < span.to; i++ {
			span.pending.refuse(int32(i), unstored)
		}
	}
	r.spans = r.spans[:0]
	for q := range r.parts {
		clear(r.parts[q])
		r.parts[q] = r.parts[q][:0]
	}
	for _, pd := range r.opened {
		pd.failure = err
	}
	p.folding.open = append(p.folding.open, r.opened...)
	r.opened = r.opened[:0]
	p.answer()
	p.failed(err)
}

// failed ends the pipeline, and tells the first reason.
func (p *Pipeline) failed(err error) {
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.givenUp.Store(true)
	p.signal()
	p.failure.Do(func() {
		if p.cfg.Failed != nil {
			p.cfg.Failed(err)
		}
	})
}

// commit stores gathered events of a record.
func (p *Pipeline) commit(r *record, last bool) {
	f, s := &p.folding, &p.folding.store
	if p.cfg.Journal == nil {
		return
	}
	newest := p.cfg.Journal.Committed()
	piece := journal.Piece{
		At: journal.Place{Number: r.number, Piece: r.pieces}, Last: last,
		First: newest.Next(), Count: len(f.batch), Time: int64(r.at),
	}
	r.pieces++
	if s.check == nil && !piece.After(&newest) {
		return // a replay: it is there
	}
	s.buffer = s.buffer[:0]
	for i := range f.batch {
		s.buffer = events.AppendRecord(s.buffer, &f.batch[i])
	}
	piece.Events = s.buffer
	if s.check != nil {
		s.check(piece)
		return
	}
	if err := p.cfg.Journal.Commit(piece); err != nil {
		p.fail(r, err)
		return
	}
	if p.cfg.Follower != nil && !s.replaying {
		p.cfg.Follower.Committed(piece.First, f.batch)
	}
}

// tell gives the positions of a record to the follower, without those of objects that were refused.
func (p *Pipeline) tell(r *record) {
	if p.cfg.Follower == nil || p.cfg.Journal == nil {
		return
	}
	batches := make([][]track.Position, 0, len(r.spans)+1)
	for _, s := range r.spans {
		batches = s.pending.appendKnown(batches, s.from, s.to)
	}
	if r.copied != nil {
		batches = r.copied.appendKnown(batches)
	}
	p.cfg.Follower.Applied(r.number, r.at, batches)
}

// checkpoint saves the state of a partition when it is time to, and removes records that no
// checkpoint needs any more. While all partitions have postponed work, the next record is the time.
func (p *Pipeline) checkpoint(r *record) {
	s := &p.folding.store
	if p.cfg.Journal == nil {
		return
	}
	if s.since += 1 + r.count; s.since < p.cfg.CheckpointEvery {
		return
	}
	q, ok := p.oldest()
	if !ok {
		return
	}
	s.since = 0
	err := p.save(q)
	if err == nil {
		err = p.trim()
	}
	if err != nil {
		p.fail(r, err)
	}
}

// oldest returns the partition with the oldest checkpoint among the partitions that can be saved.
// So a partition with much postponed work is saved as soon as it is done.
func (p *Pipeline) oldest() (oldest int, ok bool) {
	saved := &p.folding.store.saved
	for q := range p.partitions {
		if p.savable(q) && (!ok || saved[q][0] < saved[oldest][0]) {
			oldest, ok = q, true
		}
	}
	return oldest, ok
}

// trim removes records that no checkpoint needs, after as many checkpoints as there are partitions.
func (p *Pipeline) trim() error {
	s := &p.folding.store
	if s.saves = (s.saves + 1) % subjects.Partitions; s.saves != 0 {
		return nil
	}
	if err := p.saveSessions(); err != nil {
		return err
	}
	oldest := s.number
	for q := range s.saved {
		oldest = min(oldest, s.saved[q][1])
	}
	if p.cfg.Needed != nil {
		oldest = min(oldest, p.cfg.Needed()-1)
	}
	return errors.Join(p.cfg.Journal.TrimRecords(oldest+1), p.trimLatches(oldest), p.cfg.Fences.Release(oldest))
}

// savable reports whether a partition can be saved: it has no postponed work, has refused none that
// the next start does, and has changed.
func (p *Pipeline) savable(q int) bool {
	t, s := p.partitions[q], &p.folding.store
	return !t.More() && !t.incomplete && s.saved[q][0] != s.number
}

// save saves the state of a partition, which can be saved, after the present record.
func (p *Pipeline) save(q int) error {
	s := &p.folding.store
	state, err := p.export(q)
	if err != nil {
		return err
	}
	s.saved[q] = [2]uint64{s.number, s.saved[q][0]}
	return p.cfg.Journal.SaveCheckpoint(q, s.number, state)
}

// export returns the checkpoint of a partition: the options, the id of the view, and the state.
func (p *Pipeline) export(q int) ([]byte, error) {
	s := &p.folding.store
	return p.partitions[q].Export(appendBytes(appendBytes(nil, s.options), append([]byte{}, s.view...)))
}

// saveAll saves the state of all partitions, so that the next start replays nothing.
func (p *Pipeline) saveAll() {
	if p.cfg.Journal == nil {
		return
	}
	err := p.saveSessions()
	for q := 0; q < len(p.partitions) && err == nil; q++ {
		if p.savable(q) {
			err = p.save(q)
		}
	}
	if err != nil {
		p.failed(err)
	}
}

// restore brings the state to the end of the journal: from the checkpoints, and by applying later
// records again. Results that a crash has taken are committed.
func (p *Pipeline) restore(ctx context.Context) error {
	s := &p.folding.store
	var next [subjects.Partitions]uint64 // record from which on the partition applies
	oldest, newest := p.cfg.Journal.Bounds()
	var failures [subjects.Partitions]error
	p.each(spreadFrom, func(q int) {
		if failures[q] = ctx.Err(); failures[q] == nil {
			next[q], failures[q] = p.loadNewest(q, oldest)
		}
	})
	if err := errors.Join(failures[:]...); err != nil {
		return err
	}
	for _, t := range p.partitions {
		p.clock.atLeast(t.Now())
	}
	p.beginSeveral(slices.Max(next[:]) - 1)
	from := newest + 1
	for _, n := range next {
		from = min(from, n)
	}
	sessionsFrom, err := p.loadSessions()
	if err != nil {
		return err
	}
	from = min(from, sessionsFrom)
	s.replaying = true
	err = parsedRecords(p.cfg.Journal, from, func(number uint64, in *input) error {
		if err := errors.Join(ctx.Err(), p.replay(number, in, &next)); err != nil {
			return err
		}
		if number >= sessionsFrom {
			p.sessions.apply(in.handled, in.at)
		}
		return nil
	})
	s.replaying = false
	s.number = newest
	if err == nil {
		err = p.endLoading()
	}
	if err != nil {
		return err
	}
	if err := p.cfg.Fences.Adopt(s.view); err != nil {
		return err
	}
	if first, id := p.cfg.Fences.View(); id == nil { // no record holds it: a leader begins with it too
		p.seen.Store(first)
	}
	p.making.view, p.making.options = p.seen.Load(), s.options
	return nil
}

// parsedAhead is the number of records that are parsed while one is applied.
const parsedAhead = 4

// parsedRecords calls f for each record from a number on, while another goroutine parses the next
// ones. Errors name the record.
func parsedRecords(j journal.Journal, from uint64, f func(number uint64, in *input) error) error {
	type parsed struct {
		number uint64
		in     *input
	}
	ahead, stop := make(chan parsed, parsedAhead), make(chan struct{})
	var failure error
	go func() {
		defer close(ahead)
		failure = j.Records(from, func(number uint64, record []byte) error {
			in, err := parseInput(record)
			if err != nil {
				return recordError(number, err)
			}
			select {
			case ahead <- parsed{number, in}:
				return nil
			case <-stop:
				return journal.ErrEnough
			}
		})
	}()
	for r := range ahead {
		if err := f(r.number, r.in); err != nil {
			close(stop)
			for range ahead { //nolint:revive // until the other goroutine has ended
			}
			return recordError(r.number, err)
		}
	}
	return failure
}

func recordError(number uint64, err error) error {
	return fmt.Errorf("record %d of the journal: %w", number, err)
}

// loadNewest takes the newest checkpoint of a partition that can be read, and returns the number of
// the first record behind it.
func (p *Pipeline) loadNewest(q int, oldest uint64) (next uint64, err error) {
	states, err := p.cfg.Journal.Checkpoints(q)
	if err != nil {
		return 0, err
	}
	var failures []error
	for i, c := range states {
		if next, err = p.load(q, c); err != nil {
			failures = append(failures, err)
			continue
		}
		saved := &p.folding.store.saved[q]
		*saved = [2]uint64{c.Number, 0}
		if i+1 < len(states) {
			saved[1] = states[i+1].Number
		}
		return next, nil
	}
	if oldest > 1 {
		return 0, fmt.Errorf("%w: partition %d has no usable checkpoint, and earlier records are gone: %w", journal.ErrDamaged, q, errors.Join(failures...))
	}
	return 1, nil
}

// load brings a partition to a checkpoint, and returns the number of the first record behind it.
func (p *Pipeline) load(q int, c journal.Checkpoint) (next uint64, err error) {
	r := newReader(c.State)
	options, id := r.bytes(), r.bytes()
	if r.Failed {
		return 0, track.ErrState
	}
	o, err := decodeOptions(options)
	if err != nil {
		return 0, err
	}
	s := &p.folding.store
	view := &track.View{}
	if len(id) > 0 {
		s.loading.Lock()
		view, err = p.cfg.Fences.Decode(id)
		s.loading.Unlock()
		if err != nil {
			return 0, err
		}
	}
	p.partitions[q].SetOptions(o)
	restore := p.partitions[q].Import
	if s.damaged {
		restore = p.partitions[q].ImportPart
	}
	if err := restore(r.Rest, view); err != nil {
		return 0, err
	}
	p.encode(q)
	s.loading.Lock()
	defer s.loading.Unlock()
	if c.Number >= s.number {
		s.number, s.options, s.view = c.Number, options, id
		p.seen.Store(view)
	}
	return c.Number + 1, nil
}

// replay applies a record again to the partitions that do not have it.
func (p *Pipeline) replay(number uint64, in *input, next *[subjects.Partitions]uint64) error {
	s := &p.folding.store
	if number > p.folding.several.from {
		if err := p.endLoading(); err != nil {
			return err
		}
	}
	s.number, s.at = number, in.at
	r := &record{number: number, at: in.at, stepping: in.stepping}
	p.clock.atLeast(in.at)
	if in.options != nil {
		o, err := decodeOptions(in.options)
		if err != nil {
			return err
		}
		s.options = in.options
		for q, t := range p.partitions {
			if next[q] <= number {
				t.SetOptions(o)
				t.note()
			}
		}
	}
	if in.view != nil {
		var err error
		if r.view, err = p.cfg.Fences.Decode(in.view); err != nil {
			return err
		}
		s.view = in.view
		p.seen.Store(r.view)
	}
	split(&r.parts, &replayed{positions: in.positions, traces: in.traces}, in.positions, 0)
	for q := range p.partitions {
		if next[q] <= number && r.view != nil {
			p.change(q, r)
		}
	}
	for i := range in.removals {
		if o := &in.removals[i]; next[subjects.Partition(o.fleet, o.id)] <= number {
			p.remove(o, r)
		}
	}
	p.each(len(in.positions), func(q int) {
		if next[q] <= number {
			p.apply(q, r)
		}
	})
	p.severally(r)
	p.publish(r)
	return nil
}
