package ingest

import (
	"log/slog"
	"sync"
	"time"

	"paddock/fence/track"
)

// maxStep is the largest step of the system's clock that the time of the fold follows at once.
const maxStep = time.Minute

// clock is the time of the fold. It never goes back, and follows the system's clock: small steps
// ahead at once, and steps back at half its speed. A step of more than maxStep would end every
// silence or none, so time goes on without it, and then runs at twice or half the speed of the
// system's clock until the two agree.
type clock struct {
	system func() (wall time.Time, passed time.Duration) // passed by the monotonic clock
	logger *slog.Logger

	mu     sync.Mutex
	offset time.Duration // of the time, since 1970, to the monotonic clock
	passed time.Duration // at the last call
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
		logger: logger, offset: sinceEpoch(wall()),
	}
}

// sinceEpoch returns the time since 1970.
func sinceEpoch(t time.Time) time.Duration { return time.Duration(t.UnixNano()) }

// now returns the time, which is not before an earlier one.
func (c *clock) now() track.Millis {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, track.Millis(c.exact().Milliseconds()))
	return c.last
}

// instant returns the time with more digits.
func (c *clock) instant() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Unix(0, int64(c.exact()))
}

// exact returns the time since 1970. The caller has the lock.
func (c *clock) exact() time.Duration {
	wall, passed := c.system()
	since := passed - c.passed
	c.passed = passed
	step := sinceEpoch(wall) - passed - c.offset
	apart := step > maxStep || step < -maxStep
	switch {
	case apart && !c.apart:
		c.logger.Warn("the system's clock differs from the time of events, which nears it slowly: a restart takes over a clock that is ahead", "step_ms", step.Milliseconds())
	case c.apart && !apart:
		c.logger.Info("the system's clock agrees with the time of events again")
	}
	if c.apart = apart; apart {
		step = min(step, since)
	}
	c.offset += max(step, -since/2)
	return c.offset + passed
}

// atLeast makes t a time that has been: if the clock is behind, time goes on from t.
func (c *clock) atLeast(t track.Millis) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, t)
	_, passed := c.system()
	if at := time.Duration(t) * time.Millisecond; at > c.offset+passed {
		c.offset = at - passed
	}
}
