package wire_test

import (
	"crypto/tls"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// comesFrom is a connection of an address.
type comesFrom struct {
	net.Conn
	address string
}

func (c comesFrom) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(c.address), Port: 1} }

// knock connects from an address, and says nothing yet.
func (p *pipes) knock(t *testing.T, address string) net.Conn {
	near, far := wiretest.Pipe(0)
	t.Cleanup(func() { _ = near.Close() })
	p.conns <- comesFrom{far, address}
	return near
}

// enter makes a connection of wire of one that knocks.
func enter(t *testing.T, nc net.Conn, config *tls.Config) error {
	t.Helper()
	if config != nil {
		secured, err := wire.SecureDialer(t.Context(), nc, "wire.test", config)
		if err != nil {
			return err
		}
		nc = secured
	}
	c, err := wire.NewConn(nc, &wire.Config{Logger: quiet})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.Ready(t.Context())
}

// A flood of connections that send nothing, or begin TLS and stop, takes a bounded number of
// places, and goroutines and memory for these only. It does not keep out connections from other
// addresses, and keeps out those from its own address no longer than handshake.Patience.
func TestSilentFlood(t *testing.T) {
	const places, crowd = 32, 400
	for name, c := range map[string]struct {
		server, client *tls.Config
		first          string // what those of the flood say
	}{
		"plain":            {},
		"half a preface":   {first: frame.Preface[:4]},
		"TLS":              {server: serverTLS(), client: clientTLS()},
		"half a handshake": {server: serverTLS(), client: clientTLS(), first: "\x16\x03\x01\x02\x00\x01"},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &wire.Server{MaxOpening: places, MaxWaiting: -1, Config: &wire.Config{TLS: c.server, Logger: quiet}}
				l := newPipes()
				serveOn(t, s, l)
				flood := func() {
					for range crowd {
						_, _ = l.knock(t, "192.0.2.1").Write([]byte(c.first))
					}
				}
				goroutines, bytes := runtime.NumGoroutine(), inUse()
				flood()
				synctest.Wait()
				if n := s.Stats().Opening; n != places {
					t.Errorf("%d are opening", n)
				}
				// Each pending connection has at most two goroutines, and so has each connection
				// that is being refused.
				if n := runtime.NumGoroutine() - goroutines; n > 3*(places+64) {
					t.Errorf("%d more goroutines", n)
				}
				if grown := inUse() - bytes; grown > 16<<20 {
					t.Errorf("%d more bytes", grown)
				}
				at := time.Now()
				if err := enter(t, l.knock(t, "198.51.100.1"), c.client); err != nil || time.Since(at) > 0 {
					t.Errorf("from elsewhere: %v, after %v", err, time.Since(at))
				}
				synctest.Wait()
				flood() // takes the place that is free again
				time.Sleep(handshake.Patience)
				if err := enter(t, l.knock(t, "192.0.2.1"), c.client); err != nil {
					t.Errorf("from where the flood comes from: %v", err)
				}
				synctest.Wait()
				if stats := s.Stats(); stats.Crowded != 2 || stats.Refused != 2*crowd-places-1 {
					t.Errorf("%+v", stats)
				}
				time.Sleep(10 * time.Second) // which is what all of them have together
				if stats := s.Stats(); stats.Opening != 0 || stats.Conns != 2 || stats.Failed != places+1 {
					t.Errorf("in the end %+v", stats)
				}
			})
		})
	}
}

// With MaxSockets, open, pending and waiting connections together never exceed the bound. A
// connection from another address is still admitted.
func TestServerBoundsSockets(t *testing.T) {
	const sockets = 16
	bubble(t, func(t *testing.T) {
		s := &wire.Server{MaxOpening: sockets / 4, MaxSockets: sockets, Config: &wire.Config{Logger: quiet}}
		l := newPipes()
		serveOn(t, s, l)
		there := func() int {
			stats := s.Stats()
			return stats.Conns + stats.Opening + stats.Waiting
		}
		for range sockets / 2 {
			if err := enter(t, l.knock(t, "198.51.100.1"), nil); err != nil {
				t.Fatal(err)
			}
		}
		for range 4 * sockets {
			l.knock(t, "192.0.2.1")
		}
		synctest.Wait()
		if n := there(); n != sockets || s.Stats().Refused == 0 {
			t.Errorf("%d sockets: %+v", n, s.Stats())
		}
		if err := enter(t, l.knock(t, "198.51.100.2"), nil); err != nil {
			t.Errorf("from elsewhere: %v", err)
		}
		synctest.Wait()
		if n := there(); n > sockets {
			t.Errorf("%d sockets: %+v", n, s.Stats())
		}
	})
}

// With Pauses, connections from an address are closed for a while after repeated failures from it.
// Other addresses are not affected, and a port scan is not a failure.
func TestServerPauses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		s := &wire.Server{Pauses: true, Config: &wire.Config{Logger: quiet, Verify: func(c *wire.Conn, _ *wire.Hello) error {
			if network, _ := handshake.Network(c.RemoteAddr()); network.Addr().String() == "192.0.2.9" {
				return &wire.Error{Code: wire.PermissionDenied} // known, and kept out
			}
			return nil
		}}}
		l := newPipes()
		serveOn(t, s, l)
		for range 10 {
			_ = l.knock(t, "192.0.2.8").Close()
			_ = enter(t, l.knock(t, "192.0.2.9"), nil)
		}
		synctest.Wait()
		if n := s.Stats().Paused; n > 0 {
			t.Errorf("%d for nothing", n)
		}
		for range 10 {
			_, _ = l.knock(t, "192.0.2.1").Write([]byte("GET / HTTP/1.1\r\n\r\n"))
			synctest.Wait()
		}
		if n := s.Stats().Paused; n != 5 {
			t.Errorf("%d of 10 were hung up on", n)
		}
		if err := enter(t, l.knock(t, "192.0.2.2"), nil); err != nil {
			t.Errorf("another address: %v", err)
		}
		time.Sleep(time.Second)
		if err := enter(t, l.knock(t, "192.0.2.1"), nil); err != nil {
			t.Errorf("when the pause is over: %v", err)
		}
	})
}

// All clients of a server come at once from one address, many times more than there are places:
// each of them gets in, by its only handshake.
func TestFleetComesAtOnce(t *testing.T) {
	const places, fleet = 4, 200
	for name, c := range map[string]struct{ server, client *tls.Config }{
		"plain": {}, "TLS": {serverTLS(), clientTLS()},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := &wire.Server{MaxOpening: places, Pauses: true, Config: &wire.Config{TLS: c.server, Logger: quiet}}
				l := newPipes()
				serveOn(t, s, l)
				results := make(chan error, fleet)
				for range fleet {
					nc := l.knock(t, "192.0.2.1")
					go func() { results <- enter(t, nc, c.client) }()
				}
				for range fleet {
					if err := <-results; err != nil {
						t.Error(err)
					}
				}
				synctest.Wait()
				if is := s.Stats(); is != (wire.ServerStats{Conns: fleet, Accepted: fleet}) {
					t.Errorf("%+v", is)
				}
			})
		})
	}
}

// Connections that send nothing get no place while another one of their address waits that has sent
// bytes, and do not stay for ever.
func TestSilentOnesWaitForOthers(t *testing.T) {
	const places, silent = 4, 40
	s := &wire.Server{MaxOpening: places}
	address := serve(t, s)
	for range silent {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
	}
	waitFor(t, func() bool { return s.Stats().Waiting == silent-places/2 })
	for range 3 * places {
		if err := dial(t, address, nil).Ready(t.Context()); err != nil {
			t.Error(err)
		}
	}
	waitFor(t, func() bool { return s.Stats().Accepted == 3*places })
	if is := s.Stats(); is.Crowded > 0 || is.Failed > 0 || is.Refused > 0 || is.Waiting != silent-places/2 {
		t.Errorf("%+v", is)
	}
}

// A connection that waits for a place when the server ends is closed.
func TestServerEndsWithAFullRoom(t *testing.T) {
	s := &wire.Server{MaxOpening: 2}
	address := serve(t, s)
	var last net.Conn
	for range 8 {
		nc, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = nc.Close() })
		last = nc
	}
	waitFor(t, func() bool { return s.Stats().Waiting == 7 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := last.Read(make([]byte, 1)); err == nil {
		t.Error("there is still somebody at the other end")
	}
	if n := s.Stats().Waiting; n != 0 {
		t.Errorf("%d wait", n)
	}
}
