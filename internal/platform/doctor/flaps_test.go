package doctor

import (
	"fmt"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// change is the event of an object that enters or leaves a fence at a second.
func change(object, fence string, kind track.Kind, reason track.Reason, second int64) events.Record {
	return events.Record{
		Set: "depots", Fence: fence, Fleet: "default", Object: object, Kind: kind,
		Visit: events.Visit{At: track.Millis(second * 1000), Reason: reason},
	}
}

// TestFlapping counts changes of one object in one fence within ten minutes, and no others.
func TestFlapping(t *testing.T) {
	const now = 1_700_000_000
	f := NewFlaps()
	comeAndGo := func(object, fence string, reason track.Reason, changes, every int64) {
		for i := range changes {
			f.Observe([]events.Record{change(object, fence, track.Enter-track.Kind(i%2), reason, now-(changes-1-i)*every)})
		}
	}
	comeAndGo("flaps", "a", track.Move, 9, 50)
	comeAndGo("parks", "a", track.Move, FlapChanges-1, 1)
	comeAndGo("is silent", "a", track.TTL, 9, 50)
	comeAndGo("is slow", "a", track.Move, 9, 301)
	for i := range int64(9) {
		f.Observe([]events.Record{change("drives on", fmt.Sprint(i), track.Enter, track.Move, now-9+i)})
		f.Observe([]events.Record{change("dwells", "a", track.Dwell, track.Move, now-9+i)})
	}
	all, overlooked := f.List(time.Unix(now, 0))
	if len(all) != 1 || overlooked != 0 {
		t.Fatalf("%+v, %d overlooked", all, overlooked)
	}
	want := Flapping{Set: "depots", Fence: "a", Fleet: "default", Object: "flaps", Changes: 9, Last: time.Unix(now, 0).UTC(), Longest: 50 * time.Second}
	if all[0] != want {
		t.Errorf("got  %+v\nwant %+v", all[0], want)
	}
	if all, _ := f.List(time.Unix(now+700, 0)); len(all) != 0 {
		t.Errorf("it has ended: %+v", all)
	}
}

// TestFlappingAmongMany finds one object that flaps among a hundred thousand that do not: its cell
// is not taken by others.
func TestFlappingAmongMany(t *testing.T) {
	const now = 1_700_000_000
	f := NewFlaps()
	for i := range 100_000 {
		f.Observe([]events.Record{change(fmt.Sprint("bus-", i), "a", track.Enter, track.Move, now)})
		if i%5_000 == 0 {
			f.Observe([]events.Record{change("flaps", "a", track.Kind(i/5_000%2), track.Move, now)})
		}
	}
	if all, _ := f.List(time.Unix(now, 0)); len(all) != 1 || all[0].Changes != 20 {
		t.Errorf("%+v", all)
	}
}

// TestFlappingIsBounded makes more objects flap than are named.
func TestFlappingIsBounded(t *testing.T) {
	const now = 1_700_000_000
	f := NewFlaps()
	for i := range maxNamed + 100 {
		for k := range flapTimes + 9 {
			f.Observe([]events.Record{change(fmt.Sprint(i), "a", track.Kind(k%2), track.Move, now)})
		}
	}
	all, overlooked := f.List(time.Unix(now, 0))
	if len(all) != maxNamed || overlooked == 0 || all[0].Changes != flapTimes || !all[0].More {
		t.Errorf("%d, %d overlooked, %+v", len(all), overlooked, all[0])
	}
}

// TestCountingDoesNotAllocate: it is done for each event.
func TestCountingDoesNotAllocate(t *testing.T) {
	f := NewFlaps()
	records := []events.Record{change("a", "a", track.Enter, track.Move, 1_700_000_000)}
	if n := testing.AllocsPerRun(1000, func() {
		records[0].Visit.At += 3_600_000
		f.Observe(records)
	}); n != 0 {
		t.Errorf("%v allocations for an event", n)
	}
}

// TestTheAdviceStopsIt: the policy that is advised is longer than the longest stay.
func TestTheAdviceStopsIt(t *testing.T) {
	raw, steady := track.Policy{}, track.Policy{Fixes: 3, Metres: 25}
	facts := &Facts{Policy: func(set string) *track.Policy {
		if set == "raw" {
			return &raw
		}
		return &steady
	}}
	for _, c := range []struct {
		set     string
		longest time.Duration
		want    string
	}{
		{"raw", 30 * time.Second, "steady, against the errors of a receiver; or dwell:1m"},
		{"s", 30 * time.Second, "dwell:1m"},
		{"s", time.Minute, "dwell:2m"},
		{"s", 9 * time.Minute, "dwell:10m"},
	} {
		if got := facts.calm(&Flapping{Set: c.set, Longest: c.longest}); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
