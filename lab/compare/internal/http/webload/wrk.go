package webload

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/process"
)

//go:embed wrk.lua
var wrkScript []byte

// Conns are the connections of the original benchmark, which one thread of wrk served.
const Conns = 50

// Wrk runs wrk against a service, after a warm-up by the same program, and counts the
// processor time of the service. bodies is a file to post; "" gets the path.
func Wrk(ctx context.Context, program, dir string, s Service, path, bodies string, o measure.Options) (*measure.Measurement, error) {
	found, err := exec.LookPath(program)
	if err != nil {
		return nil, fmt.Errorf("no %s here: %w", program, errors.ErrUnsupported)
	}
	script, err := WriteScript(dir)
	if err != nil {
		return nil, err
	}
	run := func(d time.Duration) (*exec.Cmd, []byte, error) {
		seconds := max(1, int(d.Round(time.Second).Seconds()))
		args := []string{"-t1", fmt.Sprintf("-c%d", Conns), fmt.Sprintf("-d%ds", seconds), "-s", script, "http://" + s.Addr() + path}
		if bodies != "" {
			args = append(args, "--", "post", bodies)
		}
		cmd := exec.CommandContext(ctx, found, args...)
		out, err := process.CombinedOutput(cmd)
		if err != nil {
			err = fmt.Errorf("wrk: %w: %s", err, out)
		}
		return cmd, out, err
	}
	if _, _, err := run(o.Warmup); err != nil {
		return nil, err
	}
	w, err := OpenWindow(s)
	if err != nil {
		return nil, err
	}
	cmd, out, err := run(o.Duration)
	if err != nil {
		return nil, err
	}
	m, err := w.Close()
	if err != nil {
		return nil, err
	}
	m.Client = measure.Usage{User: cmd.ProcessState.UserTime(), System: cmd.ProcessState.SystemTime()}
	return m, ReadSummary(string(out), m)
}

// WriteScript writes the script for wrk into a directory, and returns its path: the script
// describes its arguments.
func WriteScript(dir string) (path string, err error) {
	path = filepath.Join(dir, "wrk.lua")
	return path, os.WriteFile(path, wrkScript, 0o600)
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
