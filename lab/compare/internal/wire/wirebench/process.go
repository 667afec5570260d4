package wirebench

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"os/exec"
	"strings"
	"time"

	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/lab/compare/internal/wire/drive"
	"paddock/lab/compare/internal/wire/peers"
	"paddock/lab/process"
)

// The server is this program again. It gets commands by lines on its standard input and answers
// each with one line; when the input ends, so does the server, however the measuring process ended.
//
//	                  ready ADDRESS [CERTIFICATE]
//	usage             usage USER SYSTEM               nanoseconds so far
//	received          received MESSAGES BYTES
//	profile FILE      profiling                       from now until it ends
//	await M B LIMIT   received MESSAGES BYTES         once both are reached, or after LIMIT ns
//
// A line that begins with "unsupported " or "error " says why instead.
const (
	lineReady       = "ready %s %s"
	lineUsage       = "usage %d %d"
	lineReceived    = "received %d %d"
	lineAwait       = "await %d %d %d"
	lineProfile     = "profile %q"
	lineProfiling   = "profiling"
	lineUnsupported = "unsupported "
	lineError       = "error "
)

// awaitEvery is the interval at which a server looks whether the awaited messages have come.
const awaitEvery = 100 * time.Microsecond

// Serve is the server's process: it serves one peer until in ends.
func Serve(peer peers.Peer, withTLS bool, in io.Reader, out io.Writer) error {
	svc, certificate, err := newService(withTLS)
	if err != nil {
		return err
	}
	stop, err := peer.Serve(svc)
	if errors.Is(err, errors.ErrUnsupported) {
		svc.Listener.Close()
		_, err = fmt.Fprintln(out, lineUnsupported+err.Error())
		return err
	}
	if err != nil {
		svc.Listener.Close()
		_, saying := fmt.Fprintln(out, lineError+err.Error())
		return errors.Join(err, saying)
	}
	_, err = fmt.Fprintf(out, lineReady+"\n", svc.Addr, base64.StdEncoding.EncodeToString(certificate))
	if err == nil {
		err = answer(svc.Sink, in, out)
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

// desk answers the lines of one server.
type desk struct {
	sink *peers.Sink
	stop func() error // ends the profile; nil without one
}

// answer answers lines until there are no more.
func answer(sink *peers.Sink, in io.Reader, out io.Writer) (err error) {
	d := &desk{sink: sink}
	defer func() {
		if d.stop != nil {
			err = errors.Join(err, d.stop())
		}
	}()
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if _, err := fmt.Fprintln(out, d.answer(lines.Text())); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (d *desk) answer(line string) string {
	command, _, _ := strings.Cut(line, " ")
	switch command {
	case "usage":
		u, err := measure.OwnUsage()
		if err != nil {
			return lineError + err.Error()
		}
		return fmt.Sprintf(lineUsage, u.User, u.System)
	case "await":
		var messages, bytes int64
		var limit time.Duration
		if _, err := fmt.Sscanf(line, lineAwait, &messages, &bytes, &limit); err != nil {
			return lineError + err.Error()
		}
		await(d.sink, messages, bytes, limit)
	case "profile":
		var file string
		if _, err := fmt.Sscanf(line, lineProfile, &file); err != nil {
			return lineError + err.Error()
		}
		stop, err := harness.Profile(file)
		if err != nil {
			return lineError + err.Error()
		}
		d.stop = stop
		return lineProfiling
	case "received":
	default:
		return lineError + "no such command"
	}
	messages, bytes := d.sink.Totals()
	return fmt.Sprintf(lineReceived, messages, bytes)
}

func await(sink *peers.Sink, messages, bytes int64, limit time.Duration) {
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(awaitEvery) {
		if m, b := sink.Totals(); m >= messages && b >= bytes {
			return
		}
	}
}

// Server is the measuring side's hold on a server's process.
type Server struct {
	Addr        string
	Certificate []byte // DER; nil without TLS

	command *exec.Cmd
	wait    func() error
	input   io.WriteCloser
	output  *bufio.Reader
}

var _ drive.Remote = (*Server)(nil)

// start starts a server's process and waits until it listens. argv is the
// program and the arguments that make it call Serve; where is nil to let the
// kernel choose.
func start(ctx context.Context, argv []string, where *harness.Placement) (*Server, error) {
	s := &Server{command: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	var stderr strings.Builder
	s.command.Stderr = &stderr
	output, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if s.input, err = s.command.StdinPipe(); err != nil {
		return nil, err
	}
	if s.wait, err = process.Start(s.command, process.Options{Place: where.Start}); err != nil {
		return nil, err
	}
	s.output = bufio.NewReader(output)
	if err := s.ready(); err != nil {
		s.input.Close()
		_ = s.wait() // its output says more than its status
		return nil, fmt.Errorf("%w%s", err, stderr.String())
	}
	return s, nil
}

func (s *Server) ready() error {
	line, err := s.readLine()
	if err != nil {
		return err
	}
	fields := strings.Fields(line)
	if len(fields) < 2 || fields[0] != "ready" {
		return fmt.Errorf("not a server: %q", line)
	}
	s.Addr = fields[1]
	if len(fields) > 2 {
		s.Certificate, err = base64.StdEncoding.DecodeString(fields[2])
	}
	return err
}

func (s *Server) readLine() (string, error) {
	line, err := s.output.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("the server's process ended: %w", err)
	}
	line = strings.TrimSuffix(line, "\n")
	if why, ok := strings.CutPrefix(line, lineUnsupported); ok {
		return "", fmt.Errorf("%s: %w", strings.TrimSuffix(why, ": "+errors.ErrUnsupported.Error()), errors.ErrUnsupported)
	}
	if why, ok := strings.CutPrefix(line, lineError); ok {
		return "", fmt.Errorf("the server: %s", why)
	}
	return line, nil
}

// ask sends one line and reads the answer into values.
func (s *Server) ask(line, format string, values ...any) error {
	if _, err := fmt.Fprintln(s.input, line); err != nil {
		return err
	}
	got, err := s.readLine()
	if err != nil {
		return err
	}
	if _, err := fmt.Sscanf(got, format, values...); err != nil {
		return fmt.Errorf("the server answered %q to %q", got, line)
	}
	return nil
}

// Usage implements drive.Remote.
func (s *Server) Usage() (u measure.Usage, err error) {
	err = s.ask("usage", lineUsage, &u.User, &u.System)
	return u, err
}

// Received implements drive.Remote.
func (s *Server) Received() (messages, bytes int64, err error) {
	err = s.ask("received", lineReceived, &messages, &bytes)
	return messages, bytes, err
}

// Await implements drive.Remote.
func (s *Server) Await(messages, bytes int64, limit time.Duration) error {
	var gotMessages, gotBytes int64
	if err := s.ask(fmt.Sprintf(lineAwait, messages, bytes, limit), lineReceived, &gotMessages, &gotBytes); err != nil {
		return err
	}
	if gotMessages < messages || gotBytes < bytes {
		return fmt.Errorf("within %v %d messages and %d bytes arrived, of %d and %d",
			limit, gotMessages, gotBytes, messages, bytes)
	}
	return nil
}

// Profile writes a profile of the server's CPU into a file, from now until Stop.
func (s *Server) Profile(file string) error {
	return s.ask(fmt.Sprintf(lineProfile, file), lineProfiling)
}

// Stop ends the process and waits for it.
func (s *Server) Stop() error {
	return errors.Join(s.input.Close(), s.wait())
}
