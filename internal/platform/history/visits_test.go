package history

import (
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// Only an enter begins a visit, and only an exit ends one: a condition that ends with the visit
// does not open it again, and dwelling does not begin one that no exit would end.
func TestEventsOfVisits(t *testing.T) {
	event := func(kind track.Kind, since, at track.Millis, number uint64) events.Record {
		return events.Record{Set: "s", Fence: "f", Object: "v", Kind: kind, Visit: events.Visit{Since: since, At: at, Number: number}}
	}
	c := changes{}
	for _, r := range []events.Record{
		event(track.Enter, 1000, 1000, 1), event(track.ConditionBegin, 2000, 2000, 1), event(track.Dwell, 1000, 3000, 1),
		event(track.Exit, 1000, 4000, 1), event(track.ConditionEnd, 2000, 4000, 0),
		event(track.Dwell, 5000, 6000, 0), event(track.Inside, 5000, 7000, 0),
	} {
		if v, ok := visitOf(&r); ok {
			c.add(&v)
		}
	}
	stored := map[string]bool{}
	for name, value := range c {
		if value != nil {
			stored[name] = true
		}
	}
	visit := Visit{Set: "s", Fence: "f", Object: Object{ID: "v"}, Begin: 1000, End: 4000}
	if len(stored) != 1 || !stored[visit.closedName()] {
		t.Errorf("%v are stored", stored)
	}
}

// Events of no visit take room of the feed until they are taken, and no longer.
func TestFeedOfOtherEvents(t *testing.T) {
	f := feed[Visit]{bound: 10}
	for n := range uint64(100) {
		f.push(n, n+1, 0, 1, func(to []Visit) []Visit { return to })
	}
	if len(f.queue) != f.bound {
		t.Errorf("%d pieces wait", len(f.queue))
	}
	f = feed[Visit]{bound: 10}
	for n := range uint64(100) {
		f.push(n, n+1, 0, 1, func(to []Visit) []Visit { return to })
		if _, _, ok := f.pop(n); !ok {
			t.Fatalf("after %d events the feed is full", n)
		}
	}
}
