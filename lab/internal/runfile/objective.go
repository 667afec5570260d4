package runfile

import (
	"math"

	"paddock/lab/internal/slo"
)

// Objective is what the run had to meet, and what came of it.
type Objective struct {
	Objective string   `json:"objective"` // as it was given: "p99<50ms"
	Measure   string   `json:"measure"`   // "p99", "lag.max", "err"
	Op        string   `json:"op"`
	Limit     *float64 `json:"limit"` // nil = a part of a rate that was not meant
	Unit      string   `json:"unit"`  // of limit and measured: "ns", "share", "per_second"
	Outcome   string   `json:"outcome"`
	Measured  *float64 `json:"measured"` // nil = nothing, or some requests had no answer
	Text      string   `json:"text"`     // what was measured, or why it is unknown
}

// ObjectivesOf says what came of a run's objectives.
func ObjectivesOf(outcomes []slo.Outcome) []Objective {
	all := []Objective{}
	for _, o := range outcomes {
		all = append(all, Objective{
			Objective: o.Objective.String(), Measure: o.Name(), Op: o.Op.String(), Limit: finite(o.Limit),
			Unit: o.Unit(), Outcome: o.State.String(), Measured: finite(o.Value), Text: o.Measured,
		})
	}
	return all
}

// finite is a number, which JSON has of finite ones alone.
func finite(f float64) *float64 {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return &f
}
