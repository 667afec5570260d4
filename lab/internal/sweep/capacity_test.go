package sweep

import (
	"bytes"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// mD1 is the share of waiting times above x in a queue of one server with a fixed service time s
// and random arrivals at a rate, by A. K. Erlang's formula for the waiting time of M/D/1.
func mD1(rate, s, x float64) float64 {
	rho := rate * s
	sum, term := 0.0, 0.0
	for k := 0; float64(k)*s <= x; k++ {
		u := rate * (x - float64(k)*s)
		term = math.Exp(u)
		for i := 1; i <= k; i++ {
			term *= -u / float64(i)
		}
		sum += term
	}
	return 1 - (1-rho)*sum
}

// The capacity of M/D/1 for p90<60ms, a server of 20 ms, comes out within 3 % of the formula, from
// probes whose measured share above the limit has the noise of its 3,000 requests.
func TestCapacityByFormula(t *testing.T) {
	const s, limit, share = 0.02, 0.06, 0.1
	low, high := 0.0, 1/s
	for range 60 {
		if at := (low + high) / 2; mD1(at, s, limit-s) < share {
			low = at
		} else {
			high = at
		}
	}
	var within int
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 2))
		search := Search{From: 2, Repeat: 3, Probe: func(rate float64) (Probe, error) {
			p := Probe{Outcome: Missed}
			if rate*s < 1 {
				above := mD1(rate, s, limit-s)
				// Requests that wait for each other are alike: the noise is that of a third.
				if above+math.Sqrt(above*(1-above)/1000)*rng.NormFloat64() < share {
					p.Outcome = Met
				}
			}
			return p, nil
		}}
		c, err := search.Run()
		if err != nil || c.Rate == nil {
			t.Fatal(err)
		}
		if math.Abs(*c.Rate/low-1) <= 0.03 {
			within++
		}
		if c.Low == nil || c.High == nil || *c.Low > *c.Rate || *c.High < *c.Rate || c.Limit != ByService {
			t.Errorf("seed %d: %s", seed, c.Sentence())
		}
	}
	if within < 95 {
		t.Errorf("within 3 %% of %.2f/s in %d of 100", low, within)
	}
}

// One server does 1/s: with requests at equal distances each rate up to it meets the objectives.
func TestSearch(t *testing.T) {
	service := func(capacity float64, bound float64) func(float64) (Probe, error) {
		return func(rate float64) (Probe, error) {
			switch {
			case bound > 0 && rate > bound:
				return Probe{Outcome: Unknown, Why: "the generator was the bottleneck"}, nil
			case rate > capacity:
				return Probe{Outcome: Missed, Why: "p99"}, nil
			}
			return Probe{Outcome: Met}, nil
		}
	}
	for _, tc := range []struct {
		name      string
		search    Search
		low, high float64
		limit     Limit
		says      string
	}{
		{"above the first", Search{From: 1, Probe: service(50, 0)}, 49, 50, ByService, "capacity: "},
		{"below the first", Search{From: 1000, Probe: service(50, 0)}, 49, 50, ByService, "capacity: "},
		{"the last is asked for", Search{From: 10, To: 45, Probe: service(50, 0)}, 45, 45, BySearch, "a higher rate was not asked for"},
		{"none", Search{From: 1000, Probe: service(0.1, 0)}, 0, 0, ByService, "no rate down to"},
		{"the generator is slower", Search{From: 1, Probe: service(50, 30)}, 29, 30, ByGenerator, "above it the generator was the bottleneck"},
		{"the generator is too slow", Search{From: 1, Probe: service(50, 1e-9)}, 0, 0, ByGenerator, "unknown down to"},
	} {
		tc.search.Repeat = 3
		c, err := tc.search.Run()
		if err != nil {
			t.Fatal(err)
		}
		rate := 0.0
		if c.Rate != nil {
			rate = *c.Rate
		}
		if rate < tc.low || rate > tc.high || c.Limit != tc.limit || !strings.Contains(c.Sentence(), tc.says) || len(c.Probes) > 30 {
			t.Errorf("%s: %v/s by %s after %d probes: %s", tc.name, rate, c.Limit, len(c.Probes), c.Sentence())
		}
		var text bytes.Buffer
		if err := c.WriteText(&text); err != nil || !strings.Contains(text.String(), c.Sentence()) {
			t.Errorf("%s: %v: %s", tc.name, err, text.String())
		}
	}
}

// A probe that meets the objectives by chance does not decide, and the search ends.
func TestSearchOfNoise(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		search := Search{From: 10, Repeat: 3, Probe: func(rate float64) (Probe, error) {
			if rng.Float64() < 1/(1+math.Pow(rate/100, 20)) {
				return Probe{Outcome: Met}, nil
			}
			return Probe{Outcome: Missed}, nil
		}}
		c, err := search.Run()
		if err != nil || c.Rate == nil || *c.Rate < 80 || *c.Rate > 125 || len(c.Probes) > maxProbes+search.Repeat {
			t.Errorf("seed %d: %v, %s after %d probes", seed, err, c.Sentence(), len(c.Probes))
		}
	}
}
