package doors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"paddock/lab/process"
)

const (
	// StartWithin bounds a start, with the replay of the journal.
	StartWithin = 2 * time.Minute
	// AnswerWithin bounds one exchange.
	AnswerWithin = 10 * time.Second

	// stopWithin bounds a clean end.
	stopWithin = 30 * time.Second

	anyPort = "127.0.0.1:0"
)

// Setup is what each measurement of platforms needs. The tags are of the flags of `paddock bench`.
type Setup struct {
	Dir      string    `type:"path" placeholder:"DIR" help:"Directory on the disk to measure, for temporary files (default the user's cache directory, as the system's temporary one may be in memory)."`
	Sets     string    `type:"path" placeholder:"DIR" help:"Directory of GeoJSON files, one set of fences each (default the simulated city)."`
	Program  string    `kong:"-"` // that has the command up
	Progress io.Writer `kong:"-"`
}

// Say writes a line of progress.
func (s *Setup) Say(format string, args ...any) { fmt.Fprintf(s.Progress, format+"\n", args...) }

// Service is the configuration of platforms that are alike.
type Service struct {
	Program string // that has the command up
	Sets    string // directory of GeoJSON files; "": none
	Root    string // directory for temporary files
	Policy  string // of all sets
}

// Platform is a process of `paddock up`.
type Platform struct {
	*process.Child
	Begun           time.Time     // when it was started
	HTTP, Wire, Bus string        // host:port
	Restored        chan Restored // holds one

	ready chan string // holds one
}

// Restored is the log line of a start.
type Restored struct {
	After   time.Duration // since the start of the process
	Objects int
	Records int
}

// Launch starts a platform, without waiting for it. data is a directory, or "off".
func (s *Service) Launch(data, listen string, args ...string) (*Platform, error) {
	p := &Platform{Begun: time.Now(), ready: make(chan string, 1), Restored: make(chan Restored, 1)}
	if s.Sets != "" {
		args = append(args, "--sets", s.Sets)
	}
	cmd := exec.Command(s.Program, append([]string{
		"up", "--data", data, "--policy", s.Policy, "--no-watch", "--snapshots", filepath.Join(s.Root, "snapshots"),
		"--listen", listen, "--bus-listen", anyPort, "--wire-listen", anyPort, "--log-level", "info", "--log-format", "json",
	}, args...)...)
	cmd.Env = process.Environment()
	var err error
	p.Child, err = process.Spawn("paddock up", cmd, process.Options{Follows: true}, p.output, p.log)
	return p, err
}

// output reads the addresses. The last one makes the platform ready.
func (p *Platform) output(line []byte) {
	name, rest, _ := strings.Cut(string(line), ":")
	rest = strings.TrimSpace(rest)
	switch name {
	case "Dashboard":
		if u, err := url.Parse(rest); err == nil {
			p.HTTP = u.Host
		}
	case "Bus":
		p.Bus = strings.TrimPrefix(rest, "nats://")
	case "Wire":
		p.Wire = rest
		p.ready <- rest
	}
}

func (p *Platform) log(line []byte) {
	var record struct {
		Msg              string
		Objects, Records int
	}
	if json.Unmarshal(line, &record) != nil || record.Msg != "state restored" {
		return
	}
	select {
	case p.Restored <- Restored{time.Since(p.Begun), record.Objects, record.Records}:
	default:
	}
}

// Start starts a platform and waits for it.
func (s *Service) Start(ctx context.Context, data string, args ...string) (*Platform, error) {
	p, err := s.Launch(data, anyPort, args...)
	if err != nil {
		return nil, err
	}
	if _, err := p.Hear(ctx, StartWithin, p.ready); err != nil {
		return nil, errors.Join(err, p.End(ctx))
	}
	return p, nil
}

// End stops the platform. After an interrupt it may have ended already, as the terminal sends the
// signal to both.
func (p *Platform) End(ctx context.Context) error {
	if err := p.Child.End(stopWithin); ctx.Err() == nil {
		return err
	}
	return nil
}

// Counters returns metrics of the platform by their names with labels.
func (p *Platform) Counters(ctx context.Context) (map[string]float64, error) {
	return process.Metrics(ctx, p.HTTP)
}

// Reading is the counters of a platform at a moment.
type Reading struct {
	Accepted, Events, Records int64
	// Appending is the time until records were durable, one after the other.
	Appending, CPU time.Duration

	Written, Resident int64 // bytes: given to the disk so far, and of memory now
}

// Read reads the counters.
func (p *Platform) Read(ctx context.Context) (r Reading, err error) {
	counters, err := p.Counters(ctx)
	if err != nil {
		return r, err
	}
	r.Accepted = int64(counters[`paddock_track_updates_total{result="accepted"}`])
	for name, n := range counters {
		if strings.HasPrefix(name, "paddock_events_total{") {
			r.Events += int64(n)
		}
	}
	r.Records = int64(counters["paddock_journal_append_seconds_count"])
	r.Appending = time.Duration(counters["paddock_journal_append_seconds_sum"] * float64(time.Second))
	use, err := process.Read(p.Pid())
	r.CPU, r.Written, r.Resident = use.CPU, use.Written, use.Resident
	return r, err
}

// Measure sends positions, and returns the figures with what the counters have grown by meanwhile;
// Resident is that of the end. The platform must have accepted the positions that it acknowledged.
func (p *Platform) Measure(ctx context.Context, send func(context.Context) (Window, error)) (w Window, grown Reading, err error) {
	before, err := p.Read(ctx)
	if err != nil {
		return w, grown, err
	}
	if w, err = send(ctx); err != nil {
		return w, grown, err
	}
	after, err := p.Read(ctx)
	if err != nil {
		return w, grown, err
	}
	grown = Reading{
		Accepted: after.Accepted - before.Accepted, Events: after.Events - before.Events, Records: after.Records - before.Records,
		Appending: after.Appending - before.Appending, CPU: after.CPU - before.CPU, Written: after.Written - before.Written, Resident: after.Resident,
	}
	if grown.Accepted != w.Positions {
		err = fmt.Errorf("%d positions were acknowledged, and %d accepted", w.Positions, grown.Accepted)
	}
	return w, grown, err
}

// Files returns the number and the bytes of the files below a directory.
func Files(dir string) (files int, bytes int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			files++
			bytes += info.Size()
		}
		return err
	})
	return files, bytes, err
}

// Get returns an answer of a service as process.Ask does.
func Get(ctx context.Context, host, path string) (*http.Response, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerWithin)
	defer cancel()
	return process.Ask(ctx, http.MethodGet, "http://"+host+path, nil, nil)
}
