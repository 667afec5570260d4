package platform

import (
	"context"
	"fmt"
	"math"
	"time"

	"paddock/fence/track"
	"paddock/internal/process/config"
)

const (
	// spaceInterval is the time between two looks at the free space of the journal's disk, and
	// retentionInterval between two removals of old events.
	spaceInterval     = time.Second
	retentionInterval = time.Minute
)

// tendJournal refuses positions and changes while the disk is nearly full, and removes what is old.
func (p *Platform) tendJournal(ctx context.Context) error {
	if p.journal == nil {
		return nil
	}
	space, retention := time.NewTicker(spaceInterval), time.NewTicker(retentionInterval)
	defer space.Stop()
	defer retention.Stop()
	for {
		select {
		case <-space.C:
			p.watchSpace()
		case <-retention.C:
			if err := p.journal.Note(); err != nil {
				p.log.Warn("the journal's newest record is not noted", "error", err)
			}
			p.removeOld()
		case <-ctx.Done():
			return nil
		}
	}
}

// removeOld removes the events and the past that are old by the clock, and by the time of records,
// which follows no large step of the clock: so one that is wrong for a while removes nothing.
func (p *Platform) removeOld() {
	now := p.pipeline.Now()
	if records := p.pipeline.Time(); records.Before(now) {
		now = records
	}
	if err := p.removeOldEvents(now); err != nil {
		p.log.Warn("old events are not removed", "error", err)
	}
	if err := p.removeOldHistory(now); err != nil {
		p.log.Warn("old positions are not removed", "error", err)
	}
}

// watchSpace refuses positions, or accepts them again.
func (p *Platform) watchSpace() {
	_, free, err := p.journal.Usage()
	if err != nil {
		return // unknown: a failed write is noticed all the same
	}
	least := p.cfg.Journal.MinFree
	full, was := config.Size(free) < least, p.pipeline.Refusing() != ""
	switch {
	case full && !was:
		reason := fmt.Sprintf("not stored: less than %v are free on the journal's disk", least)
		p.pipeline.Refuse(reason)
		p.log.Error("positions are refused: the journal's disk is nearly full: make room, or lower journal.min_free or journal.keep",
			"dir", p.cfg.Data.Dir, "free", config.Size(free), "min_free", least)
	case was && !full:
		p.pipeline.Refuse("")
		p.log.Info("positions are accepted again", "free", config.Size(free))
	}
}

// removeOldEvents removes the events that are older than journal.keep, or beyond journal.max_bytes.
func (p *Platform) removeOldEvents(now time.Time) error {
	before := uint64(0)
	if keep := p.cfg.Journal.Keep; keep > 0 {
		after, err := p.events.Since(track.MillisOf(now.Add(-keep)))
		if err != nil {
			return err
		}
		before = after + 1
	}
	beyond, err := p.beyondBytes()
	if err != nil {
		return err
	}
	if before = max(before, beyond); before <= p.events.Oldest() {
		return nil
	}
	return p.pipeline.Trim(before)
}

// beyondBytes returns the oldest cursor from which on all events fit into journal.max_bytes, or
// into a fifth of the journal and the free space.
func (p *Platform) beyondBytes() (uint64, error) {
	most := p.share(p.cfg.Journal.MaxBytes)
	low, high := p.events.Oldest(), p.events.Latest()+1
	for low < high {
		middle := low + (high-low)/2
		n, err := p.journal.EventBytes(middle)
		if err != nil {
			return 0, err
		}
		if n > most {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low, nil
}

// share returns a bound in bytes: the given one, or a fifth of the disk.
func (p *Platform) share(bound config.Size) uint64 {
	if bound > 0 {
		return uint64(bound)
	}
	used, free, err := p.journal.Usage()
	if err != nil {
		return math.MaxInt64 // the size of the disk is unknown
	}
	return (used + free) / 5
}

// removeOldHistory removes the days of positions and visits that are older than history.keep, or
// beyond history.max_bytes.
func (p *Platform) removeOldHistory(now time.Time) error {
	var before time.Time
	if keep := p.cfg.History.Keep; keep > 0 {
		before = now.Add(-keep)
	}
	return p.history.Trim(before, p.share(p.cfg.History.MaxBytes), p.journal.ValueBytes)
}

// neededRecord returns the oldest record that the history has not stored. If the records from there
// on take a fifth of the disk, the history does without them, which it counts as a gap.
func (p *Platform) neededRecord() uint64 {
	needed := p.history.Needed()
	if n, err := p.journal.RecordBytes(needed); err == nil && n > p.share(0) {
		return math.MaxUint64
	}
	return needed
}

// followHistory writes the history behind the pipeline.
func (p *Platform) followHistory(ctx context.Context) error {
	if p.history == nil {
		return nil
	}
	return p.history.Run(ctx)
}

// closeHistory writes what the pipeline has left.
func (p *Platform) closeHistory(ctx context.Context) error {
	if p.history == nil {
		return nil
	}
	return p.history.Close(ctx)
}
