package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// reasonCount is how many visitors were refused for a reason.
func (p *pair) reasonCount(r Reason) uint64 { return p.server.Stats().Refused[r.String()] }

// The first refusal of a full client informs the server. Later visitors are refused before they use
// the client's link, until it has capacity again.
func TestFullClientIsSpared(t *testing.T) {
	for name, config := range map[string]client.Config{
		"target": {Tunnels: []client.Tunnel{{MaxInflight: 1}}},
		"client": {Tunnels: []client.Tunnel{{}}, Budget: 4 * message.ExchangeBytes},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			gate, target := gated(t)
			config.Tunnels[0].Name, config.Tunnels[0].Protocol = "web", tunnel.HTTP
			config.Tunnels[0].Host, config.Tunnels[0].Target = "example.com", target
			c, _ := p.client(config)
			room := 1
			if config.Budget > 0 {
				room = 3
			}
			served := make(chan int, room)
			for range room {
				r := p.Request(http.MethodGet, "example.com", "/", nil)
				go func() {
					res, err := p.HTTP.Do(r)
					if err != nil {
						served <- 0
						return
					}
					_ = res.Body.Close()
					served <- res.StatusCode
				}()
			}
			p.Eventually("there is room", func() bool { return c.Stats().Inflight == room })
			began := time.Now()
			const visitors = 20
			for range visitors {
				if res, _ := p.Get("example.com", "/"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
					t.Errorf("%d %v", res.StatusCode, res.Header)
				}
				// The refusal may arrive before the hint, though the hint was sent first.
				p.Eventually("unheard", func() bool { n := c.Stats().Hints; return n > 0 && p.server.Stats().Hints == n })
			}
			came, spared := c.Stats().Full, p.reasonCount(HintFull)
			if most := 1 + 2*uint64(time.Since(began)/message.MaxHint); came == 0 || came > most || came+spared != visitors {
				t.Errorf("%d came to the client, %d were spared", came, spared)
			}
			close(gate)
			for range room {
				if status := <-served; status != 200 {
					t.Errorf("status %d", status)
				}
			}
			p.Eventually("full", func() bool { res, _ := p.Get("example.com", "/"); return res.StatusCode == 200 })
			if said, heard := c.Stats().Hints, p.server.Stats().Hints; said < 2 || said != heard {
				t.Errorf("%d hints were sent, %d have come", said, heard)
			}
		})
	}
}

// Only the first visitor waits for a dead target: the others are answered at once, at the server,
// until the target is back.
func TestDeadTargetIsTold(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(web.Close)
	p := newPair(t, &Server{})
	var alive atomic.Bool
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{
		Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: "target:80",
		Dial: func(ctx context.Context) (net.Conn, error) {
			if !alive.Load() {
				return nil, net.ErrClosed
			}
			return new(net.Dialer).DialContext(ctx, "tcp", web.Listener.Addr().String())
		},
	}}})
	p.Eventually("the client is asked each time", func() bool {
		if res, _ := p.Get("example.com", "/"); res.StatusCode != 502 {
			t.Fatalf("status %d", res.StatusCode)
		}
		return p.reasonCount(HintDown) >= 10
	})
	if s := c.Stats(); s.DialsFailed == 0 || s.Hints != p.server.Stats().Hints {
		t.Errorf("%+v", s)
	}
	alive.Store(true)
	p.Eventually("down", func() bool { res, _ := p.Get("example.com", "/"); return res.StatusCode == 200 })
}

// bare is a client that is nothing but a connection, with tunnel 1 at example.com.
func (p *pair) bare(mux *wire.Mux) *wire.Conn {
	p.T.Helper()
	conn, err := wire.Dial(p.T.Context(), "tcp", p.Link.Addr().String(), &wire.Config{Mux: mux, Logger: silent})
	if err != nil {
		p.T.Fatal(err)
	}
	p.T.Cleanup(func() { _ = conn.Close() })
	ask := message.BindRequest{Version: message.Version, Tunnels: []message.BindAsk{{ID: 1, Protocol: tunnel.HTTP, Host: "example.com"}}}
	if a, err := wire.Call[message.BindRequest, message.BindAnswer](p.T.Context(), conn, message.KindBind, ask); err != nil || !a.Hints {
		p.T.Fatalf("%+v, %v", a, err)
	}
	return conn
}

// A hint closes a tunnel for its announced time, even if the client does not take it back.
func TestHintRunsOut(t *testing.T) {
	for name, c := range map[string]struct {
		hint   message.Hint
		reason Reason
		status int
	}{
		"full":   {message.Hint{State: message.HintFull, Tunnel: 1}, HintFull, 503},
		"down":   {message.Hint{State: message.HintDown, Tunnel: 1}, HintDown, 502},
		"client": {message.Hint{State: message.HintFull}, HintFull, 503},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			var came atomic.Int64
			mux := wire.NewMux()
			mux.HandleRequest(message.KindHTTP, func(context.Context, *wire.Request) error {
				came.Add(1)
				return message.Refused(wire.NotFound, "nothing here")
			})
			conn := p.bare(mux)
			c.hint.Span = 150 * time.Millisecond
			p.Eventually("nobody is refused", func() bool {
				if err := conn.Post(t.Context(), message.KindHint, message.AppendHint(nil, c.hint)); err != nil {
					t.Fatal(err)
				}
				res, _ := p.Get("example.com", "/")
				return res.StatusCode == c.status
			})
			if p.reasonCount(c.reason) == 0 {
				t.Errorf("refused for %v", p.server.Stats().Refused)
			}
			before := came.Load()
			p.Eventually("refused", func() bool { p.Get("example.com", "/"); return came.Load() > before })
		})
	}
}

// Malformed hints, and hints about tunnels that the client does not have, are ignored and cost
// nothing.
func TestHintsThatMeanNothing(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	conn, err := wire.Dial(t.Context(), "tcp", p.Link.Addr().String(), &wire.Config{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := message.BindRequest{Version: message.Version, Tunnels: []message.BindAsk{{ID: 2, Protocol: tunnel.HTTP, Host: "other.example.com"}}}
	full := message.Hint{State: message.HintFull, Tunnel: 1, Span: message.MaxHint}
	post := func(b []byte) {
		if err := conn.Post(t.Context(), message.KindHint, b); err != nil {
			t.Fatal(err)
		}
	}
	post(message.AppendHint(nil, full)) // before anything is bound
	if _, err := wire.Call[message.BindRequest, message.BindAnswer](t.Context(), conn, message.KindBind, ask); err != nil {
		t.Fatal(err)
	}
	post(message.AppendHint(nil, full)) // of an id that is another client's only
	post(nil)
	post([]byte("full!!"))
	full.Tunnel = 0
	post(message.AppendHint(nil, full)) // all of its own
	p.Eventually("unheard", func() bool { return p.server.Stats().Hints == 3 })
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 200 {
		t.Errorf("another client's tunnel: %d", res.StatusCode)
	}
}

// A server that does not announce support for hints gets none.
func TestOldServerGetsNoHints(t *testing.T) {
	mux, links, came := wire.NewMux(), make(chan *wire.Conn, 1), make(chan []byte, 1)
	wire.Handle(mux, message.KindBind, func(ctx context.Context, _ message.BindRequest) (message.BindAnswer, error) {
		links <- wire.ConnFrom(ctx)
		return message.BindAnswer{Results: []message.BindResult{{ID: 1, Where: "example.com"}}}, nil
	})
	wire.HandlePost(mux, message.KindHint, func(_ context.Context, b []byte) error { came <- b; return nil })
	server := &wire.Server{Config: &wire.Config{Mux: mux, Logger: silent}}
	l := tunneltest.Listen(t)
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	p := &pair{Pair: tunneltest.Pair{T: t, Link: l}}
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{
		Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: "target:80",
		Dial: func(context.Context) (net.Conn, error) { return nil, net.ErrClosed },
	}}})
	get := message.AppendOpening(nil, &message.Opening{Tunnel: 1, Head: []byte("GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")})
	_, err := (<-links).Call(t.Context(), message.KindHTTP, get)
	if e := new(wire.Error); !errors.As(err, &e) || e.Code != wire.Unavailable {
		t.Fatal(err)
	}
	if s := c.Stats(); s.DialsFailed != 1 || s.Hints != 0 || len(came) != 0 {
		t.Errorf("%+v", s)
	}
}
