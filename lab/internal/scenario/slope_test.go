package scenario_test

import (
	"math"
	"testing"
	"time"

	"paddock/lab/internal/scenario"
)

// A line is fitted under values that go up and down, and the beginning does not count.
func TestSlope(t *testing.T) {
	var none, one, line scenario.Slope
	one.Add(time.Second, 7)
	for i := range 400 {
		at := time.Duration(i) * time.Second
		value := 1e6 + 300*at.Minutes() + 50*float64(i%2)
		if i < 100 {
			value = 1e4 * float64(i)
		}
		line.Add(at, value)
	}
	if none.PerMinute() != 0 || one.PerMinute() != 0 {
		t.Error("nothing rises where there is nothing")
	}
	if got := line.PerMinute(); math.Abs(got-300) > 1 {
		t.Errorf("%.1f a minute, want 300", got)
	}
}
