package scenario

import (
	"math"
	"time"

	"paddock/lab/internal/runfile"
	"paddock/lab/internal/slo"
	"paddock/load"
)

// Row is the measurement at a rate.
type Row struct {
	PerSecond float64 `json:"rate"`
	Requests  int64   `json:"requests"`
	Succeeded int64   `json:"succeeded"`

	// P99 and Max are of the response times, which count from when a request was due.
	// P99Corrected is the original's column: of the same times, corrected by
	// HdrHistogram for a request that is due each 1/rate. The load is open, so that
	// nothing is to be corrected: stalls count twice in it.
	P99          time.Duration `json:"p99_ns"`
	P99Corrected time.Duration `json:"p99_corrected_ns"`
	Max          time.Duration `json:"max_ns"`

	Response *runfile.Times `json:"response"` // the quantiles of the response times; nil = none was answered
	Verdict  string         `json:"lamp"`     // see load.Verdict
	Why      string         `json:"lamp_text"`
	Used     []Used         `json:"used,omitempty"`
	Success  float64        `json:"success"` // the share of the requests that were answered well
	Original *Original      `json:"original,omitempty"`
}

// Used is the use of a process during a row.
type Used struct {
	Name        string        `json:"name"`
	CPU         time.Duration `json:"cpu_ns"`
	MaxResident int64         `json:"max_resident_bytes"` // as sampled once a second
}

// NewRow makes the row of a run at a rate.
func (l *Load) NewRow(perSecond float64, plan *load.Plan, r *load.Result) Row {
	failed, all := slo.Failures(r)
	every := time.Duration(math.Round(float64(time.Second) / perSecond))
	response := r.Total.Response
	verdict := load.Judge(plan, r)
	return Row{
		PerSecond: perSecond, Requests: all, Succeeded: all - failed, Success: float64(all-failed) / float64(max(all, 1)),
		P99: response.Quantile(0.99), P99Corrected: response.Corrected(every).Quantile(0.99),
		Max: max(response.Max(), r.Unanswered.Oldest), Response: runfile.TimesOf(response, nil),
		Verdict: verdict.Level.String(), Why: verdict.String(), Original: l.At(perSecond),
	}
}
