package load

import (
	"fmt"
	"time"
)

// Burst is arrivals that come many at once: Size of them at the start and then after each
// Every.
type Burst struct {
	Size  int64
	Every time.Duration
	For   time.Duration // 0 = without end
}

// Stripe yields every of-th arrival.
func (b Burst) Stripe(part, of int) Stripe { return &burstStripe{b, int64(part), int64(of)} }

type burstStripe struct {
	Burst
	next, step int64
}

func (s *burstStripe) Next() (time.Duration, bool) {
	at := time.Duration(s.next/s.Size) * s.Every
	if s.For > 0 && at >= s.For {
		return 0, false
	}
	s.next += s.step
	return at, true
}

// Rate is the mean over a period.
func (b Burst) Rate(at time.Duration) float64 {
	return Constant{float64(b.Size) / b.Every.Seconds(), b.For}.Rate(at)
}

// Length is For.
func (b Burst) Length() time.Duration { return b.For }

// String is like "burst 50 every 1s".
func (b Burst) String() string { return fmt.Sprintf("burst %d every %v", b.Size, b.Every) }
