package load

import (
	"math"
	"time"
)

// Little is the check of a run's own bookkeeping by Little's law, L = X R: the requests
// under way, summed over time as they came and went, against the product of two numbers
// that were measured apart from it, the rate of answers and the mean service time. It holds
// for any service. Where it does not, requests have gone uncounted, or times are wrong.
type Little struct {
	InFlight float64       // L, from the integral over time
	Rate     float64       // X, answers per second
	Service  time.Duration // R, mean
	Delta    float64       // XR above L, as a share of L
	Bound    float64       // how far off Delta may be
	Holds    bool
}

const (
	// littleBound is the share by which both sides may differ.
	littleBound = 0.02
	// littleCount is below how many answers there is no mean to check.
	littleCount = 100
)

// CheckLittle checks a run, or a part of one. ok is false if too little was measured.
//
// A part begins and ends with requests under way, whose times count whole on one side
// alone: Bound grows by the share of the part that one service time makes. Requests that
// failed with their connection have no service time, and count on the other side alone:
// with many of them, the law does not hold, and rightly so.
func CheckLittle(v *Interval) (l Little, ok bool) {
	n := float64(v.Service.Count())
	if n < littleCount || v.Length <= 0 || v.InFlight <= 0 {
		return Little{}, false
	}
	l = Little{InFlight: v.InFlight, Rate: n / v.Length.Seconds(), Service: v.Service.Mean()}
	l.Delta = l.Rate*l.Service.Seconds()/l.InFlight - 1
	l.Bound = littleBound + float64(l.Service)/float64(v.Length)
	l.Holds = math.Abs(l.Delta) <= l.Bound
	return l, true
}
