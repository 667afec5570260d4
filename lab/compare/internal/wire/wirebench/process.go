package wirebench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/drive"
	"paddock/lab/compare/internal/wire/peers"
	"paddock/lab/process"
)

// command is what the measuring process asks of a server, which is this program again. It goes to
// the server's standard input as a line of JSON, and the server answers with a reply. When the
// input ends, so does the server, however the measuring process ended.
type command struct {
	Do    string        // "received", "await" or "profile"
	Bytes int64         // await: it returns when so many have been received
	Limit time.Duration // await: or after this time
	File  string        // profile: it is of the time from now until the end
}

// reply is the answer to a command. The first reply comes by itself, and has the address.
type reply struct {
	Addr               string
	Certificate        []byte // DER; nil without TLS
	Messages, Bytes    int64  // received
	Unsupported, Error string // why not, instead
}

// awaitEvery is the interval at which a server looks whether the awaited messages have come.
const awaitEvery = 100 * time.Microsecond

// ServeCommand is the first argument of the process that a measurement starts. PEER [tls] follow.
const ServeCommand = "serve"

// Child is that process, with the arguments that follow.
func Child(args []string, in io.Reader, out io.Writer) error {
	if len(args) == 0 {
		return errors.New("serve: which peer?")
	}
	peer, err := peers.Find(args[0])
	if err != nil {
		return err
	}
	return Serve(peer, len(args) > 1 && args[1] == "tls", in, out)
}

// Serve is the server's process: it serves one peer until in ends.
func Serve(peer peers.Peer, withTLS bool, in io.Reader, out io.Writer) error {
	svc, certificate, err := newService(withTLS)
	if err != nil {
		return err
	}
	stop, err := peer.Serve(svc)
	to := json.NewEncoder(out)
	if err != nil {
		svc.Listener.Close()
		return errors.Join(err, to.Encode(reply{Error: err.Error()}))
	}
	if err = to.Encode(reply{Addr: svc.Addr, Certificate: certificate}); err == nil {
		err = answer(svc.Sink, in, to)
	}
	return errors.Join(err, stop())
}

func newService(withTLS bool) (*peers.Service, []byte, error) {
	svc := &peers.Service{Sink: &peers.Sink{}}
	var certificate []byte
	var err error
	if withTLS {
		if svc.TLS, certificate, err = peers.NewCertificate(); err != nil {
			return nil, nil, err
		}
	}
	if svc.Listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		return nil, nil, err
	}
	svc.Addr = svc.Listener.Addr().String()
	return svc, certificate, nil
}

// answer answers commands until there are no more.
func answer(sink *peers.Sink, in io.Reader, to *json.Encoder) (err error) {
	stop := func() error { return nil } // ends the profile
	defer func() { err = errors.Join(err, stop()) }()
	for from := json.NewDecoder(in); ; {
		var c command
		if err := from.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		var r reply
		var failed error
		switch c.Do {
		case "await":
			await(sink, c.Bytes, c.Limit)
		case "profile":
			if end, err := process.Profile(c.File); err == nil {
				stop = end
			} else {
				failed = err
			}
		case "received":
		default:
			failed = errors.New("no such command")
		}
		if r.Messages, r.Bytes = sink.Totals(); failed != nil {
			r.Error = failed.Error()
		}
		if err := to.Encode(r); err != nil {
			return err
		}
	}
}

func await(sink *peers.Sink, bytes int64, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(awaitEvery) {
		if _, b := sink.Totals(); b >= bytes {
			return
		}
	}
}

// Server is the measuring side's hold on a server's process.
type Server struct {
	Addr        string
	Certificate []byte // DER; nil without TLS

	ctx   context.Context // of the turn
	child *process.Child
	input io.WriteCloser
	lines chan string
}

var _ drive.Remote = (*Server)(nil)

const (
	// answersWithin is the time for a reply, besides the limit of await.
	answersWithin = 10 * time.Second
	// endsWithin is the time for the end behind the end of the input.
	endsWithin = 10 * time.Second
)

// start starts a server's process and waits until it listens. argv is the program and the arguments
// that make it call Serve; where is nil to let the kernel choose.
func start(ctx context.Context, argv []string, where *harness.Placement) (*Server, error) {
	s, cmd := &Server{ctx: ctx}, exec.Command(argv[0], argv[1:]...)
	var err error
	if s.input, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	lines, take := process.Lines()
	s.lines = lines
	if s.child, err = process.Spawn("the server", cmd, process.Options{Place: where.Start}, take, nil); err != nil {
		return nil, err
	}
	first, err := s.read(0)
	if err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	s.Addr, s.Certificate = first.Addr, first.Certificate
	return s, nil
}

func (s *Server) read(within time.Duration) (r reply, err error) {
	line, err := s.child.Hear(s.ctx, answersWithin+within, s.lines)
	if err == nil {
		err = json.Unmarshal([]byte(line), &r)
	}
	if err == nil && r.Error != "" {
		err = fmt.Errorf("the server: %s", r.Error)
	}
	return r, err
}

func (s *Server) ask(c command) (reply, error) {
	if err := json.NewEncoder(s.input).Encode(c); err != nil {
		return reply{}, err
	}
	return s.read(c.Limit)
}

// Usage implements drive.Remote.
func (s *Server) Usage() (measure.Usage, error) { return measure.ProcessUsage(s.child.Pid()) }

// Received implements drive.Remote.
func (s *Server) Received() (messages, bytes int64, err error) {
	r, err := s.ask(command{Do: "received"})
	return r.Messages, r.Bytes, err
}

// Await implements drive.Remote.
func (s *Server) Await(bytes int64, limit time.Duration) error {
	got, err := s.ask(command{Do: "await", Bytes: bytes, Limit: limit})
	if err == nil && got.Bytes < bytes {
		err = fmt.Errorf("within %v %d bytes arrived, of %d", limit, got.Bytes, bytes)
	}
	return err
}

// Profile writes a profile of the server's CPU into a file, from now until Stop.
func (s *Server) Profile(file string) error {
	_, err := s.ask(command{Do: "profile", File: file})
	return err
}

// Stop ends the process and waits for it.
func (s *Server) Stop() error { return s.child.EndInput(s.input, endsWithin) }
