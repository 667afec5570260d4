package loadbench

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
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

var (
	abTime     = regexp.MustCompile(`(?m)^Time taken for tests: +([0-9.]+) seconds$`)
	abComplete = regexp.MustCompile(`(?m)^Complete requests: +(\d+)$`)
	abFailed   = regexp.MustCompile(`(?m)^Failed requests: +(\d+)$`)
	abBytes    = regexp.MustCompile(`(?m)^Total transferred: +(\d+) bytes$`)
	abShare    = regexp.MustCompile(`(?m)^ +(\d+)% +(\d+)`)
)

// readAb reads its text, whose percentiles are whole milliseconds.
func readAb(stdout string, m *measure.Measurement) error {
	seconds, err := number(abTime, stdout)
	if err != nil {
		return fmt.Errorf("ab: %w", err)
	}
	done, err := number(abComplete, stdout)
	if err != nil {
		return fmt.Errorf("ab: %w", err)
	}
	failed, err := number(abFailed, stdout)
	if err != nil {
		return fmt.Errorf("ab: %w", err)
	}
	bytes, _ := number(abBytes, stdout) // no more than a column
	m.Ops, m.Bytes, m.Elapsed = int64(done), int64(bytes), time.Duration(seconds*float64(time.Second))
	for _, found := range abShare.FindAllStringSubmatch(stdout, -1) {
		ms, _ := strconv.ParseFloat(found[2], 64)
		if metric, ok := map[string]harness.Metric{"50": harness.P50, "90": harness.P90, "99": harness.P99}[found[1]]; ok {
			m.Figures[string(metric)] = ms * 1e3
		}
	}
	return checkAnswers(abPeer, m.Ops, int64(failed))
}

// number returns the number in the group of an expression.
func number(of *regexp.Regexp, text string) (float64, error) {
	found := of.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no %q in %q", of, clip(text))
	}
	return strconv.ParseFloat(found[1], 64)
}
