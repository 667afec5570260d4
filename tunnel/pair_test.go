package tunnel

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"paddock/wire"
)

// everybody is a Policy for tests.
var everybody = PolicyFunc(func(string, Binding) error { return nil })

var silent = slog.New(slog.DiscardHandler)

// pair is a server with its front, and clients that come over loopback.
type pair struct {
	t       testing.TB
	server  *Server
	wire    *wire.Server
	link    net.Listener // of clients
	front   net.Listener // of visitors
	http    *http.Client
	direct  bool        // its TCP tunnels are
	linkTLS *tls.Config // of the link, nil without
}

// newPair starts both on free ports; the test's end stops them and checks that all
// permits are back.
func newPair(t testing.TB, s *Server) *pair {
	t.Helper()
	return (&pair{t: t}).begin(s)
}

// begin is newPair for a pair that has its ways.
func (p *pair) begin(s *Server) *pair {
	t := p.t
	t.Helper()
	if s.Policy == nil {
		s.Policy = everybody
	}
	if s.Logger == nil {
		s.Logger = silent
	}
	p.server, p.link, p.front = s, listenLocal(t), listenLocal(t)
	mux := wire.NewMux()
	s.Register(mux)
	p.wire = &wire.Server{Config: &wire.Config{Mux: mux, Logger: silent, Sessions: &wire.Sessions{}, TLS: p.linkTLS, ConnBudget: s.Limits.LinkBudget()}}
	if p.direct {
		p.wire.AltProtocol = s.Beside()
	}
	ended := make(chan error, 2)
	go func() { ended <- p.wire.Serve(p.link) }()
	go func() { ended <- s.Serve(p.front, nil) }()
	transport := &http.Transport{DisableCompression: true, ExpectContinueTimeout: time.Minute}
	p.http = &http.Client{Transport: transport, Timeout: time.Minute}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		p.idle()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = p.wire.Close()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
	return p
}

func listenLocal(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// idle waits until every permit is back.
func (p *pair) idle() {
	p.t.Helper()
	p.eventually("permits are out", func() bool {
		s := p.server.admission.(gate).Stats()
		return s.Requests == 0 && s.Streams == 0 && s.Waiting == 0 && s.Bytes == 0
	})
}

// eventually waits for what others bring about.
func (p *pair) eventually(what string, is func() bool) {
	p.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			p.t.Fatalf("still: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// client starts a client and waits until all its tunnels are bound; stop ends it.
func (p *pair) client(config ClientConfig) (c *Client, stop func()) {
	p.t.Helper()
	return p.clientBy(config, wire.ClientConfig{})
}

// clientBy is client by a link of its own making.
func (p *pair) clientBy(config ClientConfig, link wire.ClientConfig) (c *Client, stop func()) {
	p.t.Helper()
	bound := make(chan Bound, 64)
	config.OnBound = func(b Bound) { bound <- b }
	if config.Logger == nil {
		config.Logger = silent
	}
	c, stop = p.start(config, link)
	for range config.Tunnels {
		select {
		case b := <-bound:
			if b.Err != nil {
				p.t.Fatalf("%s: %v", b.Tunnel, b.Err)
			}
		case <-time.After(20 * time.Second):
			p.t.Fatal("not bound")
		}
	}
	return c, stop
}

// start starts a client.
func (p *pair) start(config ClientConfig, link wire.ClientConfig) (c *Client, stop func()) {
	p.t.Helper()
	c, err := NewClient(config)
	if err != nil {
		p.t.Fatal(err)
	}
	link.Address = p.link.Addr().String()
	if link.Config == nil {
		link.Config = &wire.Config{Logger: silent, TLS: p.linkTLS}
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, link)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	p.t.Cleanup(stop)
	return c, stop
}

// web is a client with one HTTP tunnel, example.com, to a handler.
func (p *pair) web(h http.Handler) *httptest.Server {
	p.t.Helper()
	backend := httptest.NewServer(h)
	p.t.Cleanup(backend.Close)
	p.client(ClientConfig{Tunnels: []Tunnel{{Name: "web", Protocol: HTTP, Host: "example.com", Target: backend.Listener.Addr().String()}}})
	return backend
}

// request is one for the front, at a host.
func (p *pair) request(method, host, target string, body io.Reader) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, "http://"+p.front.Addr().String()+target, body)
	if err != nil {
		p.t.Fatal(err)
	}
	r.Host = host
	return r
}

// do sends it and reads the answer whole.
func (p *pair) do(r *http.Request) (*http.Response, string) {
	p.t.Helper()
	res, err := p.http.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res, string(b)
}

func (p *pair) get(host, target string) (*http.Response, string) {
	p.t.Helper()
	return p.do(p.request(http.MethodGet, host, target, nil))
}
