package client

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/internal/tunneltest"
	"paddock/tunnel/server"
	"paddock/wire"
)

var everybody, silent = tunneltest.Everyone, tunneltest.Silent

// pair is a server with its front, and its clients.
type pair struct {
	tunneltest.Pair
	server *server.Server
}

// newPair starts a server on free ports. The end of the test stops it, and checks that all permits
// are back.
func newPair(t testing.TB, s *server.Server) *pair {
	t.Helper()
	return (&pair{Pair: tunneltest.Pair{T: t}}).begin(s)
}

// begin starts the server of a pair.
func (p *pair) begin(s *server.Server) *pair {
	p.T.Helper()
	if s.Policy == nil {
		s.Policy = everybody
	}
	if s.Logger == nil {
		s.Logger = silent
	}
	p.server = s
	p.Begin(s, s.Limits.LinkBudget(), p.idle)
	return p
}

// idle waits until every permit is back.
func (p *pair) idle() {
	p.T.Helper()
	p.Eventually("permits are out", func() bool {
		s := p.server.Stats()
		return s.Requests == 0 && s.Streams == 0 && s.Queued == 0 && s.Bytes == 0
	})
}

// client starts a client and waits until all its tunnels are bound; stop ends it.
func (p *pair) client(config Config) (c *Client, stop func()) {
	p.T.Helper()
	return p.clientBy(config, wire.ClientConfig{})
}

// clientBy is client with settings of the link.
func (p *pair) clientBy(config Config, link wire.ClientConfig) (c *Client, stop func()) {
	p.T.Helper()
	bound := make(chan error, 64)
	config.OnBound = func(b Bound) { bound <- b.Err }
	if config.Logger == nil {
		config.Logger = silent
	}
	c, stop = p.start(config, link)
	p.Bound(len(config.Tunnels), bound)
	return c, stop
}

// start starts a client.
func (p *pair) start(config Config, link wire.ClientConfig) (c *Client, stop func()) {
	p.T.Helper()
	c, err := New(config)
	if err != nil {
		p.T.Fatal(err)
	}
	return c, p.Run(c, link)
}

// web starts a client with one HTTP tunnel, example.com, to a handler.
func (p *pair) web(h http.Handler) *httptest.Server {
	p.T.Helper()
	backend := httptest.NewServer(h)
	p.T.Cleanup(backend.Close)
	p.client(Config{Tunnels: []Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: backend.Listener.Addr().String()}}})
	return backend
}
