package wire

import (
	"math/rand/v2"
	"time"

	"paddock/internal/wire/machine"
)

const (
	defaultMinBackoff = 200 * time.Millisecond
	defaultMaxBackoff = 30 * time.Second
	// defaultHealthy is how long a connection lives that was not a failure.
	defaultHealthy = 30 * time.Second
	// maxRetryAfter bounds how long a peer can make us wait; it may have meant 49
	// days.
	maxRetryAfter = time.Hour
)

// backoff says how long to wait before the next attempt: a random part of a time
// that doubles with each failure ("full jitter"), so that those who were cut off
// together do not come back together.
type backoff struct {
	min, max, healthy time.Duration
	failures          int
	random            func() float64 // in [0, 1)
}

func newBackoff(least, most, healthy time.Duration) backoff {
	return backoff{min: least, max: most, healthy: healthy, random: rand.Float64}
}

// after is the wait after a connection that lived so long, 0 if there was none.
// A healthy one makes the failures before it count no more; if it was drained, the
// next one is made at once, or when the peer has said.
func (b *backoff) after(lived time.Duration, drained bool, away machine.Goaway) time.Duration {
	healthy := lived >= b.healthy
	if healthy {
		b.failures = 0
	}
	wait := time.Duration(0)
	if !drained || !healthy {
		ceiling := b.max
		if doubled := b.min << min(b.failures, 30); doubled > 0 {
			ceiling = min(doubled, b.max)
		}
		wait = b.part(ceiling)
		b.failures++
	}
	return max(wait, min(away.RetryAfter, maxRetryAfter)+b.part(min(away.Jitter, maxRetryAfter)))
}

func (b *backoff) part(d time.Duration) time.Duration { return time.Duration(b.random() * float64(d)) }
