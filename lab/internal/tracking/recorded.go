package tracking

import (
	"context"
	"os"
	"slices"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/ingest"
)

// soon is the time within which an enter after an exit is a return.
const soon = track.Millis(5 * 60_000)

// replay applies recorded positions, by their time, under each policy.
func (b *bench) replay(ctx context.Context) error {
	text, err := os.ReadFile(b.File)
	if err != nil {
		return err
	}
	dec := ingest.Decoder{Arrived: track.MillisOf(time.Now()), MaxAhead: track.Millis(time.Minute.Milliseconds())}
	batch, err := dec.Decode(text)
	if err != nil {
		return err
	}
	slices.SortStableFunc(batch.Positions, func(x, y track.Position) int { return int(max(min(x.Time-y.Time, 1), -1)) })
	for _, policy := range b.Policies {
		v, err := b.view(policy)
		if err != nil {
			return err
		}
		b.Say("%s: %d positions", policy, len(batch.Positions))
		r := count(ctx, v, batch.Positions)
		r.Policy, r.Rejected = policy, len(batch.Rejected)+batch.Omitted
		b.report.Recorded = append(b.report.Recorded, r)
	}
	return ctx.Err()
}

// count applies positions, each at its own time, and counts the events.
func count(ctx context.Context, v *track.View, positions []track.Position) Recorded {
	r := Recorded{Events: map[string]int{}}
	shard := track.NewShard(track.Options{})
	left, returns := map[[3]string]track.Millis{}, map[FenceReturns]int{}
	var events []track.Event
	for i := range positions {
		if i%4096 == 0 && ctx.Err() != nil {
			break
		}
		p := positions[i]
		p.Arrived = p.Time
		if i == 0 {
			shard.SetView(v, p.Arrived)
		}
		var outcome track.Outcome
		events = settle(shard, p.Arrived, events[:0])
		outcome, events = shard.Apply(&p, events)
		r.take(outcome)
		for k := range events {
			e := &events[k]
			r.Events[e.Kind.String()]++
			visit := [3]string{e.Fleet + "/" + e.ID, e.Set, e.Fence.Key}
			switch at, was := left[visit]; {
			case e.Kind == track.Exit:
				left[visit] = e.At
			case e.Kind == track.Enter && was && e.At-at <= soon:
				r.Returns++
				returns[FenceReturns{Set: e.Set, Fence: e.Fence.Key}]++
			}
		}
	}
	r.Worst = worst(returns)
	return r
}

func (r *Recorded) take(o track.Outcome) {
	r.Positions++
	switch o {
	case track.Late, track.Past:
		r.Late++
	case track.Outlier:
		r.Outliers++
	}
}
