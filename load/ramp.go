package load

import (
	"fmt"
	"math"
	"time"
)

// Ramp is arrivals whose rate goes evenly from one value to another: number k is due when
// the integral of the rate has reached k.
type Ramp struct {
	From, To float64 // per second; not both 0
	For      time.Duration
}

// Stripe yields every of-th arrival.
func (r Ramp) Stripe(part, of int) Stripe { return &rampStripe{r, int64(part), int64(of)} }

type rampStripe struct {
	Ramp
	next, step int64
}

// Next solves from*t + (to-from)/(2*for) * t^2 = k, in the form that does not cancel.
func (s *rampStripe) Next() (time.Duration, bool) {
	k, bend := float64(s.next), (s.To-s.From)/s.For.Seconds()
	under := s.From*s.From + 2*bend*k
	if under < 0 {
		return 0, false // a falling ramp has ended before
	}
	t := 0.0
	if k > 0 {
		t = 2 * k / (s.From + math.Sqrt(under))
	}
	at := time.Duration(t * float64(time.Second))
	if at >= s.For {
		return 0, false
	}
	s.next += s.step
	return at, true
}

// Rate is what the ramp has reached.
func (r Ramp) Rate(at time.Duration) float64 {
	if at >= r.For {
		return 0
	}
	return r.From + (r.To-r.From)*at.Seconds()/r.For.Seconds()
}

// Length is For.
func (r Ramp) Length() time.Duration { return r.For }

// String is like "100..1000/s over 30s".
func (r Ramp) String() string { return fmt.Sprintf("%g..%g/s over %v", r.From, r.To, r.For) }
