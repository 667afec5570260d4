package ingest

import (
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/events"
)

// shard is one goroutine around one track.Shard. Nothing else touches the
// tracker; questions come as functions to run (see ask).
type shard struct {
	cfg     *Config
	tracker *track.Shard
	jobs    chan job                // closed by Pipeline.Close; its capacity bounds what waits
	asks    chan func(*track.Shard) // unbuffered: whoever asks waits anyway
	ended   chan struct{}

	view    *track.View
	events  []track.Event
	records []events.Record

	objects, silent atomic.Int64
}

func newShard(o track.Options, cfg *Config) *shard {
	return &shard{
		cfg: cfg, tracker: track.NewShard(o), view: &track.View{},
		jobs: make(chan job, queueJobs), asks: make(chan func(*track.Shard)), ended: make(chan struct{}),
	}
}

// run owns the tracker until jobs is closed and drained.
func (s *shard) run() {
	defer close(s.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for {
		select {
		case j, ok := <-s.jobs:
			if !ok {
				return
			}
			s.refresh()
			s.apply(j)
			s.publish()
			j.pending.release() // whoever waits for it finds all that it caused
		case ask := <-s.asks:
			s.refresh()
			s.publish()
			ask(s.tracker)
		case <-ticker.C:
			s.refresh()
			s.events = s.tracker.Advance(now(), s.events)
			s.publish()
		}
	}
}

// refresh takes the fences as they are now. Whoever changed them before handing
// in a position is sure that it meets the change.
func (s *shard) refresh() {
	if v := s.cfg.Views(); v != s.view {
		s.view = v
		s.events = s.tracker.SetView(v, now(), s.events)
	}
}

// apply folds the positions of a job.
func (s *shard) apply(j job) {
	var counts [3]int
	batch := j.pending.batch
	for _, i := range j.members {
		o, ev := s.tracker.Apply(&batch.Positions[i], s.events)
		s.events = ev
		j.pending.outcomes[i] = outcome(o)
		counts[o]++
	}
	s.cfg.Metrics.applied(counts)
}

// publish encodes and hands out the events gathered so far, and the counts of
// objects.
func (s *shard) publish() {
	s.objects.Store(int64(s.tracker.Len()))
	s.silent.Store(int64(s.tracker.Silent()))
	if len(s.events) == 0 {
		return
	}
	for i := range s.events {
		s.cfg.Metrics.event(&s.events[i])
		s.records = append(s.records, events.NewRecord(&s.events[i]))
	}
	s.cfg.Publisher.Publish(s.records)
	s.cfg.Metrics.published(s.records)
	clear(s.events)
	clear(s.records)
	s.events, s.records = s.events[:0], s.records[:0]
}

func now() track.Millis { return track.MillisOf(time.Now()) }
