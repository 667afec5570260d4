package harness

import (
	"maps"
	"math"
	"slices"
)

// Spread is the median of some rounds, and the smallest and largest of them.
type Spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// spreadOf summarises values; all NaN without any.
func spreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{math.NaN(), math.NaN(), math.NaN()}
	}
	sorted := slices.Sorted(slices.Values(values))
	mid := len(sorted) / 2
	median := sorted[mid]
	if len(sorted)%2 == 0 {
		median = (sorted[mid-1] + sorted[mid]) / 2
	}
	return Spread{Median: median, Min: sorted[0], Max: sorted[len(sorted)-1]}
}

// ratios divides what a contender did in a round by what its base did in the
// same round. They come in the order
// of the rounds; a round that lacks either counts for neither.
func ratios(contender, base map[int]float64) []float64 {
	var quotients []float64
	for _, round := range slices.Sorted(maps.Keys(contender)) {
		if b := base[round]; b > 0 {
			quotients = append(quotients, contender[round]/b)
		}
	}
	return quotients
}
