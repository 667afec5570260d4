package gofence

import (
	"errors"
	"time"

	"github.com/google/pprof/profile"
)

// Shares is processor time by bucket. Buckets and Other add up to Total.
type Shares struct {
	Buckets []time.Duration // in the order of the buckets
	Other   time.Duration
	Total   time.Duration
	Samples int64
}

// Attribute divides the samples of a CPU profile among buckets. Each sample goes
// whole to the bucket of its root-most function that matches one, so that nothing
// counts twice however the functions of two buckets call each other; where one
// function matches two buckets, it is the first one's.
//
// The error says that it is no CPU profile.
func Attribute(p *profile.Profile, buckets []Bucket) (Shares, error) {
	s := Shares{Buckets: make([]time.Duration, len(buckets))}
	count, cpu := -1, -1
	for i, t := range p.SampleType {
		switch {
		case t.Type == "samples" && t.Unit == "count":
			count = i
		case t.Type == "cpu" && t.Unit == "nanoseconds":
			cpu = i
		}
	}
	if count < 0 || cpu < 0 {
		return s, errors.New("the profile is not one of processor time: it has no samples/count and cpu/nanoseconds")
	}
	m := matcher{buckets, map[string]int{}}
	for _, sample := range p.Sample {
		spent := time.Duration(sample.Value[cpu])
		s.Total += spent
		s.Samples += sample.Value[count]
		if i := m.ofSample(sample); i < len(buckets) {
			s.Buckets[i] += spent
		} else {
			s.Other += spent
		}
	}
	return s, nil
}

// matcher remembers the bucket of each function.
type matcher struct {
	buckets []Bucket
	known   map[string]int
}

// ofSample is the index of the sample's bucket, or their number if it has none. A
// sample's locations run from the leaf to the root, and the lines of a location from
// the innermost inlined call outwards: both are walked backwards.
func (m *matcher) ofSample(s *profile.Sample) int {
	for i := len(s.Location) - 1; i >= 0; i-- {
		lines := s.Location[i].Line
		for j := len(lines) - 1; j >= 0; j-- {
			if lines[j].Function == nil {
				continue
			}
			if b := m.ofFunction(lines[j].Function.Name); b < len(m.buckets) {
				return b
			}
		}
	}
	return len(m.buckets)
}

func (m *matcher) ofFunction(name string) int {
	if i, ok := m.known[name]; ok {
		return i
	}
	i := 0
	for i < len(m.buckets) && !m.buckets[i].Match.MatchString(name) {
		i++
	}
	m.known[name] = i
	return i
}
