package load

import (
	"strings"
	"time"
)

// Stages are arrivals one after another: each begins when the one before has ended. All
// but the last have a length.
type Stages []Arrivals

// Stripe yields every of-th arrival of the whole.
func (s Stages) Stripe(part, of int) Stripe { return &stagesStripe{stages: s, skip: part, of: of} }

// stagesStripe goes through the stages whole, since where a stage ends in the count is
// known only then.
type stagesStripe struct {
	stages Stages
	now    Stripe        // all of the stage that runs; nil = the next one is to begin
	began  time.Duration // when it did
	skip   int           // arrivals of other stripes that come first
	of     int
}

func (s *stagesStripe) Next() (time.Duration, bool) {
	for {
		if s.now == nil {
			if len(s.stages) == 0 {
				return 0, false
			}
			s.now = s.stages[0].Stripe(0, 1)
		}
		at, ok := s.now.Next()
		switch {
		case !ok:
			s.began += s.stages[0].Length()
			s.now, s.stages = nil, s.stages[1:]
		case s.skip > 0:
			s.skip--
		default:
			s.skip = s.of - 1
			return s.began + at, true
		}
	}
}

// Rate is that of the stage.
func (s Stages) Rate(at time.Duration) float64 {
	for _, stage := range s {
		if n := stage.Length(); n > 0 && at >= n {
			at -= n
			continue
		}
		return stage.Rate(at)
	}
	return 0
}

// Length is the sum; 0 if the last has none.
func (s Stages) Length() (sum time.Duration) {
	for i, stage := range s {
		if n := stage.Length(); n > 0 {
			sum += n
		} else if i == len(s)-1 {
			return 0
		}
	}
	return sum
}

// meant returns how many arrivals are meant in a time. Within a stage the rate goes evenly.
func meant(a Arrivals, from, to time.Duration) (n float64) {
	length := a.Length()
	if length == 0 {
		length = to
	}
	if from, to = max(from, 0), min(to, length); to <= from {
		return 0
	}
	stages, ok := a.(Stages)
	if !ok {
		return a.Rate(from+(to-from)/2) * (to - from).Seconds()
	}
	for _, stage := range stages {
		n += meant(stage, from, to)
		from, to = from-stage.Length(), to-stage.Length()
	}
	return n
}

// String names the stages, with a comma between them.
func (s Stages) String() string {
	var names []string
	for _, stage := range s {
		name := stage.String()
		if _, ramp := stage.(Ramp); !ramp && stage.Length() > 0 {
			name += " for " + stage.Length().String()
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ")
}
