package process

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"time"
)

const (
	// serverStart is how long a server may take until it listens: the kinds that
	// build slowest, from a file of many fences, on a slow machine.
	serverStart = 2 * time.Minute
	// serverStop is how long it may take to end after SIGTERM.
	serverStop = 20 * time.Second
)

// Server is a process of `paddock fence`, `paddock web` or `paddock bus` on a port of its
// own.
type Server struct {
	URL     string        // http://host:port, or nats://
	Started time.Duration // from the start of the process until it listened

	child *Child
}

// StartFence starts program as `paddock fence` with the arguments, and returns when it listens. It
// reads the address from the log, whose end is kept for errors. Unless the arguments say otherwise
// the server keeps no snapshots, so that a measurement leaves nothing in the user's cache and
// begins like the first start.
func StartFence(ctx context.Context, program string, args ...string) (*Server, error) {
	return startServer(ctx, program, "fence", append([]string{"--snapshots", "off"}, args...))
}

// StartWeb does the same for `paddock web`.
func StartWeb(ctx context.Context, program string, args ...string) (*Server, error) {
	return startServer(ctx, program, "web", args)
}

// StartBus does the same for `paddock bus`.
func StartBus(ctx context.Context, program string, args ...string) (*Server, error) {
	return startServer(ctx, program, "bus", args)
}

func startServer(ctx context.Context, program, name string, args []string) (*Server, error) {
	cmd := exec.Command(program, append([]string{name, "--log-level", "info", "--log-format", "json", "--port", "0"}, args...)...)
	cmd.Env = Environment()
	listens, take := Lines()
	began := time.Now()
	child, err := Spawn("paddock "+name, cmd, Options{Follows: true}, nil, func(line []byte) {
		if url := listening(line); url != "" {
			take([]byte(url))
		}
	})
	if err != nil {
		return nil, err
	}
	s := &Server{child: child}
	if s.URL, err = child.Hear(ctx, serverStart, listens); err != nil {
		select {
		case <-child.Ended():
			return nil, err
		default:
			return nil, errors.Join(err, s.Stop())
		}
	}
	s.Started = time.Since(began)
	return s, nil
}

// listening gives where the server listens, if a line of its log says so.
func listening(line []byte) string {
	var record struct{ Msg, URL string }
	if json.Unmarshal(line, &record) != nil {
		return ""
	}
	if record.Msg == "listening" {
		return record.URL
	}
	if at, is := strings.CutPrefix(record.Msg, "Listening for client connections on "); is {
		return "nats://" + at // as nats-server says it
	}
	return ""
}

// Addr is its host:port.
func (s *Server) Addr() string {
	u, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return u.Host
}

// Pid returns the id of the process.
func (s *Server) Pid() int { return s.child.Pid() }

// Stop drains the process and waits for its end. It is an error if the process has ended before,
// has to be killed, or fails.
func (s *Server) Stop() error { return s.child.End(serverStop) }
