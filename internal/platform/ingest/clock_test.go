package ingest

import (
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/journal"
)

// The time follows small steps of the system's clock and ignores large ones. It never goes back,
// and never stands still: positions without a time of their own would be late.
func TestClock(t *testing.T) {
	begun := time.Unix(1_700_000_000, 0)
	var s struct{ mono, step time.Duration } // passed, and by which the wall clock was set
	c := newClock(nil, nil)
	c.offset = sinceEpoch(begun)
	c.system = func() (time.Time, time.Duration) { return begun.Add(s.mono + s.step), s.mono }
	at := func(want time.Duration) {
		t.Helper()
		if got := c.now(); got != track.MillisOf(begun.Add(want)) {
			t.Errorf("after %v, set by %v: %v, want %v", s.mono, s.step, got.Time().Sub(begun), want)
		}
	}
	at(0)
	s.mono = time.Second
	at(time.Second)
	s.step = 10 * time.Second // small steps are followed
	at(11 * time.Second)
	s.step = 5 * time.Second // but time does not go back
	at(11 * time.Second)
	s.mono = 8 * time.Second // it goes half as fast
	at(14500 * time.Millisecond)
	s.step = -time.Hour // after a large one time goes on, half as fast until both agree
	at(14500 * time.Millisecond)
	s.mono = 28 * time.Second
	at(24500 * time.Millisecond)
	s.step = time.Hour // or twice as fast
	at(24500 * time.Millisecond)
	s.mono = 38 * time.Second
	at(44500 * time.Millisecond)
	s.step, s.mono = 6*time.Second, 40*time.Second // both agree again
	at(46 * time.Second)
	c.atLeast(track.MillisOf(begun.Add(50 * time.Second))) // of a record that was restored
	at(50 * time.Second)
	s.mono = 45 * time.Second
	at(52500 * time.Millisecond)
	c.atLeast(track.MillisOf(begun.Add(time.Hour))) // time does not wait an hour for the clock
	s.mono = 55 * time.Second
	at(time.Hour + 5*time.Second)
}

// However often the clock is read, time nears the system's clock, and agrees with it in the end.
func TestClockNears(t *testing.T) {
	for _, step := range []time.Duration{-2 * time.Hour, 2 * time.Hour} {
		begun := time.Unix(1_700_000_000, 0)
		passed := time.Duration(0)
		c := newClock(nil, nil)
		c.offset = sinceEpoch(begun)
		c.system = func() (time.Time, time.Duration) { return begun.Add(passed + step), passed }
		last := c.now()
		for c.apart && passed < 5*time.Hour {
			passed += 50 * time.Millisecond
			next := c.now()
			if d := next - last; c.apart && (d < 0 || d > 100) {
				t.Fatalf("by %d ms in 50", d)
			}
			last = next
		}
		if want := track.MillisOf(begun.Add(passed + step)); c.apart || max(want-last, last-want) > 60_000 {
			t.Errorf("a step of %v: %v after %v", step, last.Time(), passed)
		}
	}
}

// After a restart with a clock that is behind, time goes on from that of the state.
func TestClockBehindTheState(t *testing.T) {
	log := journal.NewMemory()
	p, _ := openOn(t, Config{}, log, func(c *fence.Catalog) { addSet(t, c, "zone", unitSquare("a", 0)) })
	p.Start(&published{})
	submit(t, p, fixes("v", 1, 1))
	crashed := log.Clone()
	p.Close(t.Context())
	_, last := p.Applied()
	for name, log := range map[string]journal.Journal{"after an end": log, "after a crash": crashed} {
		behind := -2 * time.Hour
		p, _ := openOn(t, Config{Now: func() time.Time { return time.Now().Add(behind) }}, log, nil)
		if now := p.clock.now(); now < last || now > last+60_000 {
			t.Errorf("%s: %v, %v is known", name, now.Time(), last.Time())
		}
		_, passed := p.clock.system()
		p.clock.system = func() (time.Time, time.Duration) {
			return time.Now().Add(behind).Add(time.Minute), passed + time.Minute
		}
		if now := p.clock.now(); now < last+20_000 {
			t.Errorf("%s: time stands still for two hours", name)
		}
	}
}
