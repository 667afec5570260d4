package deliver

import (
	"math/rand/v2"
	"time"
)

// Schedule holds the times of repeated attempts.
type Schedule struct {
	// Waits are the pauses after the first failure in a row, the second, and so on. The last one
	// repeats.
	Waits []time.Duration
	// Jitter is added to a pause, at random: up to this part of it.
	Jitter float64
	// Longest bounds a pause that an end asks for.
	Longest time.Duration
	// GiveUp is the time without a success after which an end is disabled.
	GiveUp time.Duration
	// Refusals is the number of refusals after which a batch is a dead letter.
	Refusals int
}

// Default is the schedule of the platform: 5 s, 30 s, 2 min, 10 min, then each 30 min, for five
// days.
func Default() *Schedule {
	return &Schedule{
		Waits:  []time.Duration{5 * time.Second, 30 * time.Second, 2 * time.Minute, 10 * time.Minute, 30 * time.Minute},
		Jitter: 0.1, Longest: 24 * time.Hour, GiveUp: 5 * 24 * time.Hour, Refusals: 3,
	}
}

// wait returns the pause after a number of failures in a row, of which there is one at least.
func (s *Schedule) wait(failures int, asked time.Duration) time.Duration {
	if asked > 0 {
		return min(asked, s.Longest)
	}
	d := s.Waits[min(failures, len(s.Waits))-1]
	return d + time.Duration(rand.Float64()*s.Jitter*float64(d))
}
