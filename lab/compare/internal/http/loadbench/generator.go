package loadbench

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/peers"
	responders "paddock/lab/responder"
)

// order describes the work of a generator.
type order struct {
	op       measure.Operation
	url      string
	addr     string // of the service
	bodies   string // a file, one body a line
	script   string // wrk's
	out      string // a directory for files of the run
	conns    int
	rate     int // a second; 0 = closed
	warmup   time.Duration
	duration time.Duration
}

// seconds is the duration for programs that count whole ones.
func (o *order) seconds() string { return strconv.Itoa(int(o.duration / time.Second)) }

func (o *order) connections() string { return strconv.Itoa(o.conns) }

// generator is a program that makes load.
type generator struct {
	// args returns its arguments; an error that wraps [errors.ErrUnsupported] means that it cannot
	// do the work.
	args func(o *order) ([]string, error)
	// read reads its counts from its output.
	read func(stdout string, m *measure.Measurement) error
}

// others are the generators that are not ours, by peer.
var others = map[string]generator{
	wrkPeer: {wrkArgs, readWrk},
	abPeer:  {abArgs, readAb},
	heyPeer: {heyArgs, readHey},
	ohaPeer: {ohaArgs, readOha},

	natsPeer:  {publishArgs(natsPeer), readPublished},
	bufioPeer: {publishArgs(bufioPeer), readPublished},
}

// shares are the percentiles that are shown.
var shares = map[float64]harness.Metric{50: harness.P50, 90: harness.P90, 99: harness.P99}

// cannot returns the error of a program that does not support an operation.
func cannot(program string, op measure.Operation) error {
	return fmt.Errorf("%s does no %s: %w", program, op, errors.ErrUnsupported)
}

// checkAnswers is the error of a run with failures, or without an answer.
func checkAnswers(program string, done, failed int64) error {
	switch {
	case failed > 0:
		return fmt.Errorf("%s: %d of %d requests failed", program, failed, done)
	case done == 0:
		return fmt.Errorf("%s: no request was answered", program)
	}
	return nil
}

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
	return nil
}

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
		if metric, ok := shares[p.Percent]; ok {
			m.Figures[string(metric)] = us(p.Latency)
		}
	}
	return checkAnswers(abPeer, m.Ops, f.Failed)
}

// The reference for the programs: a service that stands still for a tenth of the time, with a load
// of a tenth of its capacity.
const (
	frozenText  = "1,000/s"
	frozenRate  = 1000
	frozenConns = 250 // more than come while it stands still, so that none waits for one
	frozenFor   = 200 * time.Millisecond
	// Also the warm-up: the service stands still as soon as the first request arrives, when the
	// connections have been made. Requests that were due until then have waited for the
	// connections, too. That is the truth, but the formula does not include it.
	frozenEvery = 2 * time.Second
	frozenSpeed = 10_000
)

func frozenLaw() *responders.Queue {
	return &responders.Queue{PerSecond: frozenSpeed, Frozen: frozenFor, Every: frozenEvery}
}

// frozenTime is a time in whole periods.
func frozenTime(d time.Duration) time.Duration { return max(d.Round(frozenEvery), frozenEvery) }

// known returns the response times of users that arrive at equal distances, from the formula of the
// law.
func known() *measure.Measurement {
	law := frozenLaw()
	m := &measure.Measurement{Ops: frozenRate, Elapsed: time.Second, Figures: map[string]float64{}}
	for metric, p := range map[harness.Metric]float64{harness.P50: 0.5, harness.P90: 0.9, harness.P99: 0.99, harness.P999: 0.999} {
		m.Figures[string(metric)] = us(law.Response(p, frozenRate))
	}
	return m
}
