package busbench

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/harness/programs"
	"paddock/lab/compare/internal/nats/natsload"
	"paddock/lab/internal/gofence"
	"paddock/lab/internal/peers"
	"paddock/lab/process"
)

// server is a server's process.
type server struct {
	*peers.Stand
	profile string // where its profiles are served; "" without
}

var _ natsload.Server = (*server)(nil)

// start starts a program and waits until it greets.
func start(ctx context.Context, argv []string, where *harness.Placement, profiled bool) (*server, error) {
	s := &server{}
	if profiled {
		port, err := programs.FreePort()
		if err != nil {
			return nil, err
		}
		s.profile = net.JoinHostPort("127.0.0.1", port)
		argv = append(argv[:len(argv):len(argv)], "--profile", port)
	}
	var err error
	s.Stand, err = peers.StartNATS(ctx, argv, where.Start)
	return s, err
}

// Usage implements natsload.Server.
func (s *server) Usage() (measure.Usage, error) { return measure.ProcessUsage(s.Pid()) }

// Memory implements natsload.Server.
func (s *server) Memory() (int64, error) {
	use, err := process.Read(s.Pid())
	return use.Resident, err
}

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
