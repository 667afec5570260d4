package bus_test

import (
	"cmp"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"paddock/bus"
	"paddock/internal/sampling"
)

// runner plays a history against one server.
type runner struct {
	t      *testing.T
	dial   func() (net.Conn, error)
	send   func(c net.Conn, text string)
	closed func(reason string) uint64 // how often the server has closed so; nil = unknown
	peers  map[string]*peer
}

func (r *runner) play(h history) {
	r.t.Helper()
	r.peers = make(map[string]*peer)
	for _, s := range h.steps {
		p := r.peers[s.conn]
		if p == nil {
			conn, err := r.dial()
			if err != nil {
				r.t.Fatalf("%s: %v", s.at, err)
			}
			p = newPeer(r.t, conn)
			p.greeting()
			r.peers[s.conn] = p
		}
		r.step(p, s)
	}
	for name, p := range r.peers {
		if !p.ended {
			r.send(p.conn, "PING\r\n")
			for line := p.line(); line != "PONG\r\n"; line = p.line() {
				r.t.Fatalf("connection %s got more: %q", name, line)
			}
		}
		p.close()
	}
}

func (r *runner) step(p *peer, s step) {
	r.t.Helper()
	switch s.kind {
	case stepSend:
		r.send(p.conn, s.text)
	case stepLine:
		p.expect(s.at, s.text)
	case stepPrefix:
		line := p.line()
		for i, word := range strings.Split(s.text, "…") {
			if at := strings.Index(line, word); at < 0 || i == 0 && at != 0 {
				r.t.Fatalf("%s: got %q, want %q in it", s.at, line, word)
			}
		}
	case stepAny:
		r.expectAnyOrder(p, s)
	case stepEOF:
		for p.more() { //nolint:revive // more fills p.buf
		}
		if p.ended = true; len(p.buf) > 0 {
			r.t.Fatalf("%s: got more: %q", s.at, p.buf)
		}
		if s.text != "" && r.closed != nil && r.closed(s.text) == 0 {
			r.t.Fatalf("%s: not closed for %q", s.at, s.text)
		}
	}
}

// expectAnyOrder reads frames of one line and one payload line each.
func (r *runner) expectAnyOrder(p *peer, s step) {
	r.t.Helper()
	want := strings.Split(s.text, " || ")
	var got []string
	for range want {
		got = append(got, strings.TrimSpace(p.line())+"|"+strings.TrimSpace(p.line()))
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		r.t.Fatalf("%s: got %q, want %q", s.at, got, want)
	}
}

// The ways to bring bytes to a server. A server that has closed takes no more:
// that a send fails is no fault.
func sendWhole(c net.Conn, text string) { c.Write([]byte(text)) }

func sendBytes(c net.Conn, text string) {
	for i := range len(text) {
		if _, err := c.Write([]byte{text[i]}); err != nil {
			return
		}
	}
}

func sendSplitAt(n int) func(c net.Conn, text string) {
	return func(c net.Conn, text string) {
		k := min(n, len(text))
		if _, err := c.Write([]byte(text[:k])); err == nil && k < len(text) {
			c.Write([]byte(text[k:]))
		}
	}
}

// startServer runs a server for the length of the test.
func startServer(t *testing.T, cfg bus.Config) *bus.Server {
	t.Helper()
	cfg.Port = -1
	cfg.WriteDeadline = cmp.Or(cfg.WriteDeadline, time.Hour) // a client that stalls is slow by its bytes alone
	s, err := bus.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shutdown(t, s) })
	return s
}

func shutdown(t *testing.T, s *bus.Server) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

func (h *history) busConfig(t *testing.T) bus.Config {
	number := func(key string) int {
		if h.config[key] == "" {
			return 0
		}
		n, err := strconv.Atoi(h.config[key])
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	cfg := bus.Config{
		MaxPayload: number("max_payload"), MaxControlLine: number("max_control_line"),
		MaxSubs: number("max_subscriptions"), MaxConns: number("max_connections"),
		Token: h.config["token"], Username: h.config["user"], Password: h.config["password"],
	}
	cfg.MaxSubTokens, cfg.NoAuthUser = number("max_sub_tokens"), h.config["no_auth_user"]
	cfg.Users = h.usersForTest(t)
	if deny := h.config["deny"]; deny != "" {
		cfg.DenyPublish = strings.Split(deny, ",")
	}
	return cfg
}

func TestProtocolHistories(t *testing.T) {
	for _, h := range readHistories(t) {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			cfg := h.busConfig(t)
			tcp := func(send func(net.Conn, string)) {
				s := startServer(t, cfg)
				r := runner{t: t, send: send, closed: closedCount(s)}
				r.dial = func() (net.Conn, error) { return net.Dial("tcp", s.Addr().String()) }
				r.play(h)
			}
			tcp(sendWhole)
			tcp(sendBytes)
			for n := 1; n < h.longestSend(); n += sampling.Slowdown {
				s, err := bus.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				r := runner{t: t, dial: s.InProcessConn, send: sendSplitAt(n), closed: closedCount(s)}
				r.play(h)
				shutdown(t, s)
			}
		})
	}
}

func closedCount(s *bus.Server) func(string) uint64 {
	return func(reason string) uint64 {
		for r, n := range s.Stats().Closed {
			if r.String() == reason {
				return n
			}
		}
		return 0
	}
}
