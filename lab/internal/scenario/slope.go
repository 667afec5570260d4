package scenario

import "time"

const (
	// mostGrowth is by how much the resident set of a side may grow in a minute, bytes.
	mostGrowth = 1 << 20
	// slopeFrom is how long a load must be for that to be judged: it takes some collections
	// of garbage until their ups and downs are small beside it.
	slopeFrom = 5 * time.Minute
	// settling is the part of a load in which a process grows to its working size.
	settling = 0.25
)

// Slope is the growth of a value, from its samples.
type Slope struct {
	at    []time.Duration
	value []float64
}

// Add notes a value; times rise.
func (s *Slope) Add(at time.Duration, value float64) {
	s.at, s.value = append(s.at, at), append(s.value, value)
}

// PerMinute is the slope of the line with the least squares of distances, without the part of
// the time in which it settles; 0 if there is too little to tell.
func (s *Slope) PerMinute() float64 {
	if len(s.at) == 0 {
		return 0
	}
	from := time.Duration(settling * float64(s.at[len(s.at)-1]))
	var n, sumX, sumY float64
	each := func(f func(x, y float64)) {
		for i, at := range s.at {
			if at >= from {
				f(at.Minutes(), s.value[i])
			}
		}
	}
	each(func(x, y float64) { n, sumX, sumY = n+1, sumX+x, sumY+y })
	var covariance, variance float64
	each(func(x, y float64) {
		covariance += (x - sumX/n) * (y - sumY/n)
		variance += (x - sumX/n) * (x - sumX/n)
	})
	if variance == 0 {
		return 0
	}
	return covariance / variance
}
