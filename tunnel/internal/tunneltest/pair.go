// Package tunneltest connects a tunnel server and its clients over loopback, for the tests of
// both. It imports neither of them, so their internal tests can use it.
package tunneltest

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

	"paddock/tunnel"
	"paddock/wire"
)

// Everyone is a policy that allows every client every binding.
var Everyone = tunnel.PolicyFunc(func(string, tunnel.Binding) error { return nil })

// Silent is a logger without output.
var Silent = slog.New(slog.DiscardHandler)

// Server is a tunnel server.
type Server interface {
	Register(mux *wire.Mux)
	Serve(l net.Listener, config *tls.Config) error
	Close() error
	AltProtocol() *wire.AltProtocol
}

// Client is a tunnel client.
type Client interface {
	Run(ctx context.Context, link wire.ClientConfig) error
}

// Pair is a running server with its front, for clients that connect over loopback. Link, Direct
// and LinkTLS are set before Begin.
type Pair struct {
	T       testing.TB
	Wire    *wire.Server
	Link    net.Listener // for clients; nil: on a free port
	Front   net.Listener // for visitors
	HTTP    *http.Client // a visitor
	Direct  bool         // the server accepts direct connections
	LinkTLS *tls.Config  // of the link, nil without
}

// Begin starts the server. The end of the test stops it, after idle.
func (p *Pair) Begin(s Server, budget uint32, idle func()) {
	t := p.T
	t.Helper()
	if p.Link == nil {
		p.Link = Listen(t)
	}
	p.Front = Listen(t)
	mux := wire.NewMux()
	s.Register(mux)
	p.Wire = &wire.Server{Config: &wire.Config{Mux: mux, Logger: Silent, Sessions: &wire.Sessions{}, TLS: p.LinkTLS, ConnBudget: budget}}
	if p.Direct {
		p.Wire.AltProtocol = s.AltProtocol()
	}
	ended := make(chan error, 2)
	go func() { ended <- p.Wire.Serve(p.Link) }()
	go func() { ended <- s.Serve(p.Front, nil) }()
	transport := &http.Transport{DisableCompression: true, ExpectContinueTimeout: time.Minute}
	p.HTTP = &http.Client{Transport: transport, Timeout: time.Minute}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		idle()
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		_ = p.Wire.Close()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// Listen listens on a free port of loopback.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Eventually waits until a condition holds.
func (p *Pair) Eventually(what string, is func() bool) {
	p.T.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !is() {
		if time.Now().After(deadline) {
			p.T.Fatalf("still: %s", what)
		}
		<-time.After(time.Millisecond)
	}
}

// Bound waits until n tunnels are bound, whose outcomes a client sends to bound.
func (p *Pair) Bound(n int, bound <-chan error) {
	p.T.Helper()
	for range n {
		select {
		case err := <-bound:
			if err != nil {
				p.T.Fatal(err)
			}
		case <-time.After(20 * time.Second):
			p.T.Fatal("not bound")
		}
	}
}

// Run runs a client until stop is called or the test ends.
func (p *Pair) Run(c Client, link wire.ClientConfig) (stop func()) {
	link.Address = p.Link.Addr().String()
	if link.Config == nil {
		link.Config = &wire.Config{Logger: Silent, TLS: p.LinkTLS}
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
	p.T.Cleanup(stop)
	return stop
}

// Request makes a request to the front for a host.
func (p *Pair) Request(method, host, target string, body io.Reader) *http.Request {
	p.T.Helper()
	r, err := http.NewRequestWithContext(p.T.Context(), method, "http://"+p.Front.Addr().String()+target, body)
	if err != nil {
		p.T.Fatal(err)
	}
	r.Host = host
	return r
}

// Do sends a request, and reads the whole answer.
func (p *Pair) Do(r *http.Request) (*http.Response, string) {
	p.T.Helper()
	res, err := p.HTTP.Do(r)
	if err != nil {
		p.T.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		p.T.Fatal(err)
	}
	return res, string(b)
}

// Get sends a GET to the front for a host.
func (p *Pair) Get(host, target string) (*http.Response, string) {
	p.T.Helper()
	return p.Do(p.Request(http.MethodGet, host, target, nil))
}

// H2Alone is HTTP/2 without TLS.
func H2Alone() *http.Protocols {
	alone := new(http.Protocols)
	alone.SetUnencryptedHTTP2(true)
	return alone
}

// H2Service serves HTTP/2 without TLS until the test ends.
func H2Service(t testing.TB, h http.HandlerFunc) (address string) {
	service := httptest.NewUnstartedServer(h)
	service.Config.Protocols = H2Alone()
	service.Start()
	t.Cleanup(service.Close)
	return service.Listener.Addr().String()
}
