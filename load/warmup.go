package load

import (
	"cmp"
	"math"
	"slices"
)

// Steadiness says whether a series of a run, such as its rate by the second, is steady, and
// from where on.
type Steadiness struct {
	Cut        int     // how many points at the start belong to the warm-up still
	Trend      float64 // p of there being no trend behind the cut (Mann-Kendall, two-sided)
	Change     float64 // from the first to the last point behind the cut, as a share of their median (Theil-Sen)
	Lag1       float64 // the rank correlation of neighbours behind the cut (Spearman)
	Stationary bool
}

const (
	// minSeries is below how many points nothing is said.
	minSeries = 10
	// mserBatch is how many points MSER-5 takes together, where there are enough.
	mserBatch = 5
	// maxRanked bounds the points that are compared in pairs.
	maxRanked = 512
	// A trend counts if it is as unlikely as this by chance, and as large.
	trendLevel  = 0.01
	trendChange = 0.02
)

// Steady judges a series. ok is false if it is too short.
//
// The warm-up ends where the mean of the rest is known best: MSER-5 (K. P. White, 1997).
// If that is only in the second half, there is no steady part. The rest is not stationary
// if it has a trend; since neighbours that are alike make one by chance, the test counts
// with as many points as are independent (Hamed and Rao, 1998).
func Steady(series []float64) (s Steadiness, ok bool) {
	if len(series) < minSeries {
		return Steadiness{}, false
	}
	cut, found := mser(series)
	rest := thin(series[cut:])
	s = Steadiness{Cut: cut, Lag1: lag1(rest)}
	s.Trend, s.Change = mannKendall(rest, s.Lag1)
	s.Stationary = found && (s.Trend >= trendLevel || math.Abs(s.Change) < trendChange)
	return s, true
}

// mser is where the squared standard error of the mean of the rest is least. found is
// false if that is at the last place that was tried, the middle.
func mser(series []float64) (cut int, found bool) {
	batch := mserBatch
	if len(series) < minSeries*mserBatch {
		batch = 1
	}
	means := batches(series, batch)
	least, best := math.Inf(1), 0
	var n, mean, squares float64 // of the batches from i on, by Welford
	for i := len(means) - 1; i >= 0; i-- {
		n++
		d := means[i] - mean
		mean += d / n
		squares += d * (means[i] - mean)
		if i > len(means)/2 {
			continue
		}
		if e := squares / (n * n); e <= least {
			least, best = e, i
		}
	}
	return best * batch, best < len(means)/2
}

// batches returns the means of groups of size points; points that are left over at the end are
// dropped.
func batches(series []float64, size int) []float64 {
	means := make([]float64, 0, len(series)/size)
	for b := range slices.Chunk(series, size) {
		if len(b) == size {
			var sum float64
			for _, v := range b {
				sum += v
			}
			means = append(means, sum/float64(size))
		}
	}
	return means
}

// thin gives at most maxRanked points, each the mean of as many.
func thin(series []float64) []float64 {
	return batches(series, (len(series)+maxRanked-1)/maxRanked)
}

// lag1 is Spearman's correlation of each point with the next.
func lag1(series []float64) float64 {
	n := len(series) - 1
	return correlation(ranks(series[:n]), ranks(series[1:]))
}

// ranks of the points, equals sharing theirs.
func ranks(series []float64) []float64 {
	order := make([]int, len(series))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(series[a], series[b]) })
	ranks := make([]float64, len(series))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && series[order[j]] == series[order[i]] {
			j++
		}
		for _, k := range order[i:j] {
			ranks[k] = float64(i+j-1) / 2
		}
		i = j
	}
	return ranks
}

func correlation(a, b []float64) float64 {
	ma, mb := batches(a, len(a))[0], batches(b, len(b))[0]
	var ab, aa, bb float64
	for i := range a {
		ab += (a[i] - ma) * (b[i] - mb)
		aa += (a[i] - ma) * (a[i] - ma)
		bb += (b[i] - mb) * (b[i] - mb)
	}
	if aa == 0 || bb == 0 {
		return 0
	}
	return ab / math.Sqrt(aa*bb)
}

// mannKendall returns the probability of the series' order if it has no trend, and the size of the
// trend.
func mannKendall(series []float64, lag1 float64) (p, change float64) {
	n := float64(len(series))
	var s float64
	slopes := make([]float64, 0, len(series)*(len(series)-1)/2)
	for i, a := range series {
		for j := i + 1; j < len(series); j++ {
			d := series[j] - a
			s += float64(cmp.Compare(d, 0))
			slopes = append(slopes, d/float64(j-i))
		}
	}
	alike := min(max(lag1, 0), 0.95)
	variance := n * (n - 1) * (2*n + 5) / 18 * (1 + alike) / (1 - alike)
	z := math.Max(math.Abs(s)-1, 0) / math.Sqrt(variance)
	if middle := median(slices.Clone(series)); middle != 0 {
		change = median(slopes) * (n - 1) / math.Abs(middle)
	}
	return math.Erfc(z / math.Sqrt2), change
}

// median sorts the values.
func median(values []float64) float64 {
	slices.Sort(values)
	n := len(values)
	return (values[(n-1)/2] + values[n/2]) / 2
}
