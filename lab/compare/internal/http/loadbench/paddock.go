package loadbench

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/internal/runfile"
)

// paddockArgs are the arguments of ours, which sends the bytes that wrk sends.
func paddockArgs(o *order) []string {
	common := []string{"--allow-red", "--json", "-d", o.duration.String()}
	if o.op == opPublish {
		return append([]string{
			"bench", "nats", "pub", "-a", o.addr, "-s", publishSubject, "--payload", strconv.Itoa(publishBytes), "--depth", publishDepth, "-q",
		}, common...)
	}
	args := append([]string{"bench", "http", o.url, "-H", "User-Agent:", "-H", "Accept:", "-c", o.connections()}, common...)
	if o.op != opReported {
		args = append(args, "-q")
	}
	if o.out != "" {
		args = append(args, "--out", o.out)
	}
	if o.rate > 0 {
		args = append(args, "--rate", strconv.Itoa(o.rate)+"/s", "--warmup", o.warmup.String())
	}
	switch o.op {
	case opPost, opMemory:
		args = append(args, "--bodies", o.bodies, "-H", "Content-Type: application/json")
	case opPipeline:
		args = append(args, "--depth", strconv.Itoa(depth))
	case opSleep:
		args = append(args, "--pace", "sleep")
	case opSpin:
		args = append(args, "--pace", "spin")
	}
	return args
}

// readPaddock reads run.json as it prints it.
func readPaddock(stdout string, m *measure.Measurement) (*runfile.Document, error) {
	var d runfile.Document
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		return nil, fmt.Errorf("paddock: %w in %q", err, clip(stdout))
	}
	t := &d.Totals
	m.Ops, m.Bytes, m.Elapsed = t.Done, t.BytesIn, time.Duration(t.Elapsed)
	timesInto(m.Figures, d.Response)
	return &d, checkAnswers(ourPeer, t.Done, t.Done-t.Good+t.Unanswered+t.Unsent)
}

// timesInto makes the quantiles of some times figures.
func timesInto(figures map[string]float64, t *runfile.Times) {
	if t == nil {
		return
	}
	for _, q := range t.Quantiles {
		if metric, ok := map[float64]harness.Metric{0.5: harness.P50, 0.9: harness.P90, 0.99: harness.P99, 0.999: harness.P999}[q.Q]; ok {
			figures[string(metric)] = float64(q.Value) / 1e3
		}
	}
}

// paceInto replaces the figures of the answers by those of the sends.
func paceInto(m *measure.Measurement, d *runfile.Document) {
	timesInto(m.Figures, d.Lag)
	m.Figures[string(harness.RateError)] = rateError(d.Totals.Sent, d.Totals.Elapsed)
}

// rateError is by how many percent the number of sends in so many ns is off.
func rateError(sent, ns int64) float64 {
	meant := pacing * time.Duration(ns).Seconds()
	return 100 * math.Abs(float64(sent)/meant-1)
}

func us(d time.Duration) float64 { return float64(d) / 1e3 }
