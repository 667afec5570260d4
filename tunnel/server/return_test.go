package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// island is a server whose clients connect in memory, so that the test controls the time.
type island struct {
	t      *testing.T
	limits tunnel.Limits
	server *Server
	link   *wire.Server
	conns  chan net.Conn // that were dialed; not buffered: they are accepted at once
	closed chan struct{} // with the present listener
	ended  chan error
	dials  map[string]int // by client, guarded by mu
	mu     sync.Mutex
}

// liveness is the timeout that the programs set for wire; section 9 of its SPEC.
const liveness = 10 * time.Second

func newIsland(t *testing.T, limits tunnel.Limits) *island {
	n := &island{t: t, limits: limits, conns: make(chan net.Conn), dials: map[string]int{}}
	n.start()
	return n
}

// start opens a server that knows nothing.
func (n *island) start() {
	n.server = &Server{Policy: everybody, Identify: named, Limits: n.limits, Logger: silent}
	mux := wire.NewMux()
	n.server.Register(mux)
	n.link = &wire.Server{Config: &wire.Config{Mux: mux, Logger: silent, Idle: liveness, ConnBudget: n.limits.LinkBudget()}}
	n.closed, n.ended = make(chan struct{}), make(chan error, 1)
	go func() { n.ended <- n.link.Serve(&islandListener{n.conns, n.closed, sync.Once{}}) }()
}

// kill ends the server as the end of its process would.
func (n *island) kill() {
	_ = n.link.Close()
	_ = n.server.Close()
	if err := <-n.ended; err != nil {
		n.t.Error(err)
	}
}

// dialer is how a client reaches the server; lost, if not nil, swallows everything once
// it is closed, as a path that has gone does.
func (n *island) dialer(who string, lost <-chan struct{}) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) {
		n.mu.Lock()
		n.dials[who]++
		closed := n.closed
		n.mu.Unlock()
		near, far := wiretest.Pipe(64 << 10)
		select {
		case n.conns <- &blackhole{far, lost}:
			return &blackhole{near, lost}, nil
		case <-closed:
			_, _ = near.Close(), far.Close()
			return nil, errors.New("connection refused")
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// islandListener accepts the connections that are dialed in memory.
type islandListener struct {
	conns  <-chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *islandListener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}
func (l *islandListener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *islandListener) Addr() net.Addr { return &net.TCPAddr{} }

// blackhole is a connection on a path that may be lost: its written bytes vanish then.
type blackhole struct {
	net.Conn
	lost <-chan struct{}
}

func (b *blackhole) Write(p []byte) (int, error) {
	select {
	case <-b.lost:
		return len(p), nil
	default:
		return b.Conn.Write(p)
	}
}

// client starts a client for a host name, and returns it with a function that ends it.
func (n *island) client(who string, lost <-chan struct{}) (c *client.Client, stop func()) {
	c, err := client.New(client.Config{
		Tunnels: []client.Tunnel{{Name: who, Protocol: tunnel.HTTP, Host: who + ".example", Target: "127.0.0.1:1"}}, Logger: silent,
	})
	if err != nil {
		n.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = c.Run(ctx, wire.ClientConfig{Dial: n.dialer(who, lost), Config: &wire.Config{Agent: who, Logger: silent, Idle: liveness}})
	}()
	return c, func() {
		cancel()
		<-done
	}
}

// inBubble runs a test with fake time. Objects in wire's pools must not cross from one bubble to
// another.
func inBubble(t *testing.T, test func(*testing.T)) {
	t.Helper()
	emptyPools()
	synctest.Test(t, test)
	emptyPools()
}

// emptyPools empties them: it takes two collections.
func emptyPools() {
	runtime.GC()
	runtime.GC()
}

// The path drops every packet. A client that comes by another path with the same identity replaces
// the dead session at once. Without one, the session is found dead within 12 s.
func TestALostPath(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newIsland(t, tunnel.Limits{})
		lost := make(chan struct{})
		_, stopReplaced := n.client("bus-17", lost)
		_, stopDead := n.client("bus-18", lost)
		synctest.Wait()
		if s := n.server.Stats(); s.Sessions != 2 || s.Names != 2 {
			t.Fatalf("at first: %+v", s)
		}
		close(lost)
		begin := time.Now()
		_, stop := n.client("bus-17", nil)
		synctest.Wait()
		if s := n.server.Stats(); s.Takeovers != 1 || s.Away != 0 || time.Since(begin) != 0 {
			t.Errorf("by another path: %d takeovers, %d names away, after %v", s.Takeovers, s.Away, time.Since(begin))
		}
		for n.server.Stats().Sessions > 1 && time.Since(begin) < time.Minute {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(begin); took > 12*time.Second {
			t.Errorf("the dead session was noticed after %v", took)
		}
		if s := n.server.Sessions(); len(s) != 1 || s[0].Identity != "bus-17" {
			t.Errorf("%+v", s)
		}
		stop()
		stopReplaced()
		stopDead()
		n.kill()
	})
}

// A server that is killed and back within 5 s has all its clients again within 30 s of
// that. They come spread over time, not all in one moment, and none of them hammers.
func TestAllComeBack(t *testing.T) {
	const clients, outage = crowd, 5 * time.Second
	inBubble(t, func(t *testing.T) {
		n := newIsland(t, tunnel.Limits{})
		var stops []func()
		for i := range clients {
			_, stop := n.client(fmt.Sprintf("bus-%d", i), nil)
			stops = append(stops, stop)
		}
		time.Sleep(40 * time.Second) // the connections are healthy: failures before them are forgotten
		if s := n.server.Stats(); s.Sessions != clients {
			t.Fatalf("%d of %d at first", s.Sessions, clients)
		}
		n.kill()
		time.Sleep(outage)
		n.mu.Lock()
		n.start()
		clear(n.dials)
		n.mu.Unlock()
		begin, most := time.Now(), 0
		for before := 0; before < clients && time.Since(begin) < time.Minute; {
			time.Sleep(100 * time.Millisecond)
			now := n.server.Stats().Names
			most, before = max(most, now-before), now
		}
		if took := time.Since(begin); took > 30*time.Second {
			t.Errorf("all are back after %v", took)
		}
		if most > clients/2 {
			t.Errorf("%d of %d came in a tenth of a second", most, clients)
		}
		n.mu.Lock()
		for who, dials := range n.dials {
			if dials > 2 {
				t.Errorf("%s has dialed %d times", who, dials)
			}
		}
		n.mu.Unlock()
		for _, stop := range stops {
			stop()
		}
		n.kill()
	})
}
