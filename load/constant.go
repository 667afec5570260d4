package load

import (
	"fmt"
	"math"
	"time"
)

// Constant is arrivals at equal distances: number k is due at k / PerSecond seconds.
type Constant struct {
	PerSecond float64
	For       time.Duration // 0 = without end
}

// Stripe yields every of-th arrival.
func (c Constant) Stripe(part, of int) Stripe {
	return &constantStripe{c, int64(part), int64(of)}
}

type constantStripe struct {
	Constant
	next, step int64
}

func (s *constantStripe) Next() (time.Duration, bool) {
	at := time.Duration(math.Round(float64(s.next) * float64(time.Second) / s.PerSecond))
	if s.For > 0 && at >= s.For {
		return 0, false
	}
	s.next += s.step
	return at, true
}

// Rate is the same all the time.
func (c Constant) Rate(at time.Duration) float64 {
	if c.For > 0 && at >= c.For {
		return 0
	}
	return c.PerSecond
}

// Length is For.
func (c Constant) Length() time.Duration { return c.For }

// String is like "1000/s".
func (c Constant) String() string { return fmt.Sprintf("%g/s", c.PerSecond) }
