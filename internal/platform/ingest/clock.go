package ingest

import (
	"log/slog"
	"sync"
	"time"

	"paddock/fence/track"
)

// maxStep is the largest step of the system's clock that the time of the fold follows.
const maxStep track.Millis = 60_000

// clock is the time of the fold. It never goes back, and follows the system's clock: small steps at
// once, steps of more than maxStep not at all, as they would end every silence or none. Then it
// advances with the monotonic clock until both agree again.
type clock struct {
	system func() (wall time.Time, passed time.Duration) // passed by the monotonic clock
	logger *slog.Logger

	mu     sync.Mutex
	offset track.Millis // of the wall clock to the monotonic one, when they last agreed
	last   track.Millis
	apart  bool
}

func newClock(logger *slog.Logger, wall func() time.Time) *clock {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	if wall == nil {
		wall = time.Now
	}
	begun := time.Now()
	return &clock{
		system: func() (time.Time, time.Duration) { return wall(), time.Since(begun) },
		logger: logger, offset: track.MillisOf(wall()),
	}
}

// now returns the time, which is not before an earlier one.
func (c *clock) now() track.Millis {
	c.mu.Lock()
	defer c.mu.Unlock()
	wall, passed := c.system()
	at, mono := track.MillisOf(wall), track.Millis(passed.Milliseconds())
	step := at - mono - c.offset
	apart := step > maxStep || step < -maxStep
	switch {
	case apart && !c.apart:
		c.logger.Warn("the system's clock was set: the time of events goes on without the step", "step_ms", int64(step))
	case c.apart && !apart:
		c.logger.Info("the system's clock agrees with the time of events again")
	}
	if c.apart = apart; apart {
		at = c.offset + mono
	} else {
		c.offset = at - mono
	}
	c.last = max(c.last, at)
	return c.last
}

// atLeast makes t a time that has been: later ones are not before it.
func (c *clock) atLeast(t track.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, t)
}
