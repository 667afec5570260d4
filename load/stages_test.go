package load

import (
	"math"
	"testing"
	"time"
)

// What is meant in a time is the integral of the rate, also where that changes within it.
func TestMeant(t *testing.T) {
	const ms = time.Millisecond
	steps := Stages{Constant{1000, 1500 * ms}, Constant{3000, 1500 * ms}}
	for _, tc := range []struct {
		law      Arrivals
		from, to time.Duration
		want     float64
	}{
		{Constant{PerSecond: 100}, 500 * ms, 1500 * ms, 100},
		{Constant{100, 750 * ms}, 0, time.Second, 75},
		{Constant{100, 250 * ms}, 0, time.Second, 25},
		{Constant{100, time.Second}, time.Second, 2 * time.Second, 0},
		{Ramp{0, 100, time.Second}, 500 * ms, 2 * time.Second, 37.5},
		{steps, 0, time.Second, 1000},
		{steps, time.Second, 2 * time.Second, 2000},
		{steps, 2 * time.Second, 4 * time.Second, 3000},
		{Stages{Ramp{0, 100, time.Second}, Constant{PerSecond: 200}}, 500 * ms, 2 * time.Second, 237.5},
	} {
		if got := meant(tc.law, tc.from, tc.to); math.Abs(got-tc.want) > 1e-9 {
			t.Errorf("%v from %v to %v: %v, want %v", tc.law, tc.from, tc.to, got, tc.want)
		}
	}
}
