package durable

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"paddock/lab/process"
)

const (
	// startWithin bounds a start, with the replay of the journal.
	startWithin = 2 * time.Minute
	// stopWithin bounds a clean end.
	stopWithin = 30 * time.Second
	// answerWithin bounds one exchange.
	answerWithin = 10 * time.Second

	anyPort = "127.0.0.1:0"
)

// platform is a process of `paddock up`.
type platform struct {
	*process.Child
	begun      time.Time // when it was started
	http, wire string    // host:port
	ready      chan struct{}
	restored   chan restored // holds one
}

// restored is the log line of a start.
type restored struct {
	after   time.Duration // since the start of the process
	objects int
	records int
}

// launch starts a platform, without waiting for it. data is a directory, or "off".
func (b *bench) launch(data, listen string, args ...string) (*platform, error) {
	p := &platform{begun: time.Now(), ready: make(chan struct{}), restored: make(chan restored, 1)}
	cmd := exec.Command(b.Program, append([]string{
		"up", "--data", data, "--policy", "raw", "--sets", b.Sets, "--no-watch", "--snapshots", filepath.Join(b.root, "snapshots"),
		"--listen", listen, "--bus-listen", anyPort, "--wire-listen", anyPort, "--log-level", "info", "--log-format", "json",
	}, args...)...)
	cmd.Env = process.Environment()
	var err error
	p.Child, err = process.Spawn("paddock up", cmd, process.Options{Follows: true}, p.output, p.log)
	return p, err
}

// output reads the addresses. The last one makes the platform ready.
func (p *platform) output(line []byte) {
	name, rest, _ := strings.Cut(string(line), ":")
	rest = strings.TrimSpace(rest)
	switch name {
	case "Dashboard":
		if u, err := url.Parse(rest); err == nil {
			p.http = u.Host
		}
	case "Wire":
		p.wire = rest
		close(p.ready)
	}
}

func (p *platform) log(line []byte) {
	var record struct {
		Msg              string
		Objects, Records int
	}
	if json.Unmarshal(line, &record) != nil || record.Msg != "state restored" {
		return
	}
	select {
	case p.restored <- restored{time.Since(p.begun), record.Objects, record.Records}:
	default:
	}
}

// wait returns when the platform serves.
func (p *platform) wait(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	select {
	case <-p.ready:
		return nil
	case <-p.Ended():
		return p.Failure()
	case <-ctx.Done():
		return fmt.Errorf("paddock up does not serve: %w", ctx.Err())
	}
}

// start starts a platform and waits for it.
func (b *bench) start(ctx context.Context, data string, args ...string) (*platform, error) {
	p, err := b.launch(data, anyPort, args...)
	if err != nil {
		return nil, err
	}
	if err := p.wait(ctx); err != nil {
		return nil, errors.Join(err, p.end(ctx))
	}
	return p, nil
}

// end stops the platform. After an interrupt it may have ended already, as the terminal sends the
// signal to both.
func (p *platform) end(ctx context.Context) error {
	err := p.Stop(stopWithin)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	return p.ExitError()
}

// counters returns metrics of the platform by their names with labels.
func (p *platform) counters(ctx context.Context) (map[string]float64, error) {
	status, _, text, err := get(ctx, p.http, "/metrics")
	if err != nil {
		return nil, err
	}
	if status != 200 {
		return nil, fmt.Errorf("GET /metrics: answer %d", status)
	}
	all := map[string]float64{}
	for line := range strings.Lines(text) {
		at := strings.LastIndexByte(line, ' ')
		if at < 0 || line[0] == '#' {
			continue
		}
		if v, err := strconv.ParseFloat(strings.TrimSpace(line[at:]), 64); err == nil {
			all[line[:at]] = v
		}
	}
	return all, nil
}
