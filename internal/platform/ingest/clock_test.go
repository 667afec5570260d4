package ingest

import (
	"testing"
	"time"

	"paddock/fence/track"
)

// The time follows small steps of the system's clock and ignores large ones, and never goes back.
func TestClock(t *testing.T) {
	begun := time.Unix(1_700_000_000, 0)
	var s struct{ mono, step time.Duration } // passed, and by which the wall clock was set
	c := newClock(nil, nil)
	c.offset = track.MillisOf(begun)
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
	s.mono = 8 * time.Second
	at(13 * time.Second)
	s.step = -time.Hour // large ones are not
	at(13 * time.Second)
	s.mono = 20 * time.Second
	at(25 * time.Second)
	s.step = time.Hour
	at(25 * time.Second)
	s.step, s.mono = 6*time.Second, 30*time.Second // both agree again
	at(36 * time.Second)
	c.atLeast(track.MillisOf(begun.Add(50 * time.Second))) // of a record that was restored
	at(50 * time.Second)
}
