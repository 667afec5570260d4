package loadbench

import (
	"cmp"
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
	seconds, noTime := number(abTime, stdout)
	done, noCount := number(abComplete, stdout)
	failed, noFailures := number(abFailed, stdout)
	if err := cmp.Or(noTime, noCount, noFailures); err != nil {
		return fmt.Errorf("ab: %w", err)
	}
	bytes, _ := number(abBytes, stdout) // no more than a column
	m.Ops, m.Bytes, m.Elapsed = int64(done), int64(bytes), time.Duration(seconds*float64(time.Second))
	readShares(abShare, stdout, 1e3, m)
	return checkAnswers(abPeer, m.Ops, int64(failed))
}

// readShares reads percentiles, each a share and a time in a unit of so many microseconds.
func readShares(of *regexp.Regexp, stdout string, unit float64, m *measure.Measurement) {
	for _, found := range of.FindAllStringSubmatch(stdout, -1) {
		took, _ := strconv.ParseFloat(found[2], 64)
		if metric, ok := map[string]harness.Metric{"50": harness.P50, "90": harness.P90, "99": harness.P99}[found[1]]; ok {
			m.Figures[string(metric)] = took * unit
		}
	}
}

// number returns the number in the group of an expression.
func number(of *regexp.Regexp, text string) (float64, error) {
	found := of.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("no %q in %q", of, clip(text))
	}
	return strconv.ParseFloat(found[1], 64)
}
