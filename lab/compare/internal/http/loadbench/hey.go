package loadbench

import (
	"fmt"
	"regexp"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness/measure"
)

// heyArgs are the arguments of hey, whose rate is that of each worker.
func heyArgs(o *order) ([]string, error) {
	args := []string{"-z", o.duration.String(), "-c", o.connections()}
	switch o.op {
	case opFrozen:
		args = append(args, "-q", strconv.Itoa(o.rate/o.conns))
	case opNull, opNginx:
	default:
		return nil, cannot(heyPeer, o.op)
	}
	return append(args, o.url), nil
}

var (
	heyTotal   = regexp.MustCompile(`(?m)^  Total:\t([0-9.]+) secs$`)
	heyShare   = regexp.MustCompile(`(?m)^ +(\d+)% in ([0-9.]+) secs$`)
	heyAnswers = regexp.MustCompile(`(?m)^  \[(\d+)\]\t(\d+) responses$`)
)

// readHey reads its text. It counts no bytes of heads.
func readHey(stdout string, m *measure.Measurement) error {
	total := heyTotal.FindStringSubmatch(stdout)
	if total == nil {
		return fmt.Errorf("hey: no %q in %q", heyTotal, clip(stdout))
	}
	seconds, err := strconv.ParseFloat(total[1], 64)
	if err != nil {
		return fmt.Errorf("hey: %w", err)
	}
	m.Elapsed = time.Duration(seconds * float64(time.Second))
	var failed int64
	for _, found := range heyAnswers.FindAllStringSubmatch(stdout, -1) {
		n, _ := strconv.ParseInt(found[2], 10, 64)
		m.Ops += n
		if found[1][0] != '2' {
			failed += n
		}
	}
	for _, found := range heyShare.FindAllStringSubmatch(stdout, -1) {
		percent, _ := strconv.ParseFloat(found[1], 64) // of digits
		took, _ := strconv.ParseFloat(found[2], 64)
		if metric, ok := shares[percent]; ok {
			m.Figures[string(metric)] = took * 1e6
		}
	}
	return checkAnswers(heyPeer, m.Ops, failed)
}
