package loadbench

import (
	"math"
	"slices"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/load"
)

const (
	poissonSeeds = 100
	poissonGaps  = 2000
	// critical is the bound of the statistic for 95 of 100 samples of the known distribution
	// (Stephens 1974).
	critical = 2.492
)

// poisson counts the seeds whose gaps are exponential.
func poisson() *measure.Measurement {
	began := time.Now()
	passed := 0
	for seed := range uint64(poissonSeeds) {
		if andersonDarling(gaps(seed)) < critical {
			passed++
		}
	}
	return &measure.Measurement{
		Ops: poissonSeeds, Elapsed: time.Since(began),
		Figures: map[string]float64{string(harness.Passed): float64(passed)},
	}
}

// gaps are the distances of arrivals, of mean 1.
func gaps(seed uint64) []float64 {
	const perSecond = 1000
	s := load.Poisson{PerSecond: perSecond, Seed: seed}.Stripe(0, 1)
	list := make([]float64, poissonGaps)
	last := time.Duration(0)
	for i := range list {
		at, _ := s.Next() // it does not end
		list[i] = (at - last).Seconds() * perSecond
		last = at
	}
	return list
}

// andersonDarling is the statistic A^2 of values, which it sorts, against the exponential
// distribution of mean 1 (Anderson, Darling 1952).
func andersonDarling(x []float64) float64 {
	slices.Sort(x)
	n := float64(len(x))
	sum := 0.0
	for i, v := range x {
		below := max(-math.Expm1(-v), math.SmallestNonzeroFloat64)
		sum += (2*float64(i) + 1) * (math.Log(below) - x[len(x)-1-i])
	}
	return -n - sum/n
}
