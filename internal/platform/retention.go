package platform

import (
	"context"
	"fmt"
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

// tendJournal refuses positions and changes while the disk is nearly full, and removes old events.
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
		case now := <-retention.C:
			if err := p.removeOldEvents(now); err != nil {
				p.log.Warn("old events are not removed", "error", err)
			}
		case <-ctx.Done():
			return nil
		}
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
	most := uint64(p.cfg.Journal.MaxBytes)
	if most == 0 {
		used, free, err := p.journal.Usage()
		if err != nil {
			return 0, nil //nolint:nilerr // the size of the disk is unknown
		}
		most = (used + free) / 5
	}
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
