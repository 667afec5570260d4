package wire_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

func TestServerShutdownDrains(t *testing.T) {
	mux := echoMux()
	entered, release := make(chan struct{}), make(chan struct{})
	wire.Handle(mux, "wait", func(context.Context, []byte) ([]byte, error) {
		close(entered)
		<-release
		return []byte("done"), nil
	})
	s := &wire.Server{Config: &wire.Config{Mux: mux}}
	address := serve(t, s)
	c, idle := dial(t, address, nil), dial(t, address, nil)
	if err := idle.Ready(t.Context()); err != nil {
		t.Fatal(err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), "wait", nil)
		answered <- err
	}()
	<-entered
	waitFor(t, func() bool { return s.Stats().Conns == 2 })
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.Background()) }()
	<-c.GoingAway()
	<-idle.Done()
	if _, err := net.Dial("tcp", address); err == nil {
		t.Error("still listens")
	}
	close(release)
	if err := <-answered; err != nil {
		t.Errorf("the call under way: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	if stats := s.Stats(); stats.Conns != 0 || stats.Opening != 0 || stats.Accepted != 2 || stats.Failed != 0 {
		t.Errorf("stats %+v", stats)
	}
	if err := s.Serve(newPipes()); err != nil {
		t.Errorf("Serve after Shutdown: %v", err)
	}
}

func TestServerShutdownNamesWhatItCutsOff(t *testing.T) {
	mux := wire.NewMux()
	entered := make(chan struct{})
	wire.Handle(mux, "forever", func(ctx context.Context, _ []byte) ([]byte, error) {
		close(entered)
		<-ctx.Done()
		return nil, ctx.Err()
	})
	s := &wire.Server{Config: &wire.Config{Mux: mux}}
	c := dial(t, serve(t, s), nil)
	failed := make(chan error, 1)
	go func() {
		_, err := c.Call(context.Background(), "forever", nil)
		failed <- err
	}()
	<-entered
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	err := s.Shutdown(ctx)
	if err == nil || !strings.Contains(err.Error(), "forever") || !strings.Contains(err.Error(), c.LocalAddr().String()) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := <-failed; err == nil {
		t.Error("the call succeeded")
	}
}

func TestServerBounds(t *testing.T) {
	for name, s := range map[string]*wire.Server{
		"plain": {Config: &wire.Config{}, MaxConns: 2},
		"TLS":   {Config: &wire.Config{TLS: serverTLS()}, MaxConns: 2},
	} {
		t.Run(name, func(t *testing.T) {
			address, cfg := serve(t, s), &wire.Config{}
			if s.Config.TLS != nil {
				cfg.TLS = clientTLS()
			}
			first := dial(t, address, cfg)
			for _, c := range []*wire.Conn{first, dial(t, address, cfg)} {
				if err := c.Ready(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			var e *wire.Error
			err := dial(t, address, cfg).Ready(t.Context())
			if !errors.As(err, &e) || e.Code != wire.ResourceExhausted || e.RetryAfter == 0 {
				t.Errorf("over the bound: %v", err)
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, func() bool { return s.Stats().Accepted == 2 && s.Stats().Conns == 1 })
			if err := dial(t, address, cfg).Ready(t.Context()); err != nil {
				t.Errorf("with room again: %v", err)
			}
			waitFor(t, func() bool { return s.Stats().Accepted == 3 })
			if n := s.Stats().Refused; n != 1 {
				t.Errorf("%d refused", n)
			}
		})
	}
}

func TestServerBoundsOpening(t *testing.T) {
	s := &wire.Server{MaxOpening: 1, MaxWaiting: -1}
	address := serve(t, s)
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, func() bool { return s.Stats().Opening == 1 })
	var e *wire.Error
	if err := dial(t, address, nil).Ready(t.Context()); !errors.As(err, &e) || e.Code != wire.ResourceExhausted {
		t.Errorf("over the bound: %v", err)
	}
	silent.Close()
	waitFor(t, func() bool { return s.Stats().Opening == 0 })
	if err := dial(t, address, nil).Ready(t.Context()); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// flaky fails some accepts.
type flaky struct {
	net.Listener
	errs chan error
}

func (f *flaky) Accept() (net.Conn, error) {
	select {
	case err := <-f.errs:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: err}
	default:
		return f.Listener.Accept()
	}
}

func TestServerOutlivesTemporaryErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{l, make(chan error, 2)}
	f.errs <- syscall.EMFILE
	f.errs <- syscall.ECONNABORTED
	s := &wire.Server{}
	serveOn(t, s, f)
	if err := dial(t, l.Addr().String(), nil).Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServerReturnsOtherErrors(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &flaky{l, make(chan error, 1)}
	f.errs <- syscall.EINVAL
	if err := (&wire.Server{}).Serve(f); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("got %v", err)
	}
}

func TestServerSaysWhoIsNotWire(t *testing.T) {
	var log logged
	s := &wire.Server{Config: &wire.Config{Logger: log.logger()}}
	nc, err := net.Dial("tcp", serve(t, s))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	_, _ = io.WriteString(nc, "GET / HTTP/1.1\r\n\r\n")
	_, _ = io.Copy(io.Discard, nc)
	waitFor(t, func() bool { return log.lines() > 0 && s.Stats().Failed == 1 })
	if got := log.String(); log.lines() != 1 || !strings.Contains(got, "does not speak wire") {
		t.Errorf("log: %s", got)
	}
}

// TestServerVerifiesFirst sends a request and a post in one write behind a HELLO
// that is refused.
func TestServerVerifiesFirst(t *testing.T) {
	for name, refused := range map[string]bool{"refused": true, "accepted": false} {
		t.Run(name, func(t *testing.T) {
			var ran atomic.Int32
			mux := wire.NewMux()
			wire.Handle(mux, "r", func(context.Context, []byte) ([]byte, error) { ran.Add(1); return nil, nil }, wire.Inline())
			wire.HandlePost(mux, "p", func(context.Context, []byte) error { ran.Add(1); return nil }, wire.Inline())
			s := &wire.Server{Config: &wire.Config{Mux: mux, Verify: func(*wire.Conn, *wire.Hello) error {
				if refused {
					return errors.New("not you")
				}
				return nil
			}}}
			nc, err := net.Dial("tcp", serve(t, s))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			frames, code := pipelined(t), wire.Code(0)
			if _, err := nc.Write(frames); err != nil {
				t.Fatal(err)
			}
			_ = nc.(*net.TCPConn).CloseWrite()
			got, err := io.ReadAll(nc)
			if err != nil {
				t.Fatal(err)
			}
			for rest := got[len(frame.Preface):]; len(rest) > 0; {
				var f frame.Frame
				n, err := frame.Next(rest, frame.MaxPayload, &f)
				if err != nil || n == 0 {
					t.Fatal(n, err)
				}
				if f.Type == frame.GOAWAY {
					code = f.Code
				}
				rest = rest[n:]
			}
			switch n := ran.Load(); {
			case refused && (n != 0 || code != wire.Unauthenticated):
				t.Errorf("%d handlers ran, code %v", n, code)
			case !refused && n != 2:
				t.Errorf("%d handlers ran", n)
			}
		})
	}
}

func pipelined(t *testing.T) []byte {
	hello, err := frame.AppendHello(nil, wire.Hello{Kinds: map[string]uint32{"r": 1, "p": 2}})
	if err != nil {
		t.Fatal(err)
	}
	b := frame.AppendFrame([]byte(frame.Preface), &frame.Frame{Type: frame.HELLO, Body: hello})
	b = frame.AppendFrame(b, &frame.Frame{Type: frame.REQ, ID: uint32(frame.MakeSlot(frame.Dialer, 1, 1)), Kind: 1})
	return frame.AppendFrame(b, &frame.Frame{Type: frame.POST, ID: 2, Body: bytes.Repeat([]byte("x"), 10)})
}
