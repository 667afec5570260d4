package loadbench

import (
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/internal/peers"
)

// abMost is how many requests ab makes at most: it keeps room for each.
const abMost = "20000000"

// abArgs are the arguments of ab. The bound of -t comes before that of -n, which it sets.
func abArgs(o *order) ([]string, error) {
	switch o.op {
	case opNull, opNginx, opFrozen:
		return []string{"-k", "-q", "-c", o.connections(), "-t", o.seconds(), "-n", abMost, o.url}, nil
	}
	return nil, cannot(abPeer, o.op)
}

// readAb reads its text, whose percentiles are whole milliseconds.
func readAb(stdout string, m *measure.Measurement) error {
	f, err := peers.ReadAb(stdout)
	if err != nil {
		return err
	}
	m.Ops, m.Bytes, m.Elapsed = f.Requests, f.Bytes, f.Elapsed
	for _, p := range f.Percentiles {
		if metric, ok := map[float64]harness.Metric{50: harness.P50, 90: harness.P90, 99: harness.P99}[p.Percent]; ok {
			m.Figures[string(metric)] = us(p.Latency)
		}
	}
	return checkAnswers(abPeer, m.Ops, f.Failed)
}
