package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// listen binds a tunnel at a client that runs.
func (p *pair) listen(c *client.Client, tunnel client.Tunnel) net.Listener {
	p.T.Helper()
	ctx, cancel := context.WithTimeout(p.T.Context(), 20*time.Second)
	defer cancel()
	l, err := c.Listen(ctx, tunnel)
	if err != nil {
		p.T.Fatal(err)
	}
	return l
}

// http.Serve serves visitors without a port: bodies of both ways, upgrades to nothing,
// and when the listener is closed, the name is free.
func TestListenHTTP(t *testing.T) {
	p := newPair(t, &Server{})
	c, _ := p.client(client.Config{})
	l := p.listen(c, client.Tunnel{Name: "web", Protocol: tunnel.HTTP, Host: "example.com"})
	service := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/early" { // the body is not read
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		}
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(b)
	})}
	served := make(chan error, 1)
	go func() { served <- service.Serve(l) }()
	if at := l.Addr(); at.Network() != "tunnel" || at.String() != "example.com" {
		t.Errorf("%s %s", at.Network(), at)
	}
	for _, size := range []int{0, 100, 20_000, 200_000} {
		body := strings.Repeat("x", size)
		if res, got := p.Do(p.Request(http.MethodPost, "example.com", "/", strings.NewReader(body))); res.StatusCode != 200 || got != body {
			t.Errorf("%d bytes: %d, %d bytes", size, res.StatusCode, len(got))
		}
	}
	if res, _ := p.Do(p.Request(http.MethodPost, "example.com", "/early", strings.NewReader(strings.Repeat("x", 20_000)))); res.StatusCode != 413 {
		t.Errorf("an early answer: %d", res.StatusCode)
	}
	if err := service.Close(); err != nil {
		t.Error(err)
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		t.Error(err)
	}
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 404 {
		t.Errorf("closed: %d", res.StatusCode)
	}
	again := p.listen(c, client.Tunnel{Name: "again", Protocol: tunnel.HTTP, Host: "example.com"})
	if err := again.Close(); err != nil {
		t.Error(err)
	}
}

// Raw visitors come with their address and both halves, those of Server.Dial too.
func TestListenTCP(t *testing.T) {
	p := newPair(t, &Server{})
	c, _ := p.client(client.Config{})
	l := p.listen(c, client.Tunnel{Name: "raw", Protocol: tunnel.TCP, Remote: "127.0.0.1:0"})
	served := make(chan string)
	go func() {
		defer close(served)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			b, err := io.ReadAll(conn)
			if err != nil {
				t.Error(err)
			}
			_, _ = fmt.Fprintf(conn, "%s back", b)
			_ = conn.Close()
			served <- conn.RemoteAddr().String()
		}
	}()
	visit := func(conn net.Conn, err error) (from string) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "there")
		_ = conn.(interface{ CloseWrite() error }).CloseWrite()
		if b, err := io.ReadAll(conn); err != nil || string(b) != "there back" {
			t.Errorf("%q, %v", b, err)
		}
		return <-served
	}
	conn, err := net.Dial("tcp", l.Addr().String())
	if from := visit(conn, err); from != conn.LocalAddr().String() {
		t.Errorf("from %s, not %s", from, conn.LocalAddr())
	}
	conn, err = p.server.Dial(t.Context(), l.Addr().String())
	if from := visit(conn, err); from != "" {
		t.Errorf("from %s", from)
	}
	_ = l.Close()
	if conn, err := p.server.Dial(t.Context(), l.Addr().String()); err == nil {
		_ = conn.Close()
		t.Error("closed, and it can be reached")
	}
	for range served {
		t.Error("served after the end")
	}
	p.Eventually("permits are out at the client", func() bool { return c.Stats().Inflight == 0 && c.Stats().Bytes == 0 })
}

// Listen returns the server's refusal as its error, and leaves nothing behind; a bound tunnel comes
// back with the connection.
func TestListenRefused(t *testing.T) {
	p := newPair(t, &Server{Policy: tunnel.PolicyFunc(func(_ string, b tunnel.Binding) error {
		if b.Host == "no.example.com" {
			return tunnel.ErrDenied
		}
		return nil
	})})
	c, _ := p.client(client.Config{})
	var refused *wire.Error
	_, err := c.Listen(t.Context(), client.Tunnel{Name: "no", Protocol: tunnel.HTTP, Host: "no.example.com"})
	if !errors.As(err, &refused) || refused.Code != wire.PermissionDenied {
		t.Errorf("%v", err)
	}
	if n := len(c.Bindings()); n != 0 {
		t.Errorf("%d tunnels are left", n)
	}
	l := p.listen(c, client.Tunnel{Name: "yes", Protocol: tunnel.SNI, Host: "yes.example.com"})
	p.server.Kick(p.server.Sessions()[0].Identity)
	go func() {
		if conn, err := l.Accept(); err == nil {
			_ = conn.Close()
		}
	}()
	var conn net.Conn
	p.Eventually("the tunnel is not bound again", func() (ok bool) {
		conn, err = p.server.Dial(t.Context(), "YES.example.com")
		return err == nil
	})
	if _, err := io.ReadAll(conn); err != nil {
		t.Error(err)
	}
	_ = conn.Close()
	_ = l.Close()

	away, err := client.New(client.Config{Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := away.Listen(ctx, client.Tunnel{Name: "away", Protocol: tunnel.HTTP, Host: "example.com"}); !errors.Is(err, context.Canceled) {
		t.Errorf("without a connection: %v", err)
	}
}

// A listener that is closed while the server is still deciding leaves no name behind, whether its
// Listen was given up or its tunnel was being bound again.
func TestCloseWhileBinding(t *testing.T) {
	slow := client.Tunnel{Name: "slow", Protocol: tunnel.HTTP, Host: "slow.example.com"}
	other := client.Tunnel{Name: "other", Protocol: tunnel.HTTP, Host: "other.example.com"}
	asked, decided, results := make(chan struct{}), make(chan struct{}), make(chan error, 9)
	p := newPair(t, &Server{
		Policy: tunnel.PolicyFunc(func(_ string, b tunnel.Binding) error {
			if b.Host == slow.Host {
				asked <- struct{}{}
				<-decided
			}
			return nil
		}),
		Hooks: Hooks{
			Bound: func(_ string, b tunnel.Binding) {
				if b.Host == slow.Host {
					results <- nil
				}
			},
			BindRefused: func(_ string, _ tunnel.Binding, _ string, err error) { results <- err },
		},
	})
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: "1"}}})

	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-asked
		cancel()
	}()
	if _, err := c.Listen(ctx, slow); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	decided <- struct{}{}
	if err := <-results; !errors.Is(err, context.Canceled) {
		t.Errorf("given up, and the result is %v", err)
	}

	go func() {
		<-asked
		decided <- struct{}{}
	}()
	l := p.listen(c, slow)
	if err := <-results; err != nil {
		t.Error(err)
	}
	p.server.Kick(p.server.Sessions()[0].Identity)
	<-asked
	_ = l.Close()
	defer p.listen(c, other).Close() // with the same id
	decided <- struct{}{}
	if err := <-results; err != nil {
		t.Error(err)
	}
	p.Eventually("the name of a closed listener is held, or that of the next one is not", func() bool {
		return !p.server.registry.routes.has(slow.Host) && p.server.registry.routes.has(other.Host)
	})
}

func TestRunGivesUp(t *testing.T) {
	c, err := client.New(client.Config{Logger: silent, Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: "1"}}})
	if err != nil {
		t.Fatal(err)
	}
	failure, asked := errors.New("no network"), 0
	err = c.Run(t.Context(), wire.ClientConfig{
		MinBackoff: time.Nanosecond, MaxBackoff: time.Nanosecond,
		Dial:   func(context.Context) (net.Conn, error) { return nil, failure },
		GiveUp: func(error) bool { asked++; return asked == 3 },
	})
	if !errors.Is(err, failure) || asked != 3 {
		t.Errorf("%v after %d", err, asked)
	}
}
