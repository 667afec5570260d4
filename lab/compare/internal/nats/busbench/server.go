package busbench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/internal/gofence"
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
)

// server is a server's process. It is given a free port because both programs
// understand -a and -p.
type server struct {
	addr    string
	profile string // where its profiles are served; "" without
	child   *process.Child
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
	s := &server{addr: net.JoinHostPort("127.0.0.1", port)}
	args := append(argv[1:len(argv):len(argv)], "-a", "127.0.0.1", "-p", port)
	if profiled {
		if port, err = programs.FreePort(); err != nil {
			return nil, err
		}
		s.profile = net.JoinHostPort("127.0.0.1", port)
		args = append(args, "--profile", port)
	}
	if s.child, err = process.Spawn(argv[0], exec.Command(argv[0], args...), process.Options{Place: where.Start}, nil, nil); err != nil {
		return nil, err
	}
	if err := s.child.Await(ctx, readyWithin, s.greets); err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

// greets reports whether the server greets.
func (s *server) greets(context.Context) error {
	nc, err := net.DialTimeout("tcp", s.addr, time.Second)
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
func (s *server) Usage() (measure.Usage, error) { return measure.ProcessUsage(s.child.Pid()) }

// Memory implements natsload.Server.
func (s *server) Memory() (int64, error) {
	use, err := process.Read(s.child.Pid())
	return use.Resident, err
}

// stop ends the process and waits for it.
func (s *server) stop() error { return s.child.Stop(stopWithin) }

// fetchProfile writes a profile of so many seconds of the server's CPU, from now
// on, into a file. wait returns when it is there.
func (s *server) fetchProfile(ctx context.Context, file string, d time.Duration) (wait func() error) {
	failed := make(chan error, 1)
	go func() {
		failed <- download(ctx, "http://"+s.profile, file, max(1, int(d.Round(time.Second).Seconds())))
	}()
	return func() error { return <-failed }
}

func download(ctx context.Context, url, file string, seconds int) error {
	p, err := gofence.FetchProfile(ctx, url, "", seconds)
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(p.Write(f), f.Close())
}
