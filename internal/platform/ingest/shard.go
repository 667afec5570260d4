package ingest

import (
	"slices"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// shard is one goroutine with its track.Shard, to which no other goroutine has access. Questions
// arrive as functions to run (see ask).
type shard struct {
	cfg     *Config
	givenUp *atomic.Bool  // the pipeline's
	turns   chan struct{} // the pipeline's
	tracker *track.Shard
	jobs    chan job                // closed by Pipeline.Close; its capacity bounds the queue
	asks    chan func(*track.Shard) // unbuffered: the caller waits anyway
	ended   chan struct{}

	view    *track.View
	due     bool // Step has more to do
	events  []track.Event
	records []events.Record

	suspended []job          // have unapplied positions; at most queueJobs
	waiting   map[object]int // number of positions in suspended jobs, by object

	objects, silent atomic.Int64
}

func newShard(o track.Options, p *Pipeline) *shard {
	return &shard{
		cfg: &p.cfg, givenUp: &p.givenUp, turns: p.turns, tracker: track.NewShard(o), view: &track.View{},
		jobs: make(chan job, queueJobs), asks: make(chan func(*track.Shard)), ended: make(chan struct{}),
		waiting: map[object]int{},
	}
}

// run owns the tracker until jobs is closed and drained. Long work is done in parts, so that short
// jobs run between them: a job that causes very many events, a change of the fences, a timeout of
// many objects.
func (s *shard) run() {
	defer close(s.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		turns, again := s.backlog()
		jobs := s.jobs
		if len(s.suspended) >= queueJobs {
			jobs = nil
		}
		select {
		case j, ok := <-jobs:
			if !ok {
				s.finish()
				return
			}
			s.refresh()
			s.take(j)
		case ask := <-s.asks:
			s.refresh()
			ask(s.tracker)
		case <-ticker.C:
			s.tracker.Advance(now())
			s.refresh()
			s.step()
		case <-turns:
			s.work()
		case <-again:
		}
	}
}

// refresh takes the present fences, and does one step of the resulting work. A caller that has
// changed the fences before it submits a position can rely on it.
func (s *shard) refresh() {
	if v := s.cfg.Views(); v != s.view {
		s.view = v
		s.tracker.SetView(v, now())
		s.step()
	}
}

// backlog returns a channel that gives the shard a turn at long work, and one that fires when
// backlog should be called again; nil never fires. work returns the turn.
func (s *shard) backlog() (turns <-chan struct{}, again <-chan time.Time) {
	switch {
	case !s.due && len(s.suspended) == 0:
		return nil, nil
	case s.cfg.Congested():
		return nil, time.After(congestedPause)
	}
	return s.turns, nil
}

// work does a part of the long work, in a turn from backlog.
func (s *shard) work() {
	defer func() { s.turns <- struct{}{} }()
	if s.due {
		s.step()
	}
	if len(s.suspended) > 0 {
		s.resume()
	}
}

// step does a part of the work that changed fences and timeouts have caused.
func (s *shard) step() {
	s.events, s.due = s.tracker.Step(s.events)
	s.publish()
}

// finish does the remaining work, unless the pipeline gives up meanwhile.
func (s *shard) finish() {
	s.refresh()
	for len(s.suspended) > 0 || s.due && !s.givenUp.Load() {
		for s.cfg.Congested() && !s.givenUp.Load() {
			time.Sleep(congestedPause)
		}
		<-s.turns
		s.work()
	}
}

const (
	// turn bounds the time for which a job is applied before other jobs run. It is checked after
	// each published part, and every lookEvery positions.
	turn      = 2 * time.Millisecond
	lookEvery = 16
	// congestedPause is the pause of long work while subscribers are behind.
	congestedPause = 5 * time.Millisecond
)

// take applies a job. It suspends the job if it takes long, or if a suspended job has an earlier
// position of the same object.
func (s *shard) take(j job) {
	for _, i := range j.members {
		if len(s.suspended) > 0 && s.waiting[objectOf(j.pending, i)] > 0 {
			s.suspend(j)
			return
		}
	}
	if s.apply(&j); len(j.members) > 0 {
		s.suspend(j)
	}
}

// suspend puts the rest of a job behind the other suspended ones.
func (s *shard) suspend(j job) {
	s.suspended = append(s.suspended, j)
	for _, i := range j.members {
		s.waiting[objectOf(j.pending, i)]++
	}
}

// resume applies more of the first suspended job.
func (s *shard) resume() {
	j := &s.suspended[0]
	before := j.members
	s.apply(j)
	for _, i := range before[:len(before)-len(j.members)] {
		o := objectOf(j.pending, i)
		if s.waiting[o]--; s.waiting[o] == 0 {
			delete(s.waiting, o)
		}
	}
	if len(j.members) == 0 {
		s.suspended = slices.Delete(s.suspended, 0, 1)
	}
	if len(s.suspended) == 0 {
		s.waiting = map[object]int{} // free the grown map
	}
}

// object names an object.
type object struct{ fleet, id string }

func objectOf(p *pending, i int32) object {
	return object{p.batch.Positions[i].Fleet, p.batch.Positions[i].ID}
}

// apply applies positions of a job for one turn, publishes the resulting events, and leaves the
// other positions in the job. If the pipeline has given up, it refuses them. A job without
// positions left is released: all of its events are published.
func (s *shard) apply(j *job) {
	var counts [3]int
	until := time.Now().Add(turn)
	n := 0
	for n < len(j.members) {
		if s.givenUp.Load() {
			j.refuse(j.members[n:], unapplied)
			n = len(j.members)
			break
		}
		i := j.members[n]
		o, ev := s.tracker.Apply(&j.pending.batch.Positions[i], s.events)
		s.events = ev
		j.pending.outcomes[i] = outcome(o)
		counts[o]++
		if o == track.Late {
			j.pending.late.note(i, &j.pending.batch.Positions[i], s.tracker)
		}
		n++
		if len(s.events) >= publishRecords {
			s.publish()
		} else if n%lookEvery != 0 {
			continue
		}
		if time.Now().After(until) {
			break
		}
	}
	s.publish()
	s.cfg.Metrics.applied(counts)
	if j.members = j.members[n:]; len(j.members) == 0 {
		j.pending.release()
	}
}

const (
	// publishRecords and publishBytes bound one call of the publisher, because a job may cause
	// millions of events. A call may exceed the bytes by one event.
	publishRecords = 1000
	publishBytes   = 1 << 20
	// keptEvents is the largest buffer of events that a shard keeps.
	keptEvents = 4 * publishRecords
)

// publish encodes and publishes the gathered events, in parts, and updates the counts of objects.
func (s *shard) publish() {
	s.objects.Store(int64(s.tracker.Len()))
	s.silent.Store(int64(s.tracker.Silent()))
	size := 0
	for i := range s.events {
		s.cfg.Metrics.event(&s.events[i])
		s.records = append(s.records, events.NewRecord(&s.events[i]))
		size += s.records[len(s.records)-1].JSON.Len()
		if len(s.records) == publishRecords || size >= publishBytes {
			s.handOut()
			size = 0
		}
	}
	s.handOut()
	clear(s.events)
	s.events = s.events[:0]
	if cap(s.events) > keptEvents {
		s.events = nil
	}
}

// handOut publishes the encoded records.
func (s *shard) handOut() {
	if len(s.records) == 0 {
		return
	}
	s.cfg.Publisher.Publish(s.records)
	s.cfg.Metrics.published(s.records)
	clear(s.records)
	s.records = s.records[:0]
}

func now() track.Millis { return track.MillisOf(time.Now()) }
