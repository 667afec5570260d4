package load

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Poisson is arrivals of many users who know nothing of each other: the distances between
// them are drawn from the exponential distribution of the mean 1 / PerSecond. The same Seed
// gives the same arrivals, whatever the number of stripes.
type Poisson struct {
	PerSecond float64
	For       time.Duration // 0 = without end
	Seed      uint64
}

// Stripe draws all arrivals and yields every of-th.
func (p Poisson) Stripe(part, of int) Stripe {
	return &poissonStripe{Poisson: p, rng: rand.New(rand.NewPCG(p.Seed, 0)), skip: part, of: of}
}

type poissonStripe struct {
	Poisson
	rng  *rand.Rand
	at   float64 // s
	skip int     // arrivals of other stripes that come first
	of   int
}

func (s *poissonStripe) Next() (time.Duration, bool) {
	for range s.skip + 1 {
		// -ln U, and not the library's own, whose algorithm may change.
		s.at += -math.Log(1-s.rng.Float64()) / s.PerSecond
	}
	s.skip = s.of - 1
	at := time.Duration(s.at * float64(time.Second))
	return at, s.For == 0 || at < s.For
}

// Rate is the mean.
func (p Poisson) Rate(at time.Duration) float64 { return Constant{p.PerSecond, p.For}.Rate(at) }

// Length is For.
func (p Poisson) Length() time.Duration { return p.For }

// String is like "poisson 1000/s".
func (p Poisson) String() string { return fmt.Sprintf("poisson %g/s", p.PerSecond) }
