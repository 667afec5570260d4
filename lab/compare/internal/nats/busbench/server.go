package busbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/process"
)

const (
	// readyWithin is how long a server may take until it greets.
	readyWithin = 20 * time.Second
	// stopWithin is how long it may take to end after SIGTERM.
	stopWithin = 20 * time.Second
	// portAttempts is how often a server is started on another port because the
	// one found free was taken meanwhile.
	portAttempts = 3
	// errorText is how much of what a server says is kept for an error.
	errorText = 2 << 10
)

// server is a server's process. It is given a free port because both programs
// understand -a and -p.
type server struct {
	addr    string
	profile string // where its profiles are served; "" without
	command *exec.Cmd
	said    *tail
	ended   chan struct{} // closed when the process has ended
}

var _ natsload.Server = (*server)(nil)

// start starts a program and waits until it greets.
func start(ctx context.Context, argv []string, where *harness.Placement, profiled bool) (*server, error) {
	var failures []error
	for range portAttempts {
		s, err := startOnce(ctx, argv, where, profiled)
		if err == nil {
			return s, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

func startOnce(ctx context.Context, argv []string, where *harness.Placement, profiled bool) (*server, error) {
	port, err := programs.FreePort()
	if err != nil {
		return nil, err
	}
	s := &server{addr: net.JoinHostPort("127.0.0.1", port), said: &tail{}, ended: make(chan struct{})}
	args := append(argv[1:len(argv):len(argv)], "-a", "127.0.0.1", "-p", port)
	if profiled {
		if port, err = programs.FreePort(); err != nil {
			return nil, err
		}
		s.profile = net.JoinHostPort("127.0.0.1", port)
		args = append(args, "--profile", port)
	}
	s.command = exec.Command(argv[0], args...)
	s.command.Stdout, s.command.Stderr = s.said, s.said
	wait, err := process.Start(s.command, process.Options{Place: where.Start})
	if err != nil {
		return nil, err
	}
	go func() {
		_ = wait() // killed, as a rule
		close(s.ended)
	}()
	if err := s.ready(ctx); err != nil {
		_ = s.stop()
		return nil, fmt.Errorf("%w: %s", err, s.said)
	}
	return s, nil
}

// ready returns when the server greets.
func (s *server) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	for {
		if err := greets(s.addr); err == nil {
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("%s has ended", s.command.Path)
		case <-ctx.Done():
			return fmt.Errorf("%s does not greet: %w", s.command.Path, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func greets(addr string) error {
	nc, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	line, err := bufio.NewReader(nc).ReadString('\n')
	if err == nil && !strings.HasPrefix(line, "INFO ") {
		err = fmt.Errorf("a greeting of %.40q", line)
	}
	return err
}

// Addr implements natsload.Server.
func (s *server) Addr() string { return s.addr }

// Usage implements natsload.Server.
func (s *server) Usage() (measure.Usage, error) { return measure.ProcessUsage(s.command.Process.Pid) }

// Memory implements natsload.Server.
func (s *server) Memory() (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", s.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	fields := strings.Fields(string(text))
	if len(fields) < 2 {
		return 0, fmt.Errorf("statm: %q", text)
	}
	pages, err := strconv.ParseInt(fields[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// stop ends the process and waits for it.
func (s *server) stop() error {
	select {
	case <-s.ended:
		return fmt.Errorf("the server has ended by itself: %s", s.said)
	default:
	}
	err := s.command.Process.Signal(syscall.SIGTERM)
	timer := time.NewTimer(stopWithin)
	defer timer.Stop()
	select {
	case <-s.ended:
		return err
	case <-timer.C:
		err = errors.Join(err, s.command.Process.Kill(), fmt.Errorf("still there %v after SIGTERM", stopWithin))
		<-s.ended
		return err
	}
}

// fetchProfile writes a profile of so many seconds of the server's CPU, from now
// on, into a file. wait returns when it is there.
func (s *server) fetchProfile(ctx context.Context, file string, d time.Duration) (wait func() error) {
	failed := make(chan error, 1)
	url := fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.profile, max(1, int(d.Round(time.Second).Seconds())))
	go func() { failed <- download(ctx, url, file) }()
	return func() error { return <-failed }
}

func download(ctx context.Context, url, file string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, response.Body)
	return errors.Join(err, f.Close())
}

// tail keeps the end of what a process says.
type tail struct {
	mu   sync.Mutex
	text []byte
}

// Write implements io.Writer.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = append(t.text, p...)
	if over := len(t.text) - errorText; over > 0 {
		t.text = append(t.text[:0], t.text[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}
