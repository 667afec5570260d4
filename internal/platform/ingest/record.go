package ingest

import (
	"bytes"
	"slices"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/subjects"
)

const (
	// maxRecord bounds the positions of a record, and maxPart those of one batch in it: the rest
	// of a large batch waits for later records, so that others pass.
	maxRecord = 8192
	maxPart   = 2048
	// recordSteps is the number of partitions that do postponed work in a record.
	recordSteps = 2
)

// record is an input of the fold. It is made and stored under one turn, and applied under the next
// one, so that a record is stored while the one before it is applied.
type record struct {
	at       track.Millis
	number   uint64 // in the journal
	options  []byte // of the tracker, in their stored form; nil: those before
	track    track.Options
	view     *track.View // nil: the fences before
	viewID   []byte
	stepping uint64 // partitions that do postponed work, as bits
	removals []*removal
	parts    [subjects.Partitions][]part
	spans    []span     // its positions
	copied   *replayed  // its positions, if another node has made it
	done     []Handled  // batches that it completes
	opened   []*pending // batches of which it takes the last positions
	count    int        // of positions
	more     bool       // positions wait for the next record
	pieces   uint32     // of its events that are stored
}

// span is positions of a batch that are part of a record.
type span struct {
	pending  *pending
	from, to int
}

// reset empties the record, and keeps its memory.
func (r *record) reset(at track.Millis) {
	clear(r.spans)
	clear(r.opened)
	*r = record{at: at, parts: r.parts, spans: r.spans[:0], done: r.done[:0], opened: r.opened[:0]}
}

// making is the state of the making of records.
type making struct {
	view    *track.View // of the last record
	options []byte      // likewise
	next    int         // partition from which on the next one with postponed work is looked for
	records [2]record   // that are used in turns
	count   int
	buffer  []byte
}

// makeRecord makes a record of everything that waits, stores it, applies it, and publishes its
// events. Up to steps partitions do postponed work in it. The caller has the turn, which makeRecord
// gives back once the record is stored, so that the next one is stored meanwhile.
func (p *Pipeline) makeRecord(steps int) {
	alone := steps > 0 // the partitions with postponed work are known between two records
	if alone {
		p.applying <- struct{}{}
	}
	r := p.take(steps)
	if r == nil {
		if alone {
			<-p.applying
		}
		<-p.turn
		return
	}
	err := p.append(r)
	if !alone {
		p.applying <- struct{}{}
	}
	<-p.turn
	if err != nil {
		p.fail(r, err)
	} else {
		p.fold(r)
	}
	if r.more || steps == 0 && p.busy(r.at) {
		p.signal()
	}
	<-p.applying
}

// take returns the next record, or nil if there is nothing to do. Its time is the arrival of its
// positions, as the fold sees it. The caller has the turn.
func (p *Pipeline) take(steps int) *record {
	m := &p.making
	r := &m.records[m.count%2]
	r.reset(p.clock.now())
	requests := p.takeRequests(r)
	if view, id := p.cfg.Fences.View(); view != m.view {
		r.view, r.viewID = view, id
	}
	if p.cfg.Journal != nil && !bytes.Equal(p.options, m.options) {
		r.options, r.track = p.options, p.cfg.Track
	}
	r.stepping = p.stepping(r.at, steps)
	if r.options == nil && r.view == nil && requests == 0 && r.stepping == 0 {
		return nil
	}
	m.count++
	if r.view != nil {
		m.view = r.view
	}
	if r.options != nil {
		m.options = r.options
	}
	return r
}

// busy reports whether a partition has work to do without further input, which a replica leaves to
// the records of the leader. While nothing can be stored, there is none.
func (p *Pipeline) busy(at track.Millis) bool {
	return p.Role() == Leader && p.Refusing() == "" && slices.ContainsFunc(p.partitions[:], func(t *partition) bool { return t.isDue(at) })
}

// takeRequests takes requests into a record, and returns their number.
func (p *Pipeline) takeRequests(r *record) (taken int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.waiting[:0]
	behind := false // a batch of which a rest is left: later ones may be of the same sender
	for i, q := range p.waiting {
		if r.count >= maxRecord {
			rest = append(rest, p.waiting[i:]...)
			break
		}
		// A record removes objects before it applies positions.
		if behind && q.queued || q.removal != nil && r.count+len(rest) > 0 {
			rest = append(rest, q)
			continue
		}
		taken++
		if !r.takeFrom(q) {
			rest = append(rest, q)
			behind = behind || q.queued
		}
	}
	clear(p.waiting[len(rest):])
	p.waiting, r.more = rest, len(rest) > 0
	return taken
}

// takeFrom takes positions of a request, and reports whether none are left.
func (r *record) takeFrom(q *request) (all bool) {
	batch := q.pending.batch
	from, to := q.next, min(q.next+maxPart, len(batch.Positions))
	for i := from; i < to; i++ {
		batch.Positions[i].Arrived = r.at
	}
	for at := from; at < to; at++ {
		end := q.pending.admitted(at, to)
		if end > at {
			split(&r.parts, q.pending, batch.Positions[at:end], at)
			r.spans = append(r.spans, span{q.pending, at, end})
			r.count += end - at
		}
		at = end
	}
	if q.removal != nil {
		r.removals = append(r.removals, q.removal)
	}
	if q.next = to; to < len(batch.Positions) {
		return false
	}
	q.taken.Store(true)
	if batch.Handled != nil {
		r.done = append(r.done, *batch.Handled)
	}
	r.opened = append(r.opened, q.pending)
	return true
}

// stepping returns the partitions that do postponed work in a record, as bits: at most this many
// with a backlog, in turns, or with objects that have become silent. The caller has the turn.
func (p *Pipeline) stepping(at track.Millis, most int) (bits uint64) {
	for i := 0; i < subjects.Partitions && most > 0; i++ {
		q := (p.making.next + i) % subjects.Partitions
		if p.partitions[q].isDue(at) {
			bits |= 1 << q
			if most--; most == 0 {
				p.making.next = q + 1
			}
		}
	}
	return bits
}

// congestedPause is the pause of long work while subscribers are behind.
const congestedPause = 5 * time.Millisecond

// run makes the records that no door makes: of batches of TrySubmit, of postponed work, of passed
// time. It ends when the pipeline is closed and everything is applied, or given up.
func (p *Pipeline) run() {
	defer close(p.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	var again, later <-chan time.Time
	var answer chan struct{} // of Alive, at the end of the round
	for {
		if answer != nil {
			close(answer)
			answer = nil
		}
		select {
		case <-p.wake:
		case answer = <-p.asked:
		case <-ticker.C:
		case <-again:
		case <-p.soon:
			if later == nil {
				later = time.After(p.cfg.Interval)
			}
			continue
		case <-later:
		}
		again, later = nil, nil
		congested := p.cfg.Congested()
		if p.Role() == Leader {
			p.turn <- struct{}{}
			steps := recordSteps
			if congested || !p.busy(p.clock.now()) {
				steps = 0
			}
			p.makeRecord(steps)
		}
		over, busy := p.over()
		switch {
		case over:
			return
		case busy && congested:
			again = time.After(congestedPause)
		case busy:
			p.signal()
		}
	}
}

// over reports whether the pipeline is closed and has nothing left to do, or has given up, in which
// case it refuses the rest. busy reports whether something is left to do.
func (p *Pipeline) over() (over, busy bool) {
	closed, waiting := p.waits()
	busy = waiting && (closed || p.cfg.Interval == 0) || p.busy(p.clock.now())
	if !closed {
		return false, busy
	}
	p.turn <- struct{}{}
	p.applying <- struct{}{}
	defer func() { <-p.applying; <-p.turn }()
	if _, waiting := p.waits(); !p.givenUp.Load() && (waiting || p.busy(p.clock.now())) {
		return false, true
	}
	p.refuseRest()
	p.answer()
	p.saveAll()
	return true, false
}

func (p *Pipeline) waits() (closed, waiting bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed, len(p.waiting) > 0
}

// refuseRest refuses all positions that are not applied. The caller has both turns.
func (p *Pipeline) refuseRest() {
	for _, t := range p.partitions {
		t.Refuse(func(j fold.Job, i int32) {
			t.incomplete = true
			if pd, live := j.(*pending); live { // and not of a replay
				pd.refuse(i, unapplied)
			}
		})
	}
	p.mu.Lock()
	rest := p.waiting
	p.waiting = nil
	p.mu.Unlock()
	for _, r := range rest {
		for i := r.next; i < len(r.pending.batch.Positions); i++ {
			r.pending.refuse(int32(i), unapplied)
		}
		r.pending.failure = ErrClosed
		p.folding.open = append(p.folding.open, r.pending)
	}
}
