package ingest

import (
	"slices"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// shard is one goroutine around one track.Shard. Nothing else touches the
// tracker; questions come as functions to run (see ask).
type shard struct {
	cfg     *Config
	givenUp *atomic.Bool  // the pipeline's
	turns   chan struct{} // the pipeline's
	tracker *track.Shard
	jobs    chan job                // closed by Pipeline.Close; its capacity bounds what waits
	asks    chan func(*track.Shard) // unbuffered: whoever asks waits anyway
	ended   chan struct{}

	view    *track.View
	due     bool // Step has more to do
	events  []track.Event
	records []events.Record

	suspended []job          // have positions left; at most queueJobs
	waiting   map[object]int // positions of suspended jobs by their object

	objects, silent atomic.Int64
}

func newShard(o track.Options, p *Pipeline) *shard {
	return &shard{
		cfg: &p.cfg, givenUp: &p.givenUp, turns: p.turns, tracker: track.NewShard(o), view: &track.View{},
		jobs: make(chan job, queueJobs), asks: make(chan func(*track.Shard)), ended: make(chan struct{}),
		waiting: map[object]int{},
	}
}

// run owns the tracker until jobs is closed and drained. What takes long is done in
// parts, between which others have their turn: a job that causes very many events, a
// change of the fences, many objects that fall silent.
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

// refresh takes the fences as they are now, and does a step of what that makes due.
// Whoever changed them before handing in a position is sure that it meets the change.
func (s *shard) refresh() {
	if v := s.cfg.Views(); v != s.view {
		s.view = v
		s.tracker.SetView(v, now())
		s.step()
	}
}

// backlog returns a channel that gives the shard a turn at what takes long, and one
// that can be received from when it is time to ask again; nil is never. work gives the
// turn back.
func (s *shard) backlog() (turns <-chan struct{}, again <-chan time.Time) {
	switch {
	case !s.due && len(s.suspended) == 0:
		return nil, nil
	case s.cfg.Congested():
		return nil, time.After(congestedPause)
	}
	return s.turns, nil
}

// work does a part of what takes long, in a turn that backlog has given.
func (s *shard) work() {
	defer func() { s.turns <- struct{}{} }()
	if s.due {
		s.step()
	}
	if len(s.suspended) > 0 {
		s.resume()
	}
}

// step does a part of what changed fences and passing time have made due.
func (s *shard) step() {
	s.events, s.due = s.tracker.Step(s.events)
	s.publish()
}

// finish does what is left, unless the pipeline gives up meanwhile.
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
	// turn is how long a job is applied before others have their turn; it is looked at
	// after each part that is published, and every lookEvery positions.
	turn      = 2 * time.Millisecond
	lookEvery = 16
	// congestedPause is how long what takes long rests while subscribers are behind.
	congestedPause = 5 * time.Millisecond
)

// take applies a job, or suspends it: if it takes long, or if an object of it has an
// earlier position in a suspended job.
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

// suspend puts what is left of a job behind the other suspended ones.
func (s *shard) suspend(j job) {
	s.suspended = append(s.suspended, j)
	for _, i := range j.members {
		s.waiting[objectOf(j.pending, i)]++
	}
}

// resume applies more of the job that has been suspended for longest.
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
		s.waiting = map[object]int{} // give back what it has grown to
	}
}

// object names an object.
type object struct{ fleet, id string }

func objectOf(p *pending, i int32) object {
	return object{p.batch.Positions[i].Fleet, p.batch.Positions[i].ID}
}

// apply folds positions of a job for its turn, publishes the events that they cause,
// and leaves the others in the job. They are refused when the pipeline has given up. A
// job without positions left is released: its door finds all that it caused.
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
	// publishRecords and publishBytes bound what is handed to the publisher at once:
	// one more event than fits into the bytes at most. A job may cause millions.
	publishRecords = 1000
	publishBytes   = 1 << 20
	// keptEvents is how many gathered events a shard keeps room for.
	keptEvents = 4 * publishRecords
)

// publish encodes and hands out the events gathered so far, in parts, and the counts
// of objects.
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

// handOut publishes the records encoded so far.
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
