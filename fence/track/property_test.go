package track_test

import (
	"fmt"
	"slices"
	"testing"

	"paddock/fence/track"
	"paddock/internal/sampling"
)

// visits checks the events of a history with policies and without rules.
type visits struct {
	inside map[string]uint64 // "object set fence" -> visit
}

func (v *visits) add(t *testing.T, e *track.Event) {
	t.Helper()
	if e.Fence == nil {
		t.Fatalf("without a fence: %+v", e)
	}
	where := fmt.Sprint(e.ID, " ", e.Set, " ", e.Fence.Key)
	visit, in := v.inside[where]
	switch e.Kind {
	case track.Enter:
		if in || e.Visit != e.Seq || e.Since != e.At {
			t.Fatalf("%s: entered again, or as another visit: %+v", where, e)
		}
		v.inside[where] = e.Visit
	case track.Exit:
		if in && visit != e.Visit || !in && e.Visit != 0 {
			t.Fatalf("%s: left visit %d, entered %d", where, e.Visit, visit)
		}
		delete(v.inside, where)
	}
	if e.Since > e.At {
		t.Fatalf("%s: since %d, after %d", where, e.Since, e.At)
	}
	if e.HasPrev && e.Reason != track.Move {
		t.Fatalf("%s: reason %v with a path", where, e.Reason)
	}
}

// New policies and fences come before the work that is due. Even then an object enters and leaves
// a fence in turn, no visit ends before it began, and the number of shards changes nothing.
func TestVisitsOfAbruptHistories(t *testing.T) {
	sampling.Sequential(t)
	for seed := range uint64(60 / sampling.Slowdown) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			h, one, many := newHistory(seed+1000, true), newSpread(1, track.Options{}), newSpread(2+int(seed%15), track.Options{})
			one.abrupt, many.abrupt = true, true
			v := &visits{map[string]uint64{}}
			for n := range 1000 {
				st := h.next()
				// Numbers of new objects follow those of the removed ones in their shard.
				if st.remove != "" {
					continue
				}
				got, _ := one.play(t, st)
				for i := range one.told {
					v.add(t, &one.told[i])
				}
				if other, _ := many.play(t, st); !slices.Equal(got, other) {
					t.Fatalf("step %d: one shard %q\n%d shards %q", n, got, len(many.shards), other)
				}
				if h.IntN(100) == 0 {
					many.move(t)
				}
			}
		})
	}
}
