package tunnelbench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/http/webload"
	"paddock/lab/internal/scenario/tunneled"
	"paddock/lab/internal/sitecorpus"
	"paddock/lab/process"
)

//go:embed corpus.lua
var corpusScript []byte

// wrk runs it against a stand, after a warm-up, and counts the processor time of the stand's
// processes. path "" is the corpus.
func (b *Bench) wrk(ctx context.Context, s *stand, path string, conns int, o measure.Options) (*measure.Measurement, error) {
	found, err := exec.LookPath(b.Wrk)
	if err != nil {
		return nil, fmt.Errorf("no %s here: %w", b.Wrk, errors.ErrUnsupported)
	}
	script, err := webload.WriteScript(b.Dir)
	if err != nil {
		return nil, err
	}
	var tail []string
	if path == "" {
		path, script = "/0", filepath.Join(b.Dir, "corpus.lua")
		tail = []string{"--", strconv.Itoa(sitecorpus.Files)}
		if err := os.WriteFile(script, corpusScript, 0o600); err != nil {
			return nil, err
		}
	}
	run := func(d time.Duration) (*exec.Cmd, []byte, error) {
		seconds := max(1, int(d.Round(time.Second).Seconds()))
		args := []string{"-t1", fmt.Sprintf("-c%d", conns), fmt.Sprintf("-d%ds", seconds), "-s", script, "-H", "Host: " + tunneled.Host, "http://" + s.front + path}
		cmd := exec.CommandContext(ctx, found, append(args, tail...)...)
		out, err := process.CombinedOutput(cmd)
		if err != nil {
			err = fmt.Errorf("wrk: %w: %s", err, out)
		}
		return cmd, out, err
	}
	if _, _, err := run(o.Warmup); err != nil {
		return nil, err
	}
	machine, err := measure.MachineUsage()
	if err != nil {
		return nil, err
	}
	meter, err := measure.StartMeter(s)
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
	after, err := measure.MachineUsage()
	if err != nil {
		return nil, err
	}
	m.Machine = after.Sub(machine).Total()
	return m, webload.ReadSummary(string(out), m)
}

// Usage implements measure.User.
func (s *stand) Usage() (measure.Usage, error) { return webload.Usage(s.pids...) }

// readyWithin is how long a tunnel may take until it brings an answer.
const readyWithin = 15 * time.Second

// answers returns when the server at an address has answered.
func answers(ctx context.Context, front string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ticks := time.NewTicker(20 * time.Millisecond)
	defer ticks.Stop()
	for {
		r, err := http.NewRequestWithContext(ctx, http.MethodHead, "http://"+front+"/", nil)
		if err != nil {
			return err
		}
		answer, err := client.Do(r)
		if err == nil {
			return answer.Body.Close()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no answer through the tunnel: %w", err)
		case <-ticks.C:
		}
	}
}
