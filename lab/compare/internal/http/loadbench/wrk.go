package loadbench

import (
	"fmt"
	"strconv"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
)

// wrkArgs are the arguments of wrk, which has no rate.
func wrkArgs(o *order) ([]string, error) {
	args := []string{"-t1", "-c" + o.connections(), "-d" + o.seconds() + "s", "-s", o.script, o.url}
	switch o.op {
	case opPost:
		args = append(args, "--", "post", o.bodies)
	case opFormat:
		args = append(args, "--", "format", o.bodies)
	case opPipeline:
		args = append(args, "--", "pipeline", strconv.Itoa(depth))
	case opNull, opNginx, opFrozen:
	default:
		return nil, cannot(wrkPeer, o.op)
	}
	return args, nil
}

// readWrk reads the line of the script.
func readWrk(stdout string, m *measure.Measurement) error {
	if err := webload.ReadSummary(stdout, m); err != nil {
		return fmt.Errorf("wrk: %w", err)
	}
	m.Figures[string(harness.P999)], m.Figures[string(harness.P90)] = us(m.Latency.P999), us(m.Latency.P90)
	return nil
}
