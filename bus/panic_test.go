package bus

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"strings"
	"sync"
	"testing"
	"time"
)

// faulty is an endpoint whose deliver panics, as a fault in ours might.
type faulty struct{ endpoint }

func (faulty) deliver(*subscription, *router, endpoint) delivery { panic("deliver is faulty") }

// faultySubject is the subject of the messages that cause the fault.
const faultySubject = "fault"

// withFault returns a server on which publishing to faultySubject panics, after the message has
// been delivered to earlier subscribers.
func withFault(t *testing.T, s *Server, subscribers func()) {
	t.Helper()
	subscribers()
	sub := &subscription{owner: faulty{}, subject: faultySubject}
	s.subs.insert(sub)
	t.Cleanup(func() { s.subs.remove(sub) })
}

// lockedBuffer is a log.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// startLogged runs a server for the length of the test, and its log.
func startLogged(t *testing.T) (*Server, *lockedBuffer) {
	t.Helper()
	log := new(lockedBuffer)
	s, err := New(Config{Port: -1, Logger: slog.New(slog.NewTextHandler(log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return s, log
}

// dialog is a client's end; until reads up to a text.
type dialog struct {
	t    *testing.T
	conn net.Conn
	got  string
}

func dialTo(t *testing.T, s *Server) *dialog {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	d := &dialog{t: t, conn: conn}
	d.send("CONNECT {\"verbose\":false,\"pedantic\":false}\r\nPING\r\n")
	d.until("PONG\r\n")
	return d
}

func (d *dialog) send(text string) {
	d.t.Helper()
	if _, err := d.conn.Write([]byte(text)); err != nil {
		d.t.Fatal(err)
	}
}

// until returns the text before mark, which may be at the end.
func (d *dialog) until(mark string) string {
	d.t.Helper()
	d.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	buf := make([]byte, 4096)
	for {
		if before, after, ok := strings.Cut(d.got, mark); ok && mark != "" {
			d.got = after
			return before
		}
		n, err := d.conn.Read(buf)
		d.got += string(buf[:n])
		if err != nil {
			if mark == "" {
				return d.got
			}
			d.t.Fatalf("%v; got %q, want %q", err, d.got, mark)
		}
	}
}

// A panic while the router holds another client's lock ends the connection that caused it, and no
// other: earlier messages have been delivered, the lock is free, and later batches find nothing of
// it.
func TestPanicEndsOneConnection(t *testing.T) {
	s, log := startLogged(t)
	healthy := dialTo(t, s)
	withFault(t, s, func() {
		healthy.send("SUB fault 1\r\nSUB other 2\r\nPING\r\n")
		healthy.until("PONG\r\n")
	})
	for round := range 3 {
		publisher := dialTo(t, s)
		publisher.send("SUB other 9\r\nPING\r\n")
		publisher.until("PONG\r\n")
		publisher.send("PUB other 3\r\none\r\nPUB fault 3\r\ntwo\r\nPUB other 5\r\nthree\r\nPING\r\n")
		if rest := publisher.until(""); strings.Contains(rest, "PONG") || strings.Contains(rest, "-ERR") {
			t.Errorf("the connection went on: %q", rest)
		}
		healthy.until("MSG other 2 3\r\none\r\n")
		healthy.send("PING\r\n")
		if got := healthy.until("PONG\r\n"); strings.Contains(got, "three") {
			t.Errorf("what came behind was routed: %q", got)
		}
		st := s.Stats()
		if st.Panics != uint64(round+1) || st.Closed[ReadError] != uint64(round+1) {
			t.Errorf("counted %d panics, closed %v", st.Panics, st.Closed)
		}
	}
	if text := log.String(); strings.Count(text, "deliver is faulty") != 3 || !strings.Contains(text, "panic_test.go") {
		t.Errorf("the log does not tell what and where: %s", text)
	}
	if n := s.subs.len(); n != 3 {
		t.Errorf("%d subscriptions are left", n)
	}
}

// The panic of an in-process publication reaches the caller, which finds nothing locked.
func TestPanicOfPublishLeavesNothingLocked(t *testing.T) {
	s, _ := startLogged(t)
	healthy := dialTo(t, s)
	withFault(t, s, func() {
		healthy.send("SUB fault 1\r\nSUB other 2\r\nPING\r\n")
		healthy.until("PONG\r\n")
	})
	l := s.Local("publisher")
	for _, publish := range []func() error{
		func() error { return l.Publish(faultySubject, "", nil, nil) },
		func() error { return l.PublishBatch([]Msg{{Subject: "other"}, {Subject: faultySubject}}) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the caller did not hear of it")
				}
			}()
			publish() //nolint:errcheck // panics
		}()
		if err := l.Publish("other", "", nil, []byte("x")); err != nil {
			t.Fatal(err)
		}
		healthy.until("MSG other 2 1\r\nx\r\n")
	}
}

// A callback that panics loses its messages, and no more. It is called with the next ones, and the
// goroutine that ran it continues.
func TestPanicOfCallback(t *testing.T) {
	s, log := startLogged(t)
	l := s.Local("listener")
	got := make(chan string, 8)
	if _, err := l.Subscribe("in.>", "", func(msgs []Msg) {
		for _, m := range msgs {
			if m.Subject == "in.bad" {
				panic("callback is faulty")
			}
			got <- m.Subject
		}
	}); err != nil {
		t.Fatal(err)
	}
	d := dialTo(t, s)
	d.send("PUB in.bad 0\r\n\r\nPING\r\n")
	d.until("PONG\r\n")
	d.send("PUB in.a 0\r\n\r\nPING\r\n")
	d.until("PONG\r\n")
	if err := s.Local("other").Publish("in.bad", "", nil, nil); err != nil {
		t.Error(err)
	}
	if err := l.Publish("in.b", "", nil, nil); err != nil {
		t.Error(err)
	}
	if a, b := <-got, <-got; a != "in.a" || b != "in.b" {
		t.Errorf("got %s and %s", a, b)
	}
	if st := s.Stats(); st.Panics != 2 || len(st.Closed) != 0 {
		t.Errorf("counted %d panics, closed %v", st.Panics, st.Closed)
	}
	if !strings.Contains(log.String(), "callback is faulty") {
		t.Error("the log does not tell")
	}
}
