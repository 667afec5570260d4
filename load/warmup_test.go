package load_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/load"
)

// series makes n points around 1000 of which neighbours are alike, bent by a shape.
func series(rng *rand.Rand, n int, alike float64, shape func(i int) float64) []float64 {
	var all []float64
	noise := 0.0
	for i := range n {
		noise = alike*noise + 10*rng.NormFloat64()
		all = append(all, 1000*shape(i)+noise)
	}
	return all
}

func flat(int) float64 { return 1 }

// A steady series is rarely called anything else.
func TestSteadyAlarms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, n := range []int{30, 60, 600} {
		for _, alike := range []float64{0, 0.5} {
			alarms := 0
			for range 100 {
				if s, ok := load.Steady(series(rng, n, alike, flat)); !ok || !s.Stationary {
					alarms++
				}
			}
			t.Logf("%d points, correlation %v: %d of 100 alarms", n, alike, alarms)
			if alarms > 12 {
				t.Errorf("%d points, correlation %v: %d of 100 alarms", n, alike, alarms)
			}
		}
	}
}

func TestSteady(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, c := range []struct {
		name       string
		n          int
		shape      func(i int) float64
		from, to   int // where the cut is to be
		stationary bool
	}{
		{"a ramp of 20 points", 200, func(i int) float64 { return min(float64(i)/20, 1) }, 15, 90, true},
		{"exponential", 200, func(i int) float64 { return 1 - math.Exp(-float64(i)/8) }, 15, 90, true},
		{"a step at 5 of 40", 40, func(i int) float64 { return map[bool]float64{true: 0.5, false: 1}[i < 5] }, 5, 8, true},
		{"rising all the time", 100, func(i int) float64 { return 1 + float64(i)/100 }, 0, 100, false},
		{"slower by a tenth", 300, func(i int) float64 { return 1 - float64(i)/3000 }, 0, 300, false},
		{"a step at 70 of 100", 100, func(i int) float64 { return map[bool]float64{true: 0.5, false: 1}[i < 70] }, 0, 100, false},
	} {
		s, ok := load.Steady(series(rng, c.n, 0, c.shape))
		if !ok || s.Cut < c.from || s.Cut > c.to || s.Stationary != c.stationary {
			t.Errorf("%s: %+v, %v", c.name, s, ok)
		}
	}
	if _, ok := load.Steady(make([]float64, 9)); ok {
		t.Error("nine points are too few")
	}
	if s, ok := load.Steady(make([]float64, 5000)); !ok || !s.Stationary || s.Trend != 1 || s.Lag1 != 0 {
		t.Errorf("zeros: %+v, %v", s, ok)
	}
}
