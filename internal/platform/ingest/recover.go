package ingest

import (
	"errors"
	"fmt"

	"paddock/internal/platform/fold"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

// Recovered tells what Recover has found.
type Recovered struct {
	Number     uint64 // of the record that the state is saved as of
	At         int64  // its time, in milliseconds since 1970
	Records    uint64 // that are missing or damaged between others
	Partitions int    // whose objects are forgotten
	Whole      bool   // the state is that of all records, and so are the events
}

// Recover computes the state that is left in a damaged journal: from the checkpoints that can be
// read, and the records behind them that are there. It saves the state of all partitions. Of the
// configuration it uses Journal, which must pass on records of which others are missing, and
// Fences. Events are added to the journal up to the first loss.
func Recover(cfg Config) (Recovered, error) {
	p := build(cfg)
	r := recovery{p: p, found: Recovered{Whole: true}}
	p.folding.store.replaying, p.folding.store.damaged = true, true
	if err := r.load(); err != nil {
		return r.found, err
	}
	if err := r.apply(); err != nil {
		return r.found, err
	}
	return r.found, r.save()
}

// recovery is the state of Recover.
type recovery struct {
	p      *Pipeline
	found  Recovered
	next   [subjects.Partitions]uint64
	newest uint64 // the newest number of a record, checkpoint or piece
}

// lose notes a loss: the events of later records may be others than before it, and are not stored.
func (r *recovery) lose() {
	r.found.Whole = false
	r.p.folding.store.check = func(journal.Piece) {}
}

// load takes the newest checkpoint of each partition that can be read.
func (r *recovery) load() error {
	oldest, newest := r.p.cfg.Journal.Bounds()
	committed := r.p.cfg.Journal.Committed()
	r.newest = max(newest, committed.At.Number)
	for q := range r.next {
		var err error
		r.next[q], err = r.p.loadNewest(q, oldest)
		r.newest = max(r.newest, r.p.folding.store.number)
		r.p.beginSeveral(r.p.folding.store.number)
		if err == nil {
			continue
		}
		if !errors.Is(err, journal.ErrDamaged) {
			return err
		}
		r.found.Partitions++
		r.next[q] = newest + 1 // its objects begin again
		r.lose()
	}
	return nil
}

// apply applies the records that are there.
func (r *recovery) apply() error {
	p := r.p
	from := r.next[0]
	for _, n := range r.next {
		from = min(from, n)
	}
	sessionsFrom, err := p.loadSessions()
	if err != nil {
		p.sessions = sessions{} // repeats of earlier posts are late
	}
	expected := max(from, 1)
	err = p.cfg.Journal.Records(min(expected, sessionsFrom), func(number uint64, record []byte) error {
		if number > expected {
			r.found.Records += number - expected
			r.lose()
		}
		expected = max(expected, number+1)
		in, err := parseInput(record)
		if err == nil && number >= from {
			err = p.replay(number, in, &r.next)
		}
		if err != nil && number >= from {
			r.found.Records++
			r.lose()
			if p.cfg.Logger != nil {
				p.cfg.Logger.Warn("a record is not applied", "record", number, "error", err)
			}
			return nil
		}
		if err == nil && number >= sessionsFrom {
			p.sessions.apply(in.handled, in.at)
		}
		return nil
	})
	if r.newest >= expected { // a later state or event is there
		r.found.Records += r.newest + 1 - expected
		r.lose()
	}
	return err
}

// save saves the state of all partitions as after a record that no journal has.
func (r *recovery) save() error {
	p, s := r.p, &r.p.folding.store
	if s.options == nil {
		s.options = p.options
	}
	if err := p.cfg.Fences.Adopt(s.view); err != nil {
		if err := p.cfg.Fences.Adopt(nil); err != nil {
			return err
		}
	}
	view, id := p.cfg.Fences.View()
	s.at = max(s.at, p.clock.now())
	s.number, s.view = r.newest+1, id
	r.found.Number, r.found.At = s.number, int64(s.at)
	for q, t := range p.partitions {
		if view != p.seen.Load() || r.next[q] > r.newest {
			t.SetView(view, s.at)
		}
		for t.More() {
			t.events, _ = t.Step(t.events[:0], fold.StepEvents) // events of the loss
		}
		t.events = nil
		state, err := p.export(q)
		for range 2 { // in place of both that are kept, as the records behind the older one are gone
			if err == nil {
				err = p.cfg.Journal.SaveCheckpoint(q, s.number, state)
			}
		}
		if err != nil {
			return fmt.Errorf("the state of partition %d: %w", q, err)
		}
	}
	if err := p.replaceLatches(); err != nil {
		return err
	}
	return p.saveSessions()
}
