package loadbench

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
)

// ohaArgs are the arguments of oha.
func ohaArgs(o *order) ([]string, error) {
	args := []string{"--no-tui", "--output-format", "json", "-z", o.seconds() + "s", "-c", o.connections()}
	switch o.op {
	case opCorrect:
		args = append(args, "-q", strconv.Itoa(o.rate), "--latency-correction")
	case opFrozen:
		args = append(args, "-q", strconv.Itoa(o.rate))
	case opNull, opNginx:
	default:
		return nil, cannot(ohaPeer, o.op)
	}
	return append(args, o.url), nil
}

// readOha reads its document. oha counts requests that it aborts at the end as errors of their own
// kind; they are none here.
func readOha(stdout string, m *measure.Measurement) error {
	var d struct {
		Summary struct {
			Total     float64 `json:"total"`
			TotalData int64   `json:"totalData"`
		} `json:"summary"`
		Percentiles map[string]*float64 `json:"latencyPercentiles"`
		Statuses    map[string]int64    `json:"statusCodeDistribution"`
		Errors      map[string]int64    `json:"errorDistribution"`
	}
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		return fmt.Errorf("oha: %w in %q", err, clip(stdout))
	}
	m.Elapsed, m.Bytes = time.Duration(d.Summary.Total*float64(time.Second)), d.Summary.TotalData
	var failed int64
	for status, n := range d.Statuses {
		m.Ops += n
		if status[0] != '2' {
			failed += n
		}
	}
	for text, n := range d.Errors {
		if text != "aborted due to deadline" {
			failed += n
		}
	}
	for name, metric := range map[string]harness.Metric{"p50": harness.P50, "p90": harness.P90, "p99": harness.P99, "p99.9": harness.P999} {
		if s := d.Percentiles[name]; s != nil {
			m.Figures[string(metric)] = *s * 1e6
		}
	}
	return checkAnswers(ohaPeer, m.Ops, failed)
}
