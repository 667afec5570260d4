package ingest

import (
	"math"
	"sync"
	"sync/atomic"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/subjects"
)

const (
	// spreadFrom is the number of positions from which on several workers apply a record.
	spreadFrom = 128

	// publishRecords and publishBytes bound one call of the publisher, because a position may cause
	// very many events. A call may exceed the bytes by one event.
	publishRecords = 1000
	publishBytes   = 512 << 10
)

// folding is the state of the application of records.
type folding struct {
	open  []*pending                               // taken, and not answered
	out   [subjects.Partitions + 1][]events.Record // of the partitions, and of the second fold
	batch []events.Record                          // for the publisher
	store storing

	several severals
}

// partition is a partition, and its state for others than the goroutine that applies it.
type partition struct {
	*fold.Partition
	events          []track.Event // scratch
	due             atomic.Int64  // time from which on it has postponed work; see note
	objects, silent atomic.Int64

	most    int           // objects that it may have; 0: no bound
	crowded bool          // it has so many
	crowds  *atomic.Int32 // counts the crowded partitions

	incomplete bool // positions of stored records were refused when the pipeline ended
}

const (
	dueNow   = math.MinInt64
	dueNever = math.MaxInt64
)

// note updates what others read.
func (t *partition) note() {
	due := int64(dueNever)
	if at, ok := t.Due(); ok {
		due = int64(at)
	}
	if t.More() {
		due = dueNow
	}
	t.due.Store(due)
	t.objects.Store(int64(t.Len()))
	if crowded := t.most > 0 && t.Len() >= t.most; crowded != t.crowded {
		if t.crowded = crowded; crowded {
			t.crowds.Add(1)
		} else {
			t.crowds.Add(-1)
		}
	}
	t.silent.Store(int64(t.Silent()))
}

func (t *partition) isDue(at track.Millis) bool { return t.due.Load() <= int64(at) }

// fold applies a record, and publishes its events. The caller has the turn to apply.
func (p *Pipeline) fold(r *record) {
	s := &p.folding.store
	if p.cfg.Journal == nil {
		r.number = s.number + 1
	}
	s.number, s.at = r.number, r.at
	p.state.Lock()
	if p.cfg.Journal != nil {
		p.sessions.apply(r.done, r.at)
	}
	if r.options != nil {
		s.options = r.options
		for _, t := range p.partitions {
			t.SetOptions(r.track)
			t.note()
		}
	}
	if r.view != nil {
		s.view = r.viewID
		p.each(r.count, func(q int) { p.change(q, r) })
		p.seen.Store(r.view)
	}
	for _, removed := range r.removals {
		removed.removed = p.remove(removed, r)
	}
	p.each(r.count, func(q int) { p.apply(q, r) })
	p.severally(r)
	p.state.Unlock()
	p.folding.open = append(p.folding.open, r.opened...)
	r.opened = r.opened[:0]
	p.tell(r)
	p.publish(r)
	p.checkpoint(r)
	for _, s := range r.spans {
		if s.to < len(s.pending.batch.Positions) {
			s.pending.leave() // of the others, answer does
		}
	}
	p.answer()
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
func (p *Pipeline) change(q int, r *record) {
	t := p.partitions[q]
	t.SetView(r.view, r.at)
	t.events, _ = t.Step(t.events, fold.ApplyEvents)
	p.encode(q)
}

func (p *Pipeline) remove(o *removal, r *record) (removed bool) {
	q := subjects.Partition(o.fleet, o.id)
	t := p.partitions[q]
	d, _ := t.Dot(o.fleet, o.id)
	if removed, t.events = t.Remove(o.fleet, o.id, r.at, t.events); removed {
		p.gone.add(handleOf(d.Handle, q))
	}
	p.encode(q)
	return removed
}

// apply applies a partition's part of a record.
func (p *Pipeline) apply(q int, r *record) {
	parts, step := r.parts[q], r.stepping&(1<<q) != 0
	if len(parts) == 0 && !step {
		return
	}
	t := p.partitions[q]
	t.Begin()
	for _, part := range parts {
		t.events = t.Apply(part.job, part.members, t.events)
	}
	clear(parts)
	r.parts[q] = parts[:0]
	if step {
		t.Advance(r.at)
		t.events, _ = t.Step(t.events, fold.StepEvents)
	}
	p.encode(q)
}

// encode encodes the events of a partition, and updates its counts.
func (p *Pipeline) encode(q int) {
	t := p.partitions[q]
	p.encodeTo(q, t.events)
	clear(t.events)
	if t.events = t.events[:0]; cap(t.events) > 4*fold.StepEvents {
		t.events = nil
	}
	t.note()
}

// publish publishes the events of a record, in parts, ordered by partition.
func (p *Pipeline) publish(r *record) {
	f, size := &p.folding, 0
	for q, list := range f.out {
		for i := range list {
			n := list[i].JSON.Len()
			if len(f.batch) == publishRecords || size > 0 && size+n > publishBytes {
				p.handOut(r, false)
				size = 0
			}
			f.batch = append(f.batch, list[i])
			size += n
		}
		clear(list)
		if f.out[q] = list[:0]; cap(list) > 4*fold.ApplyEvents {
			f.out[q] = nil
		}
	}
	p.handOut(r, true)
}

// handOut publishes the gathered events; last says that they are the last ones of the record.
func (p *Pipeline) handOut(r *record, last bool) {
	f := &p.folding
	if len(f.batch) == 0 {
		return
	}
	p.commit(r, last)
	if p.cfg.Publisher != nil && !f.store.replaying {
		p.cfg.Publisher.Publish(f.batch)
		p.Metrics.published(f.batch, p.clock.instant())
	}
	clear(f.batch)
	f.batch = f.batch[:0]
}

// answer answers the batches that are complete: one is left, which is the record's.
func (p *Pipeline) answer() {
	open := p.folding.open[:0]
	for _, pd := range p.folding.open {
		if pd.left.Load() > 1 {
			pd.leave()
			open = append(open, pd)
			continue
		}
		pd.count()
		pd.leaveAllBut(0)
		pd.done(pd)
	}
	clear(p.folding.open[len(open):])
	p.folding.open = open
}
