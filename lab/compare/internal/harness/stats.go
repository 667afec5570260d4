package harness

import (
	"maps"
	"slices"

	"paddock/lab/internal/results"
)

// ratios divides the figure of a contender in a round by the figure of its base in the same round.
// They are in the order of the rounds; a round that lacks either counts for neither.
func ratios(contender, base map[int]float64) []float64 {
	var quotients []float64
	for _, round := range slices.Sorted(maps.Keys(contender)) {
		if b := base[round]; b > 0 {
			quotients = append(quotients, contender[round]/b)
		}
	}
	return quotients
}

// Verdict is the outcome of one bar.
type Verdict struct {
	Bar
	Of      string          `json:"goal"`
	Ratio   *results.Spread `json:"ratio"` // the figure itself where there is no base; nil: not measured
	Rounds  []float64       `json:"rounds"`
	Met     bool            `json:"met"`
	Reached bool            `json:"stretch_met"`
}

// figures returns a metric of one contender by round.
func figures(samples []Sample, goal, contender string, m Metric) map[int]float64 {
	byRound := map[int]float64{}
	for _, s := range samples {
		if value, ok := s.Metrics[m]; ok && s.Goal == goal && s.Contender == contender {
			byRound[s.Round] = value
		}
	}
	return byRound
}

// ratio returns the spread of a contender's figure divided by its base's.
func ratio(samples []Sample, goal, contender, base string, m Metric) (results.Spread, []float64) {
	quotients := ratios(figures(samples, goal, contender, m), figures(samples, goal, base, m))
	return results.NewSpread(quotients), quotients
}

// judged returns the values of a bar: ratios, or figures where it has no base.
func (b Bar) judged(samples []Sample, goal string) (results.Spread, []float64) {
	if b.Base != "" {
		return ratio(samples, goal, b.Contender, b.Base, b.Metric)
	}
	byRound := figures(samples, goal, b.Contender, b.Metric)
	own := make([]float64, 0, len(byRound))
	for _, round := range slices.Sorted(maps.Keys(byRound)) {
		own = append(own, byRound[round])
	}
	return results.NewSpread(own), own
}

// Ratios returns the ratios of a goal's table, and those of its bars.
func Ratios(g *Goal, samples []Sample) (all []results.Ratio) {
	wanted := make([]Bar, 0, len(g.Contenders)+len(g.Bars))
	for _, c := range g.Contenders {
		wanted = append(wanted, Bar{Contender: c.Name, Base: g.BaseOf(c), Metric: g.Metric})
	}
	for _, b := range append(wanted, g.Bars...) {
		known := slices.ContainsFunc(all, func(r results.Ratio) bool {
			return r.Contender == b.Contender && r.Base == b.Base && r.Metric == string(b.Metric)
		})
		if b.Base == "" || b.Base == b.Contender || known {
			continue
		}
		if spread, rounds := ratio(samples, g.Name, b.Contender, b.Base, b.Metric); len(rounds) > 0 {
			all = append(all, results.Ratio{Goal: g.Name, Title: g.Title, Contender: b.Contender, Base: b.Base, Metric: string(b.Metric), Spread: spread})
		}
	}
	return all
}

// Judge holds the samples against the goal's bars.
func Judge(g *Goal, samples []Sample) []Verdict {
	verdicts := make([]Verdict, len(g.Bars))
	for i, bar := range g.Bars {
		spread, rounds := bar.judged(samples, g.Name)
		v := Verdict{Bar: bar, Of: g.Name, Rounds: rounds}
		if len(rounds) > 0 {
			v.Ratio = &spread
			v.Met = bar.reached(spread.Median, bar.Pass)
			v.Reached = bar.Stretch != 0 && bar.reached(spread.Median, bar.Stretch)
		}
		verdicts[i] = v
	}
	return verdicts
}

func (b Bar) reached(ratio, mark float64) bool {
	if b.AtMost {
		return ratio <= mark
	}
	return ratio >= mark
}
