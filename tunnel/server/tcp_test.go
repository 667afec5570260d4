package server

import (
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// tcp is a client with one TCP tunnel, at a port that the server chooses, to whatever fn
// does with each connection.
func (p *pair) tcp(fn func(*net.TCPConn)) (address string) {
	p.T.Helper()
	return p.tcpBy(wire.ClientConfig{}, fn)
}

// tcpBy is tcp over a link with this configuration; then is called with the client.
func (p *pair) tcpBy(link wire.ClientConfig, fn func(*net.TCPConn), then ...func(*client.Client)) (address string) {
	p.T.Helper()
	c, _ := p.clientBy(client.Config{Tunnels: []client.Tunnel{{Name: "tcp", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: p.target(fn), Direct: p.Direct}}}, link)
	for _, tell := range then {
		tell(c)
	}
	return c.Bindings()[0].Where
}

// target is a local service that does fn with each connection.
func (p *pair) target(fn func(*net.TCPConn)) (address string) {
	p.T.Helper()
	l := tunneltest.Listen(p.T)
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer conn.Close()
				fn(conn.(*net.TCPConn))
			})
		}
	})
	p.T.Cleanup(func() {
		_ = l.Close()
		group.Wait()
	})
	return l.Addr().String()
}

func dialTCP(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn.(*net.TCPConn)
}

// A tunnel whose target takes no connection resets its visitors at once.
func TestNoTarget(t *testing.T) {
	p := newPair(t, &Server{})
	l := tunneltest.Listen(t)
	address := l.Addr().String()
	_ = l.Close()
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "tcp", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: address}}})
	visitor, err := net.Dial("tcp", c.Bindings()[0].Where)
	if err == nil { // otherwise the connection was reset at once
		defer visitor.Close()
		_, err = visitor.Read(make([]byte, 1))
	}
	if !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%v", err)
	}
}

// Several tunnels at ports that the server chooses have theirs again after a return, each
// its own.
func TestChosenPortsStay(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	var tunnels []client.Tunnel
	for i := range 8 {
		tunnels = append(tunnels, client.Tunnel{Name: strconv.Itoa(i), Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: "127.0.0.1:1"})
	}
	ports := func(c *client.Client) (at []string) {
		p.Eventually("not bound", func() bool {
			at = nil
			for _, b := range c.Bindings() {
				if b.Where == "" || b.Err != nil {
					return false
				}
				at = append(at, b.Where)
			}
			return true
		})
		return at
	}
	link := wire.ClientConfig{Config: &wire.Config{Agent: "bus-17", Logger: silent}, GiveUp: func(error) bool { return true }}
	first, stop := p.start(client.Config{Tunnels: tunnels, Logger: silent}, link)
	before := ports(first)
	stop()
	second, _ := p.start(client.Config{Tunnels: tunnels, Logger: silent}, link)
	if after := ports(second); !slices.Equal(before, after) {
		t.Errorf("%q were %q before", after, before)
	}
}

// Visitors at the addresses of TCP tunnels are bounded in number; further ones are reset, and
// counted with their reason. Visitors at the fronts are not affected.
func TestTCPCrowd(t *testing.T) {
	refused := make(chan Refusal, 4)
	p := newPair(t, &Server{Limits: tunnel.Limits{RawVisitors: 2}, Hooks: Hooks{Refused: func(f Refusal) { refused <- f }}})
	at := p.tcp(func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	echo := func() (net.Conn, error) {
		c, err := net.Dial("tcp", at)
		if err != nil {
			return nil, err // the reset may be there already
		}
		t.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Now().Add(time.Minute))
		_, _ = io.WriteString(c, "x")
		_, err = io.ReadFull(c, make([]byte, 1))
		return c, err
	}
	first, err := echo()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := echo(); err != nil {
		t.Fatal(err)
	}
	if _, err := echo(); err == nil {
		t.Error("one more than there may be")
	}
	if f := <-refused; f.Reason != Overloaded || f.Tunnel != at || f.Identity == "" || !errors.Is(f.Err, tunnel.ErrOverloaded) {
		t.Errorf("%+v", f)
	}
	if s := p.server.Stats(); s.Raw != 2 || s.Overloads["raw visitors"] != 1 || s.Visitors != 0 {
		t.Errorf("%+v", s)
	}
	_ = first.Close()
	p.Eventually("the place is not free", func() bool { return p.server.Stats().Raw == 1 })
	if _, err := echo(); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

// A tunnel keeps its address however that is written, and whichever of the client's tunnels it
// has become.
func TestNumbersOfTunnelsMayChange(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	free := tunneltest.Listen(t)
	_, port, _ := net.SplitHostPort(free.Addr().String())
	_ = free.Close()
	target := p.target(echoTCP)
	other := client.Tunnel{Name: "other", Protocol: tunnel.HTTP, Host: "example.com", Target: target}
	tcp := client.Tunnel{Name: "tcp", Protocol: tunnel.TCP, Remote: "localhost:" + port, Target: target}
	link := wire.ClientConfig{Config: &wire.Config{Agent: "one", Logger: silent}}
	_, stop := p.clientBy(client.Config{Tunnels: []client.Tunnel{other, tcp}}, link)
	stop()
	c, _ := p.clientBy(client.Config{Tunnels: []client.Tunnel{tcp}}, link)
	if at := c.Bindings()[0].Where; at != "127.0.0.1:"+port && at != "[::1]:"+port {
		t.Errorf("bound at %s", at)
	}
}
