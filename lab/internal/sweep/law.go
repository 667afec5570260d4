// Package sweep finds how a service behaves over many loads: the law of its rate over connections,
// its knee, and the highest rate at which it meets objectives.
package sweep

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
)

// Law is the universal scalability law (N. J. Gunther, 1993) of a rate X over n connections:
//
//	X(n) = Lambda n / (1 + Sigma (n-1) + Kappa n (n-1))
//
// Sigma is the part that is done one after another, and Kappa the part that grows with each pair.
type Law struct {
	Lambda float64 `json:"lambda"` // per second, of one connection
	Sigma  float64 `json:"sigma"`
	Kappa  float64 `json:"kappa"`
}

// At is the rate over n connections.
func (l Law) At(n float64) float64 { return l.Lambda * n / l.slow(n) }

func (l Law) slow(n float64) float64 { return 1 + l.Sigma*(n-1) + l.Kappa*n*(n-1) }

// Peak is the number of connections with the highest rate; +Inf if it never falls.
func (l Law) Peak() float64 {
	if l.Kappa <= 0 {
		return math.Inf(1)
	}
	return math.Max(math.Sqrt(math.Max(1-l.Sigma, 0)/l.Kappa), 1)
}

// Point is a rate that was measured.
type Point struct{ N, Rate float64 }

const (
	parameters = 3 // of a law
	// resamples is how many there are for the ends of an interval of 95 %.
	resamples = 1000
	// tail is the part of the resamples, 1 of so many, beyond each end. It is less than 2.5 %, as
	// the law bends, and few points show that too little: TestCoverage has how often it holds.
	tail = 60
)

// fit is the law with the least squares of absolute residuals. For a Sigma and a Kappa the best
// Lambda is known, so that the search (J. A. Nelder and R. Mead, 1965) is in the roots of these
// two, which keeps them from falling below 0.
func fit(points []Point, starts ...Law) Law {
	law := func(x [2]float64) Law {
		l := Law{1, math.Min(x[0]*x[0], 1), math.Min(x[1]*x[1], 1)}
		var xy, yy float64
		for _, p := range points {
			y := l.At(p.N)
			xy, yy = xy+p.Rate*y, yy+y*y
		}
		l.Lambda = xy / yy
		return l
	}
	best, least := Law{}, math.Inf(1)
	for _, s := range starts {
		x := minimum(func(x [2]float64) float64 { return squares(points, law(x)) }, [2]float64{math.Sqrt(s.Sigma), math.Sqrt(s.Kappa)})
		if l := law(x); squares(points, l) < least {
			best, least = l, squares(points, l)
		}
	}
	most := 1.0
	for _, p := range points {
		most = math.Max(most, p.N)
	}
	if best.Sigma*most < nothing {
		best.Sigma = 0
	}
	if best.Kappa*most*most < nothing {
		best.Kappa = 0
	}
	return best
}

// nothing is a part of a law that no measurement shows.
const nothing = 1e-4

var starts = []Law{{Sigma: 0.01, Kappa: 1e-6}, {Sigma: 0.5, Kappa: 1e-4}, {Sigma: 0.2, Kappa: 1e-2}, {Sigma: 1}}

// minimum of a function of two variables, by a triangle that moves and shrinks.
func minimum(f func([2]float64) float64, from [2]float64) [2]float64 {
	type corner struct {
		x [2]float64
		f float64
	}
	at := func(x [2]float64) corner { return corner{x, f(x)} }
	c := []corner{at(from), at([2]float64{from[0] + 0.1, from[1]}), at([2]float64{from[0], from[1] + 0.02})}
	for range 400 {
		slices.SortFunc(c, func(a, b corner) int { return cmp.Compare(a.f, b.f) })
		if math.Abs(c[2].f-c[0].f) <= 1e-9*math.Abs(c[0].f) {
			break
		}
		along := func(t float64) corner { // from the worst corner through the middle of the others
			var x [2]float64
			for i := range x {
				middle := (c[0].x[i] + c[1].x[i]) / 2
				x[i] = middle + t*(middle-c[2].x[i])
			}
			return at(x)
		}
		far := along(1)
		if far.f < c[1].f {
			if further := along(2); far.f < c[0].f && further.f < far.f {
				far = further
			}
			c[2] = far
		} else if near := along(-0.5); near.f < c[2].f {
			c[2] = near
		} else {
			for i := 1; i < 3; i++ {
				c[i] = at([2]float64{(c[0].x[0] + c[i].x[0]) / 2, (c[0].x[1] + c[i].x[1]) / 2})
			}
		}
	}
	return c[0].x
}

func squares(points []Point, l Law) (sum float64) {
	for _, p := range points {
		d := p.Rate - l.At(p.N)
		sum += d * d
	}
	return sum
}

// Estimate is a value with the interval that holds it with 95 % confidence; nil = it is not known,
// or has no end.
type Estimate struct {
	Value *float64 `json:"value"`
	Low   *float64 `json:"low"`
	High  *float64 `json:"high"`
}

// Fit is the law of some points, and how well it is known.
type Fit struct {
	Law    Law      `json:"law"`
	Lambda Estimate `json:"lambda"`
	Sigma  Estimate `json:"sigma"`
	Kappa  Estimate `json:"kappa"`
	Peak   Estimate `json:"n_max"` // connections with the highest rate
	Top    Estimate `json:"x_max"` // that rate, or the one that is never reached
	R2     float64  `json:"r2"`
	Poor   []string `json:"poor"` // why the law does not describe the points; none = it does
}

// Least is how many different numbers of connections a fit takes.
const Least = parameters + 1

// Scale fits the law to points; nil if they are of fewer than Least numbers of connections.
//
// The intervals are those of fits to resamples: the law with noise as large as the residuals, by
// Student's distribution as these are few.
func Scale(points []Point) *Fit {
	levels := map[float64]bool{}
	for _, p := range points {
		levels[p.N] = true
	}
	if len(levels) < Least {
		return nil
	}
	l := fit(points, starts...)
	f := &Fit{Law: l, R2: 1 - squares(points, l)/squaresOf(points), Poor: misses(points, l)}
	if math.IsNaN(f.R2) || math.IsInf(f.R2, 0) {
		f.R2 = 0 // all rates are the same, and nothing is left to explain
	}
	rng := rand.New(rand.NewPCG(uint64(len(points)), resamples))
	free := len(points) - parameters
	deviation := math.Sqrt(squares(points, l) / float64(free))
	var laws []Law
	drawn := slices.Clone(points)
	for range resamples {
		var chi float64
		for range free {
			z := rng.NormFloat64()
			chi += z * z
		}
		for i := range drawn {
			drawn[i].Rate = l.At(drawn[i].N) + deviation*math.Sqrt(float64(free)/chi)*rng.NormFloat64()
		}
		laws = append(laws, fit(drawn, l))
	}
	estimate := func(of func(Law) float64) Estimate {
		var values []float64
		for _, l := range laws {
			values = append(values, of(l))
		}
		slices.Sort(values)
		return Estimate{known(of(l)), known(values[resamples/tail]), known(values[resamples-1-resamples/tail])}
	}
	f.Lambda = estimate(func(l Law) float64 { return l.Lambda })
	f.Sigma = estimate(func(l Law) float64 { return l.Sigma })
	f.Kappa = estimate(func(l Law) float64 { return l.Kappa })
	f.Peak, f.Top = estimate(Law.Peak), estimate(Law.top)
	return f
}

// top is the highest rate of any number of connections.
func (l Law) top() float64 {
	if n := l.Peak(); !math.IsInf(n, 1) {
		return l.At(n)
	}
	return l.Lambda / l.Sigma // +Inf if it grows without bound
}

// known is a number, which JSON has of finite ones alone.
func known(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}

// squaresOf is the sum of the squares of the rates' distances from their mean.
func squaresOf(points []Point) (sum float64) {
	var mean float64
	for _, p := range points {
		mean += p.Rate / float64(len(points))
	}
	for _, p := range points {
		sum += (p.Rate - mean) * (p.Rate - mean)
	}
	return sum
}

// poorly is from which distance on a rate is not described by the law, as a share.
const poorly = 0.1

// misses are the numbers of connections whose rate is far from the law.
func misses(points []Point, l Law) []string {
	all := []string{}
	sum, count := map[float64]float64{}, map[float64]float64{}
	for _, p := range points {
		sum[p.N] += p.Rate
		count[p.N]++
	}
	for _, n := range slices.Sorted(maps.Keys(sum)) {
		if off := sum[n]/count[n]/l.At(n) - 1; math.Abs(off) > poorly {
			all = append(all, fmt.Sprintf("at %g connections the rate is %+.0f %% from the law", n, 100*off))
		}
	}
	return all
}
