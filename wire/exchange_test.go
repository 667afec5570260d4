package wire_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire"
)

// exchangeTime bounds a whole exchange.
const exchangeTime = 90 * time.Second

// TestExchangeWithPython lets this implementation and the strict peer of
// testdata/live.py serve each other the same kinds over a real socket, while each
// checks the other. testdata/exchange.py lists the kinds.
func TestExchangeWithPython(t *testing.T) {
	// The least that SPEC allows, so that every limit is met; the Python side always
	// announces that.
	least := wire.Config{MaxFrame: 16384, MaxInflight: 64, ConnBudget: 262144, StreamInitial: 65536, PostInitial: 65536}
	for _, tc := range []struct {
		role frame.Role // ours
		ends bool       // we begin the end: the peer drains
		name string
		wire.Config
	}{
		{frame.Dialer, true, "defaults", wire.Config{}},
		{frame.Acceptor, false, "defaults", wire.Config{}},
		{frame.Dialer, false, "least", least},
		{frame.Acceptor, true, "least", least},
	} {
		t.Run(fmt.Sprintf("%v/%s/ends=%v", tc.role, tc.name, tc.ends), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), exchangeTime)
			defer cancel()
			served := newExchangeService()
			tc.Config.Mux, tc.Config.Agent = served.mux(), "go"
			c, peer := exchangeConn(ctx, t, tc.role, !tc.ends, &tc.Config)
			defer c.Close()
			defer context.AfterFunc(ctx, func() { c.Abort(wire.Timeout) })() // wakes reads and writes
			x := exchange{c: c, served: served}
			for _, check := range x.checks() {
				if err := check.run(ctx); err != nil {
					t.Errorf("%s: %v", check.name, err)
					break
				}
			}
			if t.Failed() {
				t.Fatalf("the connection: %v\nPython says\n%s", c.Err(), peer.kill())
			}
			if err := x.end(ctx, tc.ends); err != nil {
				t.Errorf("end: %v", err)
			}
			out, err := peer.wait()
			if err != nil || !strings.HasSuffix(out, "\ndone\n") || strings.Count(out, "ok ") < 12 {
				t.Errorf("Python says\n%s%v", out, err)
			}
			if served.wrong > 0 {
				t.Errorf("%d posts were not the next one", served.wrong)
			}
		})
	}
}

// python side of an exchange.
type exchangePeer struct {
	cmd    *exec.Cmd
	stdout *bufio.Reader
	stderr bytes.Buffer
}

// exchangeConn starts the Python side in the other role and connects to it, or
// lets it connect.
func exchangeConn(ctx context.Context, t *testing.T, role frame.Role, ends bool, config *wire.Config) (*wire.Conn, *exchangePeer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	words := []string{"-I", "testdata/exchange.py", "dial", l.Addr().String()}
	if role == frame.Dialer {
		words = []string{"-I", "testdata/exchange.py", "listen", "127.0.0.1:0"}
	}
	if ends {
		words = append(words, "--end")
	}
	p := &exchangePeer{cmd: exec.CommandContext(ctx, python(t), words...)}
	p.cmd.Stderr = &p.stderr
	pipe, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.kill() })
	p.stdout = bufio.NewReader(pipe)
	if role == frame.Acceptor {
		if err := l.(*net.TCPListener).SetDeadline(time.Now().Add(exchangeTime)); err != nil {
			t.Fatal(err)
		}
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		c, err := wire.AcceptConn(nc, config)
		if err != nil {
			t.Fatal(err)
		}
		return c, p
	}
	line, err := p.stdout.ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "listening ")
	if !ok {
		t.Fatalf("%q, %v\n%s", line, err, p.kill())
	}
	c, err := wire.Dial(ctx, "tcp", address, config)
	if err != nil {
		t.Fatal(err)
	}
	return c, p
}

// wait returns what the peer has printed, once it has ended.
func (p *exchangePeer) wait() (string, error) {
	out, _ := io.ReadAll(p.stdout)
	err := p.cmd.Wait()
	return string(out) + p.stderr.String(), err
}

func (p *exchangePeer) kill() string {
	_ = p.cmd.Process.Kill()
	out, _ := p.wait()
	return out
}

// pattern is n bytes that tell their place, as exchange.py makes them.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i*7 + i>>8)
	}
	return b
}

// summary is what the kind "sum" answers.
func summary(b []byte) string { return fmt.Sprintf("%d %08x", len(b), crc32.ChecksumIEEE(b)) }

// exchangeService is what a side serves, and what it remembers.
type exchangeService struct {
	mu           sync.Mutex
	notes, wrong uint32
	code         wire.Code
	done, drain  chan struct{} // closed when the peer has asked for it
	once         [2]sync.Once
}

func newExchangeService() *exchangeService {
	return &exchangeService{done: make(chan struct{}), drain: make(chan struct{})}
}

func (x *exchangeService) mux() *wire.Mux {
	mux := wire.NewMux()
	text := func(kind string, f func(context.Context) (string, error)) {
		wire.Handle(mux, kind, func(ctx context.Context, _ []byte) ([]byte, error) {
			s, err := f(ctx)
			return []byte(s), err
		})
	}
	text("fail", func(context.Context) (string, error) {
		return "", &wire.Error{Code: wire.NotFound, Msg: "no such vehicle", Details: []byte{0xa1, 1, 2}}
	})
	text("wait", func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	})
	text("left", func(ctx context.Context) (string, error) {
		deadline, ok := ctx.Deadline()
		if !ok {
			return "none", nil
		}
		return strconv.FormatInt(time.Until(deadline).Milliseconds(), 10), nil
	})
	text("noted", func(context.Context) (string, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		return fmt.Sprintf("%d %d", x.notes, x.wrong), nil
	})
	text("dripped", func(context.Context) (string, error) {
		x.mu.Lock()
		defer x.mu.Unlock()
		return strconv.Itoa(int(x.code)), nil
	})
	text("done", func(context.Context) (string, error) {
		x.once[0].Do(func() { close(x.done) })
		return "", nil
	})
	text("drain", func(context.Context) (string, error) {
		x.once[1].Do(func() { close(x.drain) })
		return "", nil
	})
	wire.HandlePost(mux, "note", x.note)
	mux.HandleRequest("echo", func(_ context.Context, r *wire.Request) error {
		body, err := wholeBody(r)
		if err != nil {
			return err
		}
		return r.Respond(body)
	})
	mux.HandleRequest("sum", func(_ context.Context, r *wire.Request) error {
		body, err := wholeBody(r)
		if err != nil {
			return err
		}
		return r.Respond([]byte(summary(body)))
	})
	mux.HandleRequest("pour", pour)
	mux.HandleStream("mirror", mirror)
	mux.HandleStream("refuse", func(context.Context, *wire.Stream) error {
		return &wire.Error{Code: wire.PermissionDenied, Msg: "not for you"}
	})
	mux.HandleStream("drip", x.drip)
	mux.HandleStream("hang", func(_ context.Context, s *wire.Stream) error {
		if _, err := s.Read(make([]byte, 1)); err != nil {
			return err
		}
		return s.Reset(4100)
	})
	return mux
}

func (x *exchangeService) note(_ context.Context, body []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(body) < 4 || binary.LittleEndian.Uint32(body) != x.notes {
		x.wrong++
	}
	x.notes++
	return nil
}

// wholeBody is the body of a request, also if it goes on. It is the caller's own.
func wholeBody(r *wire.Request) ([]byte, error) {
	body := bytes.Clone(r.Body)
	if r.Stream() == nil {
		return body, nil
	}
	rest, err := io.ReadAll(r.Stream())
	return append(body, rest...), err
}

// pour answers with so many bytes as it is asked for.
func pour(_ context.Context, r *wire.Request) error {
	left, err := strconv.Atoi(string(r.Body))
	if err != nil {
		return err
	}
	s, err := r.Promote(r.Body)
	if err != nil {
		return err
	}
	block := pattern(1 << 16) // the pattern's period
	for ; left > 0 && err == nil; left -= len(block) {
		_, err = s.Write(block[:min(left, len(block))])
	}
	return err
}

// mirror returns every byte.
func mirror(_ context.Context, s *wire.Stream) error {
	_ = s.Accept([]byte("welcome")) // fails unless the peer waits for it
	_, err := io.Copy(s, s)
	return err
}

// drip writes until that fails, and remembers with which code.
func (x *exchangeService) drip(_ context.Context, s *wire.Stream) error {
	block := pattern(4096)
	for {
		if _, err := s.Write(block); err != nil {
			x.mu.Lock()
			defer x.mu.Unlock()
			x.code = codeOf(err)
			return err
		}
	}
}
