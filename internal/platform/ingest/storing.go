package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

// storing is the state of the journal's use. It belongs to the holder of the turn.
type storing struct {
	number    uint64 // of the present record
	at        track.Millis
	piece     uint32 // next one of its results
	options   []byte // of the tracker
	view      []byte // id of the present fences
	buffer    []byte
	replaying bool
	damaged   bool                // fences may be missing, see Recover
	check     func(journal.Piece) // is called in place of storing a piece; nil: pieces are stored

	loading sync.Mutex // guards the state above while partitions are loaded side by side

	since int                            // positions and records since the last checkpoint
	next  int                            // partition whose turn it is
	saved [subjects.Partitions][2]uint64 // records of the last two checkpoints, the newest one first
}

// append stores a record before it is applied. If that fails, the record is refused, and with it
// everything that comes later.
func (p *Pipeline) append(at track.Millis, options []byte, view *track.View, id []byte, requests []*request, stepping uint64) bool {
	if p.cfg.Journal == nil {
		return true
	}
	in := &input{at: at, stepping: stepping, options: options, handled: p.order.done}
	if view != nil {
		in.view = id
	}
	for _, r := range requests {
		if r.removal != nil {
			in.removals = append(in.removals, *r.removal)
		}
	}
	s := &p.order.store
	count := 0
	for _, span := range p.order.spans {
		count += span.to - span.from
	}
	b := binary.AppendUvarint(appendInput(s.buffer[:0], in), uint64(count))
	for _, span := range p.order.spans {
		for i := span.from; i < span.to; i++ {
			b = appendPosition(b, &span.pending.batch.Positions[i], at)
		}
	}
	s.buffer = b
	number, err := p.cfg.Journal.Append(b)
	if err != nil {
		p.fail(err)
		return false
	}
	s.number, s.at, s.piece = number, at, 0
	if in.view != nil {
		s.view = in.view
		p.cfg.Fences.Begin(id, number)
	}
	return true
}

// fail refuses the positions of the record, and ends the pipeline: positions that wait are refused,
// and later ones too.
func (p *Pipeline) fail(err error) {
	for _, span := range p.order.spans {
		for i := span.from; i < span.to; i++ {
			span.pending.refuse(int32(i), unstored)
		}
	}
	clear(p.order.spans)
	p.order.spans = p.order.spans[:0]
	for q := range p.order.parts {
		clear(p.order.parts[q])
		p.order.parts[q] = p.order.parts[q][:0]
	}
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

// commit stores gathered events of the present record.
func (p *Pipeline) commit(last bool) {
	s := &p.order.store
	if p.cfg.Journal == nil {
		return
	}
	newest := p.cfg.Journal.Committed()
	piece := journal.Piece{
		At: journal.Place{Number: s.number, Piece: s.piece}, Last: last,
		First: newest.Next(), Count: len(p.order.batch), Time: int64(s.at),
	}
	s.piece++
	if s.check == nil && !piece.After(&newest) {
		return // a replay: it is there
	}
	s.buffer = s.buffer[:0]
	for i := range p.order.batch {
		s.buffer = events.AppendRecord(s.buffer, &p.order.batch[i])
	}
	piece.Events = s.buffer
	if s.check != nil {
		s.check(piece)
		return
	}
	if err := p.cfg.Journal.Commit(piece); err != nil {
		p.fail(err)
	}
}

// checkpoint saves the state of the next partition when it is time to, and removes records that no
// checkpoint needs any more.
func (p *Pipeline) checkpoint(positions int) {
	s := &p.order.store
	if p.cfg.Journal == nil {
		return
	}
	if s.since += 1 + positions; s.since < p.cfg.CheckpointEvery {
		return
	}
	s.since = 0
	if err := p.save(s.next); err != nil {
		p.fail(err)
		return
	}
	if s.next = (s.next + 1) % subjects.Partitions; s.next != 0 {
		return
	}
	if err := p.saveSessions(); err != nil {
		p.fail(err)
		return
	}
	oldest := s.number
	for q := range s.saved {
		oldest = min(oldest, s.saved[q][1])
	}
	if p.cfg.Needed != nil {
		oldest = min(oldest, p.cfg.Needed()-1)
	}
	if err := errors.Join(p.cfg.Journal.TrimRecords(oldest+1), p.cfg.Fences.Release(oldest)); err != nil {
		p.fail(err)
	}
}

// save saves the state of a partition after the present record, unless it has postponed work.
func (p *Pipeline) save(q int) error {
	t, s := p.partitions[q], &p.order.store
	if t.More() || s.saved[q][0] == s.number {
		return nil
	}
	state, err := p.export(q)
	if err != nil {
		return err
	}
	s.saved[q] = [2]uint64{s.number, s.saved[q][0]}
	return p.cfg.Journal.SaveCheckpoint(q, s.number, state)
}

// export returns the checkpoint of a partition: the options, the id of the view, and the state.
func (p *Pipeline) export(q int) ([]byte, error) {
	s := &p.order.store
	return p.partitions[q].Export(appendBytes(appendBytes(nil, s.options), append([]byte{}, s.view...)))
}

// saveAll saves the state of all partitions, so that the next start replays nothing.
func (p *Pipeline) saveAll() {
	if p.cfg.Journal == nil {
		return
	}
	err := p.saveSessions()
	for q := 0; q < len(p.partitions) && err == nil; q++ {
		err = p.save(q)
	}
	if err != nil {
		p.fail(err)
	}
}

// replayed holds the positions of a record that is applied again.
type replayed []track.Position

// Position implements [fold.Job].
func (r replayed) Position(i int32) *track.Position { return &r[i] }

// Applied implements [fold.Job].
func (r replayed) Applied(int32, track.Outcome, *track.Shard) {}

// restore brings the state to the end of the journal: from the checkpoints, and by applying later
// records again. Results that a crash has taken are committed.
func (p *Pipeline) restore() error {
	s := &p.order.store
	var next [subjects.Partitions]uint64 // record from which on the partition applies
	oldest, newest := p.cfg.Journal.Bounds()
	var failures [subjects.Partitions]error
	p.each(spreadFrom, func(q int) { next[q], failures[q] = p.loadNewest(q, oldest) })
	if err := errors.Join(failures[:]...); err != nil {
		return err
	}
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
	err = p.cfg.Journal.Records(from, func(number uint64, record []byte) error {
		in, err := parseInput(record)
		if err == nil {
			err = p.replay(number, in, &next)
		}
		if err == nil && number >= sessionsFrom {
			p.sessions.apply(in.handled, in.at)
		}
		if err != nil {
			return fmt.Errorf("record %d of the journal: %w", number, err)
		}
		return nil
	})
	s.replaying = false
	s.number = newest
	if p.order.view == nil {
		p.order.view = p.seen.Load()
	}
	if err != nil {
		return err
	}
	return p.cfg.Fences.Adopt(s.view)
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
		saved := &p.order.store.saved[q]
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
	r := inputReader{rest: c.State}
	options, id := r.bytes(), r.bytes()
	if r.err != nil {
		return 0, track.ErrState
	}
	o, err := decodeOptions(options)
	if err != nil {
		return 0, err
	}
	s := &p.order.store
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
	if err := restore(r.rest, view); err != nil {
		return 0, err
	}
	p.encode(q)
	s.loading.Lock()
	defer s.loading.Unlock()
	if c.Number >= s.number {
		s.number, s.options, s.view, p.order.view = c.Number, options, id, view
		p.seen.Store(view)
	}
	return c.Number + 1, nil
}

// replay applies a record again to the partitions that do not have it.
func (p *Pipeline) replay(number uint64, in *input, next *[subjects.Partitions]uint64) error {
	s := &p.order.store
	s.number, s.at, s.piece = number, in.at, 0
	p.clock.atLeast(in.at)
	if in.options != nil {
		o, err := decodeOptions(in.options)
		if err != nil {
			return err
		}
		s.options = in.options
		for q := range p.partitions {
			if next[q] <= number {
				p.partitions[q].SetOptions(o)
			}
		}
	}
	var view *track.View
	if in.view != nil {
		var err error
		if view, err = p.cfg.Fences.Decode(in.view); err != nil {
			return err
		}
		s.view, p.order.view = in.view, view
		p.seen.Store(view)
	}
	job := replayed(in.positions)
	var members [subjects.Partitions][]int32
	for i := range job {
		q := subjects.Partition(job[i].Fleet, job[i].ID)
		members[q] = append(members[q], int32(i))
	}
	for q := range p.partitions {
		if next[q] <= number && view != nil {
			p.change(q, view, in.at)
		}
	}
	for i := range in.removals {
		if r := &in.removals[i]; next[subjects.Partition(r.fleet, r.id)] <= number {
			p.remove(r, in.at)
		}
	}
	p.each(len(job), func(q int) {
		if next[q] > number {
			return
		}
		if len(members[q]) > 0 {
			p.order.parts[q] = append(p.order.parts[q], part{job, members[q]})
		}
		p.apply(q, in.at, in.stepping&(1<<q) != 0)
	})
	p.publish()
	return nil
}
