package gofence

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"paddock/lab/process"
)

const (
	// serverStart is how long a server may take until it listens: the kinds that
	// build slowest, from a file of many fences, on a slow machine.
	serverStart = 2 * time.Minute
	// serverStop is how long it may take to end after SIGTERM.
	serverStop = 20 * time.Second
	// lastWords is how much of a server's log is kept for an error, in bytes.
	lastWords = 2 << 10
)

// Server is a process of `paddock fence`, `paddock web` or `paddock bus` on a port of its
// own.
type Server struct {
	URL     string        // http://host:port, or nats://
	Started time.Duration // from the start of the process until it listened

	name    string // of the command
	command *exec.Cmd
	wait    func() error
	said    []byte        // the end of its log; complete once ended is closed
	ended   chan struct{} // closed when the process has ended and its log has been read
	failed  error         // of the process; read it once ended is closed
}

// StartFence starts program as `paddock fence` with the arguments, and returns when it
// listens. Its log is read for its address and kept for errors. Unless the arguments say
// otherwise it keeps no snapshots: what is measured leaves nothing in the user's cache,
// and begins like the first start.
func StartFence(ctx context.Context, program string, args ...string) (*Server, error) {
	return start(ctx, program, "fence", append([]string{"--snapshots", "off"}, args...))
}

// StartWeb does the same for `paddock web`.
func StartWeb(ctx context.Context, program string, args ...string) (*Server, error) {
	return start(ctx, program, "web", args)
}

// StartBus does the same for `paddock bus`.
func StartBus(ctx context.Context, program string, args ...string) (*Server, error) {
	return start(ctx, program, "bus", args)
}

func start(ctx context.Context, program, name string, args []string) (*Server, error) {
	s := &Server{name: "paddock " + name, ended: make(chan struct{})}
	args = append([]string{name, "--log-level", "info", "--log-format", "json", "--port", "0"}, args...)
	s.command = exec.Command(program, args...)
	s.command.Env = process.Environment()
	stderr, err := s.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if s.wait, err = process.Start(s.command, process.Options{Follows: true}); err != nil {
		return nil, err
	}
	listens := make(chan string, 1) // the reader leaves its one word, whether anybody waits or not
	go s.serve(stderr, listens)
	timer := time.NewTimer(serverStart)
	defer timer.Stop()
	select {
	case s.URL = <-listens:
		s.Started = time.Since(began)
		return s, nil
	case <-s.ended:
		return nil, fmt.Errorf("%s: %w: %s", s.name, cmp.Or(s.failed, errors.New("it ended")), s.said)
	case <-ctx.Done():
		err = ctx.Err()
	case <-timer.C:
		err = fmt.Errorf("%s does not listen after %v", s.name, serverStart)
	}
	return nil, errors.Join(err, s.Stop())
}

// serve reads the log until the process ends. It ends with the process.
func (s *Server) serve(log io.Reader, listens chan<- string) {
	defer close(s.ended)
	in := bufio.NewReader(log)
	for {
		line, err := in.ReadBytes('\n')
		s.said = append(s.said, line...)
		if over := len(s.said) - lastWords; over > 0 {
			s.said = bytes.Clone(s.said[over:])
		}
		if url := listening(line); url != "" && listens != nil {
			listens <- url
			listens = nil
		}
		if err != nil {
			break
		}
	}
	s.failed = s.wait()
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

// Pid is the process's id.
func (s *Server) Pid() int { return s.command.Process.Pid }

// Stop drains the process and waits for its end. One that does not end is killed, and
// one that has ended before is an error.
func (s *Server) Stop() error {
	select {
	case <-s.ended:
		return fmt.Errorf("%s has ended by itself: %s", s.name, s.said)
	default:
	}
	err := s.command.Process.Signal(syscall.SIGTERM)
	timer := time.AfterFunc(serverStop, func() { _ = s.command.Process.Kill() })
	defer timer.Stop()
	<-s.ended
	return errors.Join(err, s.failed)
}
