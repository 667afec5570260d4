package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// several is a client that holds n connections, and offers example.com.
func (p *pair) several(n int, h http.HandlerFunc) (stop func()) {
	p.T.Helper()
	backend := httptest.NewServer(h)
	p.T.Cleanup(backend.Close)
	tunnels := []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: backend.Listener.Addr().String()}}
	_, stop = p.start(client.Config{Tunnels: tunnels, Logger: silent}, wire.ClientConfig{
		Conns: n, Config: &wire.Config{Agent: "bus-17", Logger: silent},
		GiveUp: func(err error) bool { // a replaced client stays away
			var e *wire.Error
			return errors.As(err, &e) && e.Code == wire.StaleEpoch
		},
	})
	p.Eventually("not all connections are there", func() bool { return p.links() == n })
	return stop
}

// links is how many connections all sessions have, where one is meant to be there.
func (p *pair) links() (n int) {
	for _, x := range p.server.Sessions() {
		n += x.Conns
	}
	return n
}

// present is the one session.
func (p *pair) present() *session {
	p.server.registry.mu.Lock()
	defer p.server.registry.mu.Unlock()
	return p.server.registry.sessions["bus-17"]
}

// Several connections of a client are one session, which shares out its exchanges among them. A
// lost connection ends only its own exchanges.
func TestSeveralConnections(t *testing.T) {
	const n, visitors = 3, 12
	var gone int
	var mu sync.Mutex
	p := newPair(t, &Server{Identify: named, Hooks: Hooks{Disconnected: func(Session) { mu.Lock(); gone++; mu.Unlock() }}})
	arrived, answer := make(chan struct{}, visitors), make(chan struct{})
	p.several(n, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			arrived <- struct{}{}
			<-answer
		}
		fmt.Fprint(w, "here")
	})
	stats := p.server.Stats()
	if stats.Sessions != 1 || stats.Takeovers != 0 || len(p.server.Sessions()) != 1 {
		t.Fatalf("%d sessions, %d takeovers", stats.Sessions, stats.Takeovers)
	}
	results := make(chan string, visitors)
	for range visitors {
		r := p.Request(http.MethodPost, "example.com", "/wait", http.NoBody)
		go func() {
			res, err := p.HTTP.Do(r)
			if err != nil {
				results <- err.Error()
				return
			}
			res.Body.Close()
			results <- res.Status
		}()
	}
	for range visitors {
		<-arrived
	}
	links := p.present().all()
	for _, l := range links {
		if got := l.underWay.Load(); got != visitors/n {
			t.Errorf("%d of %d exchanges are under way on one of %d connections", got, visitors, n)
		}
	}
	links[1].Abort(wire.Internal)
	for range visitors / n {
		if got := <-results; got != "502 Bad Gateway" {
			t.Errorf("on the connection that was lost: %s", got)
		}
	}
	for range 10 { // its return is not awaited
		if res, body := p.Get("example.com", "/"); body != "here" {
			t.Fatal(res.StatusCode, body)
		}
	}
	close(answer)
	for range visitors - visitors/n {
		if got := <-results; got != "200 OK" {
			t.Errorf("on another one: %s", got)
		}
	}
	p.Eventually("the connection is not replaced", func() bool { return p.links() == n })
	for _, l := range p.present().all() {
		p.Eventually("exchanges are counted that have ended", func() bool { return l.underWay.Load() == 0 })
	}
	mu.Lock()
	defer mu.Unlock()
	if stats := p.server.Stats(); gone != 0 || stats.Takeovers != 0 || stats.Names != 1 {
		t.Errorf("%d disconnected, %d takeovers, %d names", gone, stats.Takeovers, stats.Names)
	}
}

// A later life of the client replaces all connections of the one before, and the last
// one that ends is the end of the session.
func TestSeveralConnectionsAreReplaced(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	p.several(2, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "first") })
	first := p.present()
	stop := p.several(2, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "second") })
	p.Eventually("the first life stays", func() bool { return p.present() != first })
	for _, l := range first.all() {
		<-l.Done()
	}
	stop()
	p.Eventually("the session stays", func() bool { return p.server.Stats().Sessions == 0 })
}

// The connections of a session are bounded.
func TestConnectionsAreBounded(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	p.several(MaxConns, func(http.ResponseWriter, *http.Request) {})
	of := *p.present().lead().Peer().Session
	of.Index = MaxConns
	conn, err := wire.Dial(t.Context(), "tcp", p.Link.Addr().String(), &wire.Config{Agent: "bus-17", Logger: silent, Session: &of})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ask := message.BindRequest{Version: message.Version, Tunnels: []message.BindAsk{{ID: 1, Protocol: tunnel.HTTP, Host: "example.com"}}}
	_, err = wire.Call[message.BindRequest, message.BindAnswer](context.Background(), conn, message.KindBind, ask)
	if e, ok := err.(*wire.Error); !ok || e.Code != wire.ResourceExhausted {
		t.Errorf("one too many: %v", err)
	}
	if p.links() != MaxConns {
		t.Errorf("%d connections", p.links())
	}
}
