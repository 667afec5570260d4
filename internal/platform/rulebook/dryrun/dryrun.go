// Package dryrun applies positions to fences, policies and rules from an empty state, and tells the
// events that they cause. It is the dry run of the API and of the command line: the tracker is that
// of the platform, and nothing is kept.
package dryrun

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/fold"
	"paddock/internal/platform/rulebook"
)

// stepEvents is the number of events of postponed work that are told at once.
const stepEvents = 10_000

// Count is the number of positions by their outcome.
type Count struct {
	Positions int `json:"positions"` // with the rejected ones
	Accepted  int `json:"accepted"`
	Late      int `json:"late"`
	Outliers  int `json:"outliers"`
}

// MaxEvents bounds the events of Encode.
const MaxEvents = 10_000

// Events are the events of a dry run, as CloudEvents.
type Events struct {
	Events    []json.RawMessage `json:"events"`
	Truncated bool              `json:"truncated,omitempty"` // there are more than MaxEvents
}

// View returns the fences of a catalog with the policies and rules of a state. A policy that is not
// nil takes the place of those of all sets.
func View(c *fence.Catalog, s *rulebook.State, p *track.Policy) *track.View {
	view := &track.View{}
	for set := range c.All() {
		policy := p
		if policy == nil {
			policy, _, _ = s.Policy(set.Name())
		}
		view.Sets = append(view.Sets, track.TrackedSet{
			ID: track.SetID(len(view.Sets)), Name: set.Name(), Snapshot: set.Snapshot(), Policy: policy,
		})
	}
	if s.Rules().Len() > 0 {
		view.Rules = s.Rules()
	}
	return view
}

// maxSpan bounds the time of a dry run: schedules open and close in each hour of it.
const maxSpan = 400 * 24 * time.Hour

// ErrSpan: the positions are of a longer time than a dry run covers.
var ErrSpan = errors.New("a dry run covers 400 days at most")

// checkSpan refuses positions of a time longer than maxSpan.
func checkSpan(positions []track.Position) error {
	if len(positions) == 0 {
		return nil
	}
	byTime := func(a, b track.Position) int { return cmp.Compare(a.Time, b.Time) }
	first, last := slices.MinFunc(positions, byTime).Time, slices.MaxFunc(positions, byTime).Time
	if last.Time().Sub(first.Time()) > maxSpan {
		return fmt.Errorf("%w: the oldest position is of %s, the newest of %s", ErrSpan, first.Time().Format(time.RFC3339), last.Time().Format(time.RFC3339))
	}
	return nil
}

// Run applies positions, and calls tell for each event. Each position arrives at its own time, or
// at that of a newer one of its object that stands before it: so it is late. Run sorts positions by
// this time. The time ends with the last position, or when that has waited for older ones. An event
// is valid until tell returns. The error wraps ErrSpan, or is that of ctx.
func Run(ctx context.Context, view *track.View, positions []track.Position, tell func(*track.Event)) (Count, error) {
	if err := checkSpan(positions); err != nil {
		return Count{}, err
	}
	arrive(positions)
	part := fold.NewPartition(track.Options{})
	r := run{
		ctx: ctx, shard: part.Shard, part: part, second: fold.NewSecond(), view: view,
		tell: tell, count: Count{Positions: len(positions)},
	}
	for i := range positions {
		if ctx.Err() != nil {
			break
		}
		p := &positions[i]
		if i == 0 {
			r.shard.SetView(view, p.Arrived)
		}
		r.apply(p)
	}
	r.advance(r.shard.Now() + holdOf(view))
	return r.count, ctx.Err()
}

// arrive sets when positions arrive, and sorts them by it. A file may have the objects one after
// the other.
func arrive(positions []track.Position) {
	type object struct{ fleet, id string }
	newest := map[object]track.Millis{}
	for i := range positions {
		p := &positions[i]
		o := object{p.Fleet, p.ID}
		p.Arrived = p.Time
		if at, known := newest[o]; known {
			p.Arrived = max(p.Time, at)
		}
		newest[o] = p.Arrived
	}
	slices.SortStableFunc(positions, func(a, b track.Position) int { return cmp.Compare(a.Arrived, b.Arrived) })
}

// holdOf returns for how long a position waits for older ones.
func holdOf(view *track.View) (hold track.Millis) {
	for i := range view.Sets {
		if p := view.Sets[i].Policy; p != nil && p.Late == track.LateReorder {
			hold = max(hold, track.Millis(p.Reorder.Milliseconds()))
		}
	}
	return hold
}

// Encode is Run with the events as JSON.
func Encode(ctx context.Context, view *track.View, positions []track.Position) (count Count, told Events, err error) {
	told.Events = []json.RawMessage{}
	count, err = Run(ctx, view, positions, func(e *track.Event) {
		if told.Truncated = len(told.Events) == MaxEvents; !told.Truncated {
			rec := events.NewRecord(e, "dry")
			told.Events = append(told.Events, rec.JSON.Bytes())
		}
	})
	return count, told, err
}

type run struct {
	ctx    context.Context
	shard  *track.Shard // of part
	part   *fold.Partition
	second *fold.Second
	view   *track.View
	record uint64 // the second fold is asked after each position, as if it were a record
	tell   func(*track.Event)
	events []track.Event
	count  Count
}

// apply applies a position after the events that are due before it.
func (r *run) apply(p *track.Position) {
	r.advance(p.Arrived)
	var outcome track.Outcome
	outcome, r.events = r.shard.Apply(p, r.events)
	switch outcome {
	case track.Accepted, track.Held:
		r.count.Accepted++
	case track.Outlier:
		r.count.Outliers++
	default:
		r.count.Late++
	}
	r.take()
}

// advance lets time pass, from one deadline to the next: what happens at one of them, such as the
// arrival of a position that has waited, happens at that time.
func (r *run) advance(to track.Millis) {
	for due, ok := r.shard.Due(); ok && due < to && r.ctx.Err() == nil; due, ok = r.shard.Due() {
		r.shard.Advance(due)
		r.settle()
	}
	r.shard.Advance(to)
	r.settle()
}

// settle does the postponed work, until the context ends.
func (r *run) settle() {
	for more := true; more && r.ctx.Err() == nil; {
		r.events, more = r.shard.Step(r.events, stepEvents)
		r.take()
	}
}

// take tells the events that came out of the shard, and then those about several objects.
func (r *run) take() {
	r.record++
	r.second.Take(r.part)
	r.events, _ = r.second.End(fold.Round{Number: r.record, At: r.shard.Now(), View: r.view}, r.events)
	for i := range r.events {
		r.tell(&r.events[i])
	}
	r.events = r.events[:0]
}
