package loadbench

import (
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	responders "paddock/lab/responder"
)

// What the programs are held against: a service that stands still for a tenth of the time,
// at a tenth of what it can do.
const (
	frozenText  = "1,000/s"
	frozenRate  = 1000
	frozenConns = 250 // more than come while it stands still, so that none waits for one
	frozenFor   = 200 * time.Millisecond
	// Also the warm-up: the service stands still as soon as the first request comes, which
	// is when connections have been made. Whoever was due until then has waited for that,
	// too, which is the truth, but not what the formula knows.
	frozenEvery = 2 * time.Second
	frozenSpeed = 10_000
)

func frozenLaw() *responders.Queue {
	return &responders.Queue{PerSecond: frozenSpeed, Frozen: frozenFor, Every: frozenEvery}
}

// frozenTime is a time in whole periods.
func frozenTime(d time.Duration) time.Duration { return max(d.Round(frozenEvery), frozenEvery) }

// known is what users saw who came at equal distances: the formula of the law.
func known() *measure.Measurement {
	law := frozenLaw()
	m := &measure.Measurement{Ops: frozenRate, Elapsed: time.Second, Figures: map[string]float64{}}
	for metric, p := range map[harness.Metric]float64{harness.P50: 0.5, harness.P90: 0.9, harness.P99: 0.99, harness.P999: 0.999} {
		m.Figures[string(metric)] = us(law.Response(p, frozenRate))
	}
	return m
}
