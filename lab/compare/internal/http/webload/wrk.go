package webload

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
)

// Conns are the connections of the original benchmark, which one thread of wrk served.
const Conns = 50

// Wrk is a run of wrk with one thread.
type Wrk struct {
	Program string    // looked for in PATH
	Load    Processes // of the service that is measured
	Conns   int
	Script  string   // file; see peers.WriteWrkScript
	Args    []string // behind the flags for the load: the URL, and the script's own
}

// Measure runs wrk twice, for a warm-up and for the window, and counts the processor time of the
// service.
func (w *Wrk) Measure(ctx context.Context, o measure.Options) (*measure.Measurement, error) {
	program, err := programs.Find(w.Program)
	if err != nil {
		return nil, err
	}
	run := func(d time.Duration) (*exec.Cmd, []byte, error) {
		seconds := max(1, int(d.Round(time.Second).Seconds()))
		args := []string{"-t1", fmt.Sprintf("-c%d", w.Conns), fmt.Sprintf("-d%ds", seconds), "-s", w.Script}
		cmd := exec.CommandContext(ctx, program, append(args, w.Args...)...)
		out, err := process.CombinedOutput(cmd)
		if err != nil {
			err = fmt.Errorf("wrk: %w: %s", err, out)
		}
		return cmd, out, err
	}
	if _, _, err := run(o.Warmup); err != nil {
		return nil, err
	}
	meter, err := measure.StartMachineMeter(w.Load)
	if err != nil {
		return nil, err
	}
	cmd, out, err := run(o.Duration)
	if err != nil {
		return nil, err
	}
	m := &measure.Measurement{}
	if err := meter.Stop(m); err != nil {
		return nil, err
	}
	m.Client = measure.Usage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
	return m, ReadSummary(string(out), m)
}

// Get loads a path of a service. bodies is a file to post; "" gets the path.
func Get(ctx context.Context, program, dir string, s Service, path, bodies string, o measure.Options) (*measure.Measurement, error) {
	script, err := peers.WriteWrkScript(dir)
	if err != nil {
		return nil, err
	}
	w := Wrk{Program: program, Load: Processes{s.Pid()}, Conns: Conns, Script: script, Args: []string{"http://" + s.Addr() + path}}
	if bodies != "" {
		w.Args = append(w.Args, "--", "post", bodies)
	}
	return w.Measure(ctx, o)
}

// ReadSummary reads the script's line. An answer that is no success, or a connection
// that failed, is an error.
func ReadSummary(out string, m *measure.Measurement) error {
	_, line, ok := strings.Cut(out, "\nsummary ")
	if !ok {
		return fmt.Errorf("wrk has no summary: %q", out)
	}
	var micros, failed int64
	var mean, p50, p90, p99, p999, longest int64
	_, err := fmt.Sscanf(line, "requests=%d duration=%d bytes=%d errors=%d mean=%d p50=%d p90=%d p99=%d p999=%d max=%d",
		&m.Ops, &micros, &m.Bytes, &failed, &mean, &p50, &p90, &p99, &p999, &longest)
	switch {
	case err != nil:
		return fmt.Errorf("wrk's summary: %w: %q", err, line)
	case failed > 0:
		return fmt.Errorf("%d of %d requests failed", failed, m.Ops)
	case m.Ops == 0:
		return errors.New("wrk had no answer")
	}
	us := func(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
	m.Elapsed = us(micros)
	m.Latency = measure.Latency{Count: m.Ops, Mean: us(mean), P50: us(p50), P90: us(p90), P99: us(p99), P999: us(p999), Max: us(longest)}
	return nil
}
