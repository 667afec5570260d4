package ingest

import (
	"context"

	"golang.org/x/sync/semaphore"
)

// room bounds the positions that are accepted and not applied, see Config.MaxWaiting. Batches that
// wait for room leave a quarter of it: TrySubmit would refuse its batches meanwhile.
type room struct {
	shared, spare *semaphore.Weighted
	most          int64 // that a batch counts as
}

func newRoom(size int) room {
	quarter := int64(size) / 4
	return room{semaphore.NewWeighted(int64(size) - quarter), semaphore.NewWeighted(quarter), max(1, quarter)}
}

// propsWeight is the number of bytes of props that count as a position: about its own memory.
const propsWeight = 256

// weight returns what a batch counts as.
func (r *room) weight(b *Batch) int64 {
	all := int64(len(b.Positions))
	for i := range b.Positions {
		all += int64(len(b.Positions[i].Props) / propsWeight)
	}
	return min(all, r.most)
}

// await takes room for a batch, or returns an error when ctx ends.
func (r *room) await(ctx context.Context, pd *pending) error {
	if err := r.shared.Acquire(ctx, pd.weight); err != nil {
		return err
	}
	pd.room, pd.holds = r.shared, pd.weight
	return nil
}

// try takes room for a batch, if there is some.
func (r *room) try(pd *pending) bool {
	for _, part := range []*semaphore.Weighted{r.shared, r.spare} {
		if part.TryAcquire(pd.weight) {
			pd.room, pd.holds = part, pd.weight
			return true
		}
	}
	return false
}

// leave gives back the room of positions with an outcome. The caller has the turn to apply.
func (pd *pending) leave() {
	left, all := int64(pd.left.Load()-1), int64(len(pd.outcomes))
	pd.leaveAllBut((pd.weight*left + all - 1) / max(1, all))
}

// leaveAllBut gives back room. The caller has the turn to apply, or the batch is in no record.
func (pd *pending) leaveAllBut(rest int64) {
	if n := pd.holds - rest; n > 0 {
		pd.holds = rest
		pd.room.Release(n)
	}
}
