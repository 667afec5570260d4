package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// named identifies clients by the agent of their HELLO.
func named(c *wire.Conn) string { return c.Peer().Agent }

// says starts a client with one HTTP tunnel that answers with a text.
func (p *pair) says(agent, host, text string) (c *client.Client, stop func()) {
	p.T.Helper()
	l := tunneltest.Listen(p.T)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) })}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	p.T.Cleanup(func() {
		_ = server.Close()
		<-done
	})
	tunnels := []client.Tunnel{{Name: text, Protocol: tunnel.HTTP, Host: host, Target: l.Addr().String()}}
	return p.start(client.Config{Tunnels: tunnels, Logger: silent}, wire.ClientConfig{
		Config: &wire.Config{Agent: agent, Logger: silent},
		GiveUp: func(error) bool { return true }, // a kicked client stays away
	})
}

// The same identity from elsewhere takes over at once, though the old session has not
// been noticed to be gone; another identity has to wait for the lease.
func TestTakeover(t *testing.T) {
	p := newPair(t, &Server{Identify: named, Limits: tunnel.Limits{Lease: 100 * time.Millisecond}})
	first, _ := p.says("bus-17", "example.com", "first")
	p.Eventually("first is not bound", func() bool { return first.Bindings()[0].Err == nil })
	if _, body := p.Get("example.com", "/"); body != "first" {
		t.Fatal(body)
	}
	stranger, _ := p.says("bus-18", "example.com", "stranger")
	p.Eventually("the stranger knows nothing", func() bool {
		var e *wire.Error
		return errors.As(stranger.Bindings()[0].Err, &e) && e.Code == wire.AlreadyExists
	})
	second, stop := p.says("bus-17", "example.com", "second")
	p.Eventually("second is not bound", func() bool { return second.Bindings()[0].Err == nil })
	for range 10 {
		if res, body := p.Get("example.com", "/"); body != "second" {
			t.Fatal(res.StatusCode, body)
		}
	}
	if p.server.Stats().Takeovers == 0 {
		t.Error("no takeover is counted")
	}
	stop()
}

// A client that is away for a moment is waited for; one that stays away costs a 503, and
// at the end of the lease the name is free.
func TestLease(t *testing.T) {
	p := newPair(t, &Server{Identify: named, Limits: tunnel.Limits{Lease: 300 * time.Millisecond, Return: 50 * time.Millisecond}})
	c, stop := p.says("bus-17", "example.com", "here")
	p.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
	stop()
	p.Eventually("the session stays", func() bool { return p.server.Stats().Sessions == 0 })
	res, _ := p.Get("example.com", "/")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("in the lease: %d %v", res.StatusCode, res.Header)
	}
	p.Eventually("the lease runs", func() bool {
		res, _ := p.Get("example.com", "/")
		return res.StatusCode == 404
	})
}

func TestVisitorsWaitForTheReturn(t *testing.T) {
	p := newPair(t, &Server{Identify: named, Limits: tunnel.Limits{Lease: time.Minute, Return: time.Minute}})
	c, stop := p.says("bus-17", "example.com", "first")
	p.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
	stop()
	p.Eventually("the session stays", func() bool { return p.server.Stats().Sessions == 0 })
	got := make(chan string, 1)
	go func() {
		_, body := p.Get("example.com", "/")
		got <- body
	}()
	place := p.server.registry.routes.find("example.com", "/")
	p.Eventually("nobody waits", func() bool {
		return place.waitingNow() == 1
	})
	p.says("bus-17", "example.com", "second")
	if body := <-got; body != "second" {
		t.Error(body)
	}
}

// A tunnel that the policy does not allow is refused on its own, and again for each visitor.
func TestPolicy(t *testing.T) {
	var revoked atomic.Bool
	policy := tunnel.PolicyFunc(func(_ string, b tunnel.Binding) error {
		if b.Host == "forbidden.com" || revoked.Load() {
			return tunnel.ErrDenied
		}
		return nil
	})
	p := newPair(t, &Server{Policy: policy})
	c, _ := p.start(client.Config{Logger: silent, Tunnels: []client.Tunnel{
		{Name: "a", Protocol: tunnel.HTTP, Host: "forbidden.com", Target: "1"},
		{Name: "b", Protocol: tunnel.HTTP, Host: "example.com", Target: "1"},
	}}, wire.ClientConfig{})
	p.Eventually("not bound", func() bool { return c.Bindings()[1].Err == nil })
	var e *wire.Error
	if err := c.Bindings()[0].Err; !errors.As(err, &e) || e.Code != wire.PermissionDenied {
		t.Error(err)
	}
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 502 {
		t.Errorf("port 1 answers: %d", res.StatusCode)
	}
	revoked.Store(true)
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 404 {
		t.Errorf("revoked: %d", res.StatusCode)
	}
	if n := p.server.Stats().Refused["denied"]; n != 1 {
		t.Errorf("%d denials are counted", n)
	}
}

func TestTheZeroServerDeniesAll(t *testing.T) {
	if err := (&Server{}).allowed("anybody", tunnel.Binding{Protocol: tunnel.HTTP, Host: "example.com"}); !errors.Is(err, tunnel.ErrDenied) {
		t.Error(err)
	}
}

// A visitor that leaves ends the work at the target, at every stage of the exchange, and its permit
// is released; repeatedly.
func TestCancellation(t *testing.T) {
	for name, c := range map[string]struct{ ask, answer string }{
		"before the head":  {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", ""},
		"behind the head":  {"GET / HTTP/1.1\r\nHost: example.com\r\n\r\n", "HTTP/1.1 200 OK\r\n\r\nbegin"},
		"in the upload":    {"POST / HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n", ""},
		"in a long upload": {"POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000000\r\n\r\nbegin", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			begun, ended := make(chan struct{}), make(chan error)
			p.raw(func(conn net.Conn, in *bufio.Reader) {
				_, _ = in.ReadString('\n')
				_, _ = io.WriteString(conn, c.answer)
				begun <- struct{}{}
				_, err := io.Copy(io.Discard, in)
				ended <- err
			})
			for range 20 {
				visitor := dialTCP(t, p.Front.Addr().String())
				_, _ = io.WriteString(visitor, c.ask)
				<-begun
				if c.answer != "" {
					_, _ = visitor.Read(make([]byte, 1))
				}
				_ = visitor.Close()
				<-ended // the target has seen the end
			}
			p.idle()
			p.Eventually("slots are live", func() bool {
				for conn := range p.Wire.All() {
					if s := conn.Stats(); s.Inflight+s.Streams > 0 {
						return false
					}
				}
				return true
			})
		})
	}
}

// A request over a bound is refused at once, with the time to come back.
func TestOverload(t *testing.T) {
	p := newPair(t, &Server{Limits: tunnel.Limits{TunnelRequests: 2}})
	release := make(chan struct{})
	entered := make(chan struct{}, 2)
	p.web(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		entered <- struct{}{}
		<-release
	}))
	done := make(chan int, 2)
	for range 2 {
		go func() {
			res, _ := p.Get("example.com", "/")
			done <- res.StatusCode
		}()
	}
	<-entered
	<-entered
	res, body := p.Get("example.com", "/")
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(res.Header.Get("Proxy-Status"), "connection_limit_reached") {
		t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
	}
	close(release)
	for range 2 {
		if status := <-done; status != 200 {
			t.Error(status)
		}
	}
}

// The client has bounds of its own.
func TestFullClient(t *testing.T) {
	p := newPair(t, &Server{})
	release := make(chan struct{})
	entered := make(chan struct{}, 1)
	p.T.Cleanup(func() { close(release) })
	l := tunneltest.Listen(t)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		entered <- struct{}{}
		<-release
		_ = conn.Close()
	}()
	t.Cleanup(func() { _ = l.Close() })
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String(), MaxInflight: 1}}})
	visitor := dialTCP(t, p.Front.Addr().String())
	_, _ = io.WriteString(visitor, "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n")
	<-entered
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	_ = visitor.Close()
}

// A request that was under way when its client's connection was lost is sent again over
// the next one, if that does no harm.
func TestRetryOverTheNextConnection(t *testing.T) {
	p := newPair(t, &Server{Identify: named, Limits: tunnel.Limits{Return: time.Minute}})
	l := tunneltest.Listen(t)
	entered, release := make(chan struct{}, 8), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		entered <- struct{}{}
		<-release
		fmt.Fprint(w, "done")
	})}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	c, _ := p.start(client.Config{
		Logger:  silent,
		Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String()}},
	}, wire.ClientConfig{MinBackoff: time.Millisecond, Config: &wire.Config{Agent: "bus-17", Logger: silent}})
	p.Eventually("not bound", func() bool { return c.Bindings()[0].Err == nil })
	results := make(chan string, 2)
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		go func() {
			res, _ := p.Do(p.Request(method, "example.com", "/", nil))
			results <- fmt.Sprint(method, " ", res.StatusCode)
		}()
	}
	<-entered
	<-entered
	p.server.Kick("bus-17")
	got := map[string]bool{<-results: true}
	<-entered // the GET, again
	close(release)
	got[<-results] = true
	if !got["GET 200"] || !got["POST 502"] {
		t.Error(got)
	}
}
