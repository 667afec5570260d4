package sweep

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"paddock/lab/internal/figure"
)

// Outcome is what a probe says of its rate.
type Outcome string

// The outcomes.
const (
	Met     Outcome = "met"
	Missed  Outcome = "missed"
	Unknown Outcome = "unknown" // the generator was the bottleneck: never taken for met
)

// Probe is a run at a rate.
type Probe struct {
	Level
	Outcome Outcome `json:"outcome"`
	Why     string  `json:"why"` // it was not met
}

// Limit is why no higher rate is known to meet the objectives.
type Limit string

// The limits.
const (
	ByService   Limit = "service"   // it missed them
	ByGenerator Limit = "generator" // it did not make the load, or there were too few answers to tell
	BySearch    Limit = "to"        // a higher rate was not asked for
)

// Capacity is the highest rate that meets objectives.
type Capacity struct {
	Title      string   `json:"title"`
	Objectives string   `json:"objectives"`
	Rate       *float64 `json:"per_second"` // met by the majority of its probes; nil = there is none
	Low        *float64 `json:"low"`        // up to it every probe met the objectives; nil = none did
	High       *float64 `json:"high"`       // from it on none did; nil = it is not known
	Limit      Limit    `json:"limit"`
	Probes     []Probe  `json:"probes"` // in order
}

// Search looks for a capacity.
type Search struct {
	From, To float64 // requests per second; To 0 = without bound
	Repeat   int     // probes of a rate at most, of which the majority decides
	Probe    func(perSecond float64) (Probe, error)
}

const (
	// tolerance is how near, as a share, the rates are between which the capacity lies.
	tolerance = 0.02
	// maxProbes bounds the probes of a search: with what was found by then, it ends.
	maxProbes = 60
	// descent is down to which part of From a rate is looked for.
	descent = 64
)

// Run searches: it doubles the rate until the objectives are not met, and then halves the distance.
// The probe is one run from rest. A rate at which the first probe meets the objectives is taken for
// met while the rate is doubled; all others, and the result, are decided by the majority.
func (s *Search) Run() (*Capacity, error) {
	c := &Capacity{Limit: BySearch}
	low, high, err := s.bracket(c)
	for err == nil && low > 0 && len(c.Probes) < maxProbes {
		var met Outcome
		if high == 0 || high/low <= 1+tolerance {
			if met, err = s.decide(c, low); err != nil || met == Met {
				break
			}
			high, low = low, c.below(low) // one probe had met them by chance
			continue
		}
		at := rounded(math.Sqrt(low * high))
		if met, err = s.decide(c, at); err != nil {
			break
		}
		if met == Met {
			low = at
		} else {
			high = at
		}
	}
	if err != nil {
		return nil, err
	}
	if low > 0 {
		c.Rate = &low
	}
	if high > 0 {
		if c.Limit = ByService; c.majority(high) == Unknown {
			c.Limit = ByGenerator
		}
	}
	c.interval()
	return c, nil
}

// bracket returns a rate that meets the objectives, and a higher one that does not; 0 = there is
// none.
func (s *Search) bracket(c *Capacity) (low, high float64, err error) {
	for rate := s.From; len(c.Probes) < maxProbes; rate *= 2 {
		if s.To > 0 {
			rate = min(rate, s.To)
		}
		p, err := s.probe(c, rate)
		if err != nil {
			return 0, 0, err
		}
		if p.Outcome != Met {
			if p.Outcome, err = s.decide(c, rate); err != nil {
				return 0, 0, err
			}
		}
		if p.Outcome != Met {
			high = rate
			break
		}
		if low = rate; rate == s.To {
			return low, 0, nil
		}
	}
	for rate := rounded(s.From / 2); low == 0 && rate >= s.From/descent && len(c.Probes) < maxProbes; rate = rounded(rate / 2) {
		met, err := s.decide(c, rate)
		if err != nil {
			return 0, 0, err
		}
		if met == Met {
			low = rate
		} else {
			high = rate
		}
	}
	return low, high, nil
}

// rounded has four digits, which a person reads.
func rounded(rate float64) float64 {
	f, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'e', 3, 64), 64)
	return f
}

func (s *Search) probe(c *Capacity, rate float64) (Probe, error) {
	p, err := s.Probe(rate)
	if err == nil {
		p.Target = &rate
		c.Probes = append(c.Probes, p)
	}
	return p, err
}

// decide probes a rate until the majority of Repeat probes is known.
func (s *Search) decide(c *Capacity, rate float64) (Outcome, error) {
	for {
		counts, n := c.counts(rate)
		for o, k := range counts {
			if 2*k > s.Repeat {
				return o, nil
			}
		}
		if n >= s.Repeat || len(c.Probes) >= maxProbes {
			return Unknown, nil
		}
		if _, err := s.probe(c, rate); err != nil {
			return Unknown, err
		}
	}
}

// counts are the probes of a rate by outcome, and how many there are.
func (c *Capacity) counts(rate float64) (counts map[Outcome]int, n int) {
	counts = map[Outcome]int{}
	for _, p := range c.Probes {
		if *p.Target == rate {
			counts[p.Outcome]++
			n++
		}
	}
	return counts, n
}

// majority is the outcome of most of a rate's probes.
func (c *Capacity) majority(rate float64) Outcome {
	counts, _ := c.counts(rate)
	if counts[Missed] >= max(counts[Met], counts[Unknown]) {
		return Missed
	}
	if counts[Met] > counts[Unknown] {
		return Met
	}
	return Unknown
}

// below is the highest rate below another at which most probes met the objectives, else half of it.
func (c *Capacity) below(rate float64) float64 {
	best := 0.0
	for _, p := range c.Probes {
		if *p.Target < rate && *p.Target > best && c.majority(*p.Target) == Met {
			best = *p.Target
		}
	}
	return cmp.Or(best, rounded(rate/2))
}

// interval sets the rates up to which all probes met the objectives, and from which on none did.
func (c *Capacity) interval() {
	rates := slices.Clone(c.Probes)
	slices.SortStableFunc(rates, func(a, b Probe) int { return cmp.Compare(*a.Target, *b.Target) })
	least, most := math.Inf(1), 0.0 // the least rate that did not, and the highest that did
	for _, p := range rates {
		if p.Outcome == Met {
			most = *p.Target
		} else {
			least = min(least, *p.Target)
		}
	}
	for _, p := range rates {
		if r := *p.Target; p.Outcome == Met && r < least {
			c.Low = &r
		} else if p.Outcome != Met && r > most && c.High == nil {
			c.High = &r
		}
	}
}

// WriteText writes the probes and the capacity for a person.
func (c *Capacity) WriteText(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n%s\n\n", figure.Text(c.Title), c.Objectives)
	t := tabwriter.NewWriter(&b, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprint(t, "asked\trate\tp50\tp99\tfailed\tlamp\toutcome\t\n")
	for _, p := range c.Probes {
		fmt.Fprintf(t, "%s/s\t%s/s\t%s\t%s\t%s\t%s\t%s\t %s\n", figure.Number(*p.Target), figure.Number(p.Rate), figure.Time(time.Duration(p.P50)),
			figure.Time(time.Duration(p.P99)), figure.Percent(p.Failed), p.Verdict, p.Outcome, p.Why)
	}
	_ = t.Flush() // to memory
	fmt.Fprintf(&b, "\n%s\n", c.Sentence())
	_, err := w.Write(b.Bytes())
	return err
}

// Sentence says the result.
func (c *Capacity) Sentence() string {
	number := func(f *float64, otherwise string) string {
		if f == nil {
			return otherwise
		}
		return figure.Number(*f) + "/s"
	}
	switch {
	case c.Rate == nil && c.Limit == ByGenerator:
		return fmt.Sprintf("unknown down to %s: %s", number(c.High, "the least rate"), c.why())
	case c.Rate == nil:
		return fmt.Sprintf("no rate down to %s meets the objectives", number(c.High, "the least"))
	case c.Limit == ByGenerator:
		return fmt.Sprintf("at least %s: above it %s", number(c.Rate, ""), c.why())
	case c.Limit == BySearch:
		return fmt.Sprintf("at least %s: a higher rate was not asked for", number(c.Rate, ""))
	}
	return fmt.Sprintf("capacity: %s, between %s (all probes up to it met the objectives) and %s (none from it on did)",
		number(c.Rate, ""), number(c.Low, "none"), number(c.High, "an unknown rate"))
}

// why is the reason of the last probe that is unknown.
func (c *Capacity) why() (why string) {
	for _, p := range c.Probes {
		if p.Outcome == Unknown {
			why = p.Why
		}
	}
	return why
}
