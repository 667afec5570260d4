package ingest

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"slices"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/subjects"
)

// Verified counts what Verify has found to be right.
type Verified struct {
	Records, Positions, Events, Checkpoints int
	// Unstored counts events of the last records that a crash has taken. The next start stores
	// them.
	Unstored int
	// Gaps counts the places where events are lost, which was accepted. Behind the last one the
	// records begin.
	Gaps int
	// Whole reports that the records from the first one on are there, so that all of the state was
	// computed again.
	Whole bool
}

// ErrDiffers is wrapped where a replay gives another result than the one that is stored.
var ErrDiffers = errors.New("the replay differs")

// Verify applies the records of a journal again, from the older checkpoint of each partition on,
// and compares events and later checkpoints with the stored ones. Nothing is written. Of the
// configuration it uses Journal and Fences. progress is called now and then with the number of a
// record.
func Verify(cfg Config, progress func(number, newest uint64)) (Verified, error) {
	v := &verifier{p: build(cfg), log: cfg.Journal}
	v.p.folding.store.replaying = true
	if err := v.begin(); err != nil {
		return v.found, err
	}
	_, newest := v.log.Bounds()
	var failure error
	v.p.folding.store.check = func(p journal.Piece) {
		if failure == nil && p.At.Number >= v.whole {
			failure = v.compare(p)
		}
	}
	next, stop := iter.Pull2(v.pieces())
	defer stop()
	v.next = next
	err := parsedRecords(v.log, v.from, func(number uint64, in *input) error {
		if err := errors.Join(v.p.replay(number, in, &v.first), failure); err != nil {
			return err
		}
		v.found.Records++
		v.found.Positions += len(in.positions)
		if progress != nil {
			progress(number, newest)
		}
		return v.checkpoints(number)
	})
	if err != nil {
		return v.found, err
	}
	if p, err, more := v.next(); err != nil {
		return v.found, err
	} else if more {
		return v.found, fmt.Errorf("%w: the events of record %d are stored, and no record causes them", ErrDiffers, p.At.Number)
	}
	return v.found, nil
}

// verifier is the state of Verify.
type verifier struct {
	p     *Pipeline
	log   journal.Journal
	found Verified

	first [subjects.Partitions]uint64 // record from which on a partition is computed
	from  uint64                      // the least of them
	whole uint64                      // the greatest of them: events are compared from it on
	next  func() (journal.Piece, error, bool)
	saved map[uint64][]int // partitions whose state was saved after a record, by its number
}

// begin loads the older checkpoints.
func (v *verifier) begin() error {
	oldest, _ := v.log.Bounds()
	v.saved = map[uint64][]int{}
	for q := range v.p.partitions {
		states, err := v.log.Checkpoints(q)
		if err != nil {
			return err
		}
		for _, c := range states {
			v.saved[c.Number] = append(v.saved[c.Number], q)
		}
		v.first[q] = 1
		if oldest > 1 {
			if len(states) == 0 {
				return fmt.Errorf("%w: partition %d has no checkpoint, and its first records are gone", journal.ErrDamaged, q)
			}
			c := states[len(states)-1]
			if v.first[q], err = v.p.load(q, c); err != nil {
				return fmt.Errorf("checkpoint %d of partition %d: %w", c.Number, q, err)
			}
		}
	}
	v.from, v.whole = slices.Min(v.first[:]), slices.Max(v.first[:])
	v.found.Whole = oldest == 1
	v.p.beginSeveral(v.whole - 1)
	return nil
}

// pieces yields the stored pieces whose events are compared.
func (v *verifier) pieces() iter.Seq2[journal.Piece, error] {
	return func(yield func(journal.Piece, error) bool) {
		err := v.log.Pieces(0, func(p journal.Piece) error {
			switch {
			case p.Gap:
				v.found.Gaps++
			case p.At.Number >= v.whole && !yield(p, nil):
				return journal.ErrEnough
			}
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrEnough) {
			yield(journal.Piece{}, err)
		}
	}
}

// compare compares a computed piece with the next stored one.
func (v *verifier) compare(p journal.Piece) error {
	stored, err, more := v.next()
	switch {
	case err != nil:
		return err
	case !more:
		v.found.Unstored += p.Count
		return nil
	case stored.At != p.At || stored.Last != p.Last || stored.Count != p.Count || stored.Time != p.Time:
		return fmt.Errorf("%w: %d events at %v of record %d, stored are %d at %v of record %d; the first are %s and %s",
			ErrDiffers, p.Count, p.At.Piece, p.At.Number, stored.Count, stored.At.Piece, stored.At.Number, firstEvent(p), firstEvent(stored))
	case !bytes.Equal(stored.Events, p.Events):
		return fmt.Errorf("%w: %w", ErrDiffers, firstDifference(stored, p))
	}
	v.found.Events += p.Count
	return nil
}

// firstEvent returns the first event of a piece.
func firstEvent(p journal.Piece) string {
	r, _, err := events.ParseRecord(p.Events)
	if err != nil {
		return err.Error()
	}
	return string(r.JSON.Bytes())
}

// firstDifference describes the first event that is not the stored one.
func firstDifference(stored, computed journal.Piece) error {
	a, b := stored.Events, computed.Events
	for n := range stored.Count {
		x, restA, errA := events.ParseRecord(a)
		y, restB, errB := events.ParseRecord(b)
		if err := errors.Join(errA, errB); err != nil {
			return err
		}
		if !bytes.Equal(x.JSON.Bytes(), y.JSON.Bytes()) {
			return fmt.Errorf("event %d is stored as %s, computed as %s", stored.First+uint64(n), x.JSON.Bytes(), y.JSON.Bytes())
		}
		a, b = restA, restB
	}
	return errors.New("the same events are stored in another form")
}

// same reports whether two states of a partition are one. An earlier version of this program may
// have written the stored one, so it is compared as this version writes it.
func (v *verifier) same(q int, computed, stored []byte) (bool, error) {
	if bytes.Equal(computed, stored) {
		return true, nil
	}
	r := newReader(stored)
	options, id := r.bytes(), r.bytes()
	o, err := decodeOptions(options)
	if r.Failed || err != nil {
		return false, errors.Join(track.ErrState, err)
	}
	view := &track.View{}
	if len(id) > 0 {
		if view, err = v.p.cfg.Fences.Decode(id); err != nil {
			return false, err
		}
	}
	again := track.NewShard(o)
	if err := again.Import(r.Rest, view); err != nil {
		return false, fmt.Errorf("partition %d: %w", q, err)
	}
	stored, err = again.Export(appendBytes(appendBytes(nil, options), id))
	return bytes.Equal(computed, stored), err
}

// checkpoints compares the states of partitions that were saved after a record.
func (v *verifier) checkpoints(number uint64) error {
	for _, q := range v.saved[number] {
		if v.first[q] > number {
			continue
		}
		states, err := v.log.Checkpoints(q)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(states, func(c journal.Checkpoint) bool { return c.Number == number })
		state, err := v.p.export(q)
		if err != nil {
			return err
		}
		if same, err := v.same(q, state, states[i].State); err != nil {
			return err
		} else if !same {
			return fmt.Errorf("%w: the state of partition %d after record %d", ErrDiffers, q, number)
		}
		v.found.Checkpoints++
	}
	return nil
}
