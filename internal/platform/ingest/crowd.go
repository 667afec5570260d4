package ingest

import (
	"math"
	"slices"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// The fold refuses a new object in a partition that has its share of limits.max_objects. Once it
// has, positions of new objects are refused before they are in a record, so that the bound on
// objects also bounds the journal and the history.

// shareOf returns the bound on the objects of a partition for a bound on all, so that the fold of a
// partition depends on nothing beside it. It is a 64th, and room for chance: objects do not spread
// evenly, and a bound of a few objects would otherwise refuse the second one. 0: no bound.
func shareOf(all int) int {
	if all <= 0 {
		return 0
	}
	share := float64(all) / subjects.Partitions
	return int(math.Ceil(share + 4*math.Sqrt(share)))
}

// admit refuses the positions of new objects for which there is no room, and reports whether the
// batch needs a record.
func (p *Pipeline) admit(pd *pending) bool {
	if p.crowds.Load() == 0 {
		return true
	}
	p.state.RLock()
	defer p.state.RUnlock()
	for i := range pd.batch.Positions {
		at := &pd.batch.Positions[i]
		t := p.partitions[subjects.Partition(at.Fleet, at.ID)]
		if t.objects.Load() < int64(t.most) {
			continue
		}
		if _, known := t.Dot(at.Fleet, at.ID); !known {
			pd.refuse(int32(i), outcome(track.Full))
			pd.crowded = true
		}
	}
	if pd.left.Load() > 1 || pd.batch.Handled != nil {
		return true
	}
	pd.count()
	return false
}

// appendKnown appends positions whose objects were not refused.
func (pd *pending) appendKnown(batches [][]track.Position, from, to int) [][]track.Position {
	for from < to {
		n := slices.Index(pd.outcomes[from:to], outcome(track.Full))
		if n < 0 {
			return append(batches, pd.batch.Positions[from:to])
		}
		batches = append(batches, pd.batch.Positions[from:from+n])
		from += n + 1
	}
	return batches
}

// appendKnown appends the positions whose objects were not refused.
func (r *replayed) appendKnown(batches [][]track.Position) [][]track.Position {
	slices.Sort(r.full)
	from := 0
	for _, i := range r.full {
		batches = append(batches, r.positions[from:i])
		from = int(i) + 1
	}
	return append(batches, r.positions[from:])
}
