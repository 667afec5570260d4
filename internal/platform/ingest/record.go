package ingest

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
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
	// spreadFrom is the number of positions from which on several workers apply a record.
	spreadFrom = 128

	// publishRecords and publishBytes bound one call of the publisher, because a position may cause
	// very many events. A call may exceed the bytes by one event.
	publishRecords = 1000
	publishBytes   = 512 << 10
)

// order is the state of the making of records.
type order struct {
	view  *track.View
	next  int        // partition from which on the next one with postponed work is looked for
	open  []*pending // taken, and not answered
	parts [subjects.Partitions][]part
	out   [subjects.Partitions][]events.Record
	batch []events.Record // for the publisher
	spans []span          // the positions of the record
	done  []Handled       // batches that the record completes
	store storing
}

// span is positions of a batch that are part of a record.
type span struct {
	pending  *pending
	from, to int
}

// partition is a partition, and its state for the holder of the turn and for readers.
type partition struct {
	*fold.Partition
	events          []track.Event // scratch
	behind          bool          // it has postponed work
	due             track.Millis  // when the next object becomes silent; 0: none
	objects, silent atomic.Int64
}

// record makes a record of everything that waits, applies it, and publishes its events. Up to steps
// partitions do postponed work in it. The caller has the turn.
func (p *Pipeline) record(steps int) {
	at := p.clock.now()
	requests, positions, left := p.take(at)
	view, id := p.cfg.Fences.View()
	if view == p.order.view {
		view = nil
	}
	options := p.changedOptions()
	stepping := p.stepping(at, steps)
	if options == nil && view == nil && len(requests) == 0 && stepping == 0 {
		return
	}
	if !p.append(at, options, view, id, requests, stepping) {
		return
	}
	p.state.Lock()
	p.sessions.apply(p.order.done, at)
	p.order.done = p.order.done[:0]
	if options != nil {
		p.order.store.options = options
		for _, t := range p.partitions {
			t.SetOptions(p.cfg.Track)
			t.due, _ = t.Due()
		}
	}
	if view != nil {
		p.order.view = view
		p.each(positions, func(q int) { p.change(q, view, at) })
		p.seen.Store(view)
	}
	for _, r := range requests {
		if r.removal != nil {
			p.remove(r.removal, at)
		}
	}
	p.each(positions, func(q int) { p.apply(q, at, stepping&(1<<q) != 0) })
	p.state.Unlock()
	p.publish()
	p.checkpoint(positions)
	p.answer()
	if left || steps == 0 && p.busy(at) {
		p.signal()
	}
}

// changedOptions returns the options of the tracker in their stored form, if the journal has
// others.
func (p *Pipeline) changedOptions() []byte {
	if p.cfg.Journal == nil || bytes.Equal(p.options, p.order.store.options) {
		return nil
	}
	return p.options
}

// busy reports whether a partition has work to do without further input. The caller has the turn.
func (p *Pipeline) busy(at track.Millis) bool {
	for _, t := range p.partitions {
		if t.behind || t.due != 0 && t.due <= at {
			return true
		}
	}
	return false
}

// take takes requests for a record, and reports whether some are left. This is the arrival of their
// positions, as the fold sees it.
func (p *Pipeline) take(at track.Millis) (requests []*request, positions int, left bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	rest := p.waiting[:0]
	for i, r := range p.waiting {
		if positions >= maxRecord {
			rest = append(rest, p.waiting[i:]...)
			break
		}
		batch := r.pending.batch.Positions
		from, to := r.next, min(r.next+maxPart, len(batch))
		for i := from; i < to; i++ {
			batch[i].Arrived = at
		}
		split(&p.order.parts, r.pending, from, to)
		p.order.spans = append(p.order.spans, span{r.pending, from, to})
		positions += to - from
		requests = append(requests, r)
		if r.next = to; to < len(batch) {
			rest = append(rest, r)
			continue
		}
		r.taken = true
		if h := r.pending.batch.Handled; h != nil && p.cfg.Journal != nil {
			p.order.done = append(p.order.done, *h)
		}
		p.order.open = append(p.order.open, r.pending)
	}
	clear(p.waiting[len(rest):])
	p.waiting = rest
	return requests, positions, len(rest) > 0
}

// stepping returns the partitions that do postponed work in a record, as bits: at most this many
// with a backlog, in turns, or with objects that have become silent.
func (p *Pipeline) stepping(at track.Millis, most int) (bits uint64) {
	for i := 0; i < subjects.Partitions && most > 0; i++ {
		q := (p.order.next + i) % subjects.Partitions
		if t := p.partitions[q]; t.behind || t.due != 0 && t.due <= at {
			bits |= 1 << q
			if most--; most == 0 {
				p.order.next = q + 1
			}
		}
	}
	return bits
}

// each calls f for each partition, on several goroutines if there are many positions.
func (p *Pipeline) each(positions int, f func(q int)) {
	workers := 1
	if positions >= spreadFrom {
		workers = p.cfg.Workers
	}
	var others sync.WaitGroup
	for w := 1; w < workers; w++ {
		others.Go(func() {
			for q := w; q < subjects.Partitions; q += workers {
				f(q)
			}
		})
	}
	for q := 0; q < subjects.Partitions; q += workers {
		f(q)
	}
	others.Wait()
}

// change gives a partition new fences, and does the first step of the resulting work.
func (p *Pipeline) change(q int, v *track.View, at track.Millis) {
	t := p.partitions[q]
	t.SetView(v, at)
	t.events, _ = t.Step(t.events, fold.ApplyEvents)
	p.encode(q)
}

func (p *Pipeline) remove(r *removal, at track.Millis) {
	q := subjects.Partition(r.fleet, r.id)
	t := p.partitions[q]
	if r.removed, t.events = t.Remove(r.fleet, r.id, at, t.events); r.removed {
		p.gone.Add(1)
	}
	p.encode(q)
}

// apply applies a partition's part of the record.
func (p *Pipeline) apply(q int, at track.Millis, step bool) {
	parts := p.order.parts[q]
	if len(parts) == 0 && !step {
		return
	}
	t := p.partitions[q]
	t.Begin()
	for _, part := range parts {
		t.events = t.Apply(part.job, part.members, t.events)
	}
	clear(parts)
	p.order.parts[q] = parts[:0]
	if step {
		t.Advance(at)
		t.events, _ = t.Step(t.events, fold.StepEvents)
	}
	p.encode(q)
}

// encode encodes the events of a partition, and updates its counts.
func (p *Pipeline) encode(q int) {
	t := p.partitions[q]
	for i := range t.events {
		if !p.order.store.replaying {
			p.Metrics.event(&t.events[i])
		}
		p.order.out[q] = append(p.order.out[q], events.NewRecord(&t.events[i], p.cfg.Run))
	}
	clear(t.events)
	if t.events = t.events[:0]; cap(t.events) > 4*fold.StepEvents {
		t.events = nil
	}
	t.behind = t.More()
	t.due, _ = t.Due()
	t.objects.Store(int64(t.Len()))
	t.silent.Store(int64(t.Silent()))
}

// publish publishes the events of the record, in parts, ordered by partition.
func (p *Pipeline) publish() {
	size := 0
	for q, list := range p.order.out {
		for i := range list {
			n := list[i].JSON.Len()
			if len(p.order.batch) == publishRecords || size > 0 && size+n > publishBytes {
				p.handOut(false)
				size = 0
			}
			p.order.batch = append(p.order.batch, list[i])
			size += n
		}
		clear(list)
		if p.order.out[q] = list[:0]; cap(list) > 4*fold.ApplyEvents {
			p.order.out[q] = nil
		}
	}
	p.handOut(true)
	clear(p.order.spans)
	p.order.spans = p.order.spans[:0]
}

// handOut publishes the gathered events; last says that they are the last ones of the record.
func (p *Pipeline) handOut(last bool) {
	if len(p.order.batch) == 0 {
		return
	}
	p.commit(last)
	if p.cfg.Publisher != nil && !p.order.store.replaying {
		p.cfg.Publisher.Publish(p.order.batch)
		p.Metrics.published(p.order.batch)
	}
	clear(p.order.batch)
	p.order.batch = p.order.batch[:0]
}

// answer answers the batches that are complete: one is left, which is the record's.
func (p *Pipeline) answer() {
	open := p.order.open[:0]
	for _, pd := range p.order.open {
		if pd.left.Load() > 1 {
			open = append(open, pd)
			continue
		}
		pd.count()
		p.room.Release(pd.weight)
		pd.done(pd)
	}
	clear(p.order.open[len(open):])
	p.order.open = open
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
	for {
		select {
		case <-p.wake:
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
		p.turn <- struct{}{}
		steps := recordSteps
		congested := p.cfg.Congested()
		if congested || p.Refusing() != "" {
			steps = 0
		}
		p.record(steps)
		over, busy := p.over()
		<-p.turn
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
// case it refuses the rest. busy reports whether something is left to do. The caller has the turn.
func (p *Pipeline) over() (over, busy bool) {
	p.mu.Lock()
	closed, waiting := p.closed, len(p.waiting)
	p.mu.Unlock()
	busy = waiting > 0 && (closed || p.cfg.Interval == 0) || p.busy(p.clock.now())
	if !closed || busy && !p.givenUp.Load() {
		return false, busy
	}
	for _, t := range p.partitions {
		t.Refuse(func(j fold.Job, i int32) {
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
		p.order.open = append(p.order.open, r.pending)
	}
	p.answer()
	p.saveAll()
	return true, false
}
