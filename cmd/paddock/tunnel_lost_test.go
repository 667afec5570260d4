//go:build linux

package main

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// swallowing is a path between a client and a server that can go: it keeps both sockets
// open and moves nothing any more.
type swallowing struct {
	l    net.Listener
	wg   sync.WaitGroup
	gone chan struct{}
	end  chan struct{}
	came atomic.Int32 // connections
}

func newSwallowing(t *testing.T, to string) *swallowing {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &swallowing{l: l, gone: make(chan struct{}), end: make(chan struct{})}
	s.wg.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			s.came.Add(1)
			far, err := net.Dial("tcp", to)
			if err != nil {
				_ = near.Close()
				continue
			}
			for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
				s.wg.Go(func() { s.carry(way[0], way[1]) })
			}
			s.wg.Go(func() {
				<-s.end
				_, _ = near.Close(), far.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		close(s.end)
		s.wg.Wait()
	})
	return s
}

func (s *swallowing) carry(from, to net.Conn) {
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		select {
		case <-s.gone:
			return // the connection stays open
		default:
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// overPath is a tunnel whose client comes over a path that swallows everything once it is
// gone. One visitor has been served.
type overPath struct {
	*standing
	metrics *watching
	path    *swallowing
}

// newOverPath has its time for all of the test.
func newOverPath(t *testing.T, within time.Duration) *overPath {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	t.Cleanup(cancel)
	s := newStanding(ctx, t)
	s.serve(0)
	o := &overPath{s, s.watch(), newSwallowing(t, s.link)}
	s.client = s.connect(o.path.l.Addr().String())
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	return o
}

// A path drops all packets. A client that reconnects over another path with the same key has its
// name at once: it is not refused because the name is in use, and visitors do not wait until the
// server notices the dead connection.
func TestTunnelPathIsLost(t *testing.T) {
	t.Parallel()
	s := newOverPath(t, 2*killTime)
	close(s.path.gone)
	first, second := s.client, s.connect(s.link)
	if err := s.visit(); err != nil {
		t.Error(err)
	}
	if m := s.metrics.read(); m["paddock_tunnel_takeovers_total"] != 1 || m["paddock_tunnel_sessions"] != 1 || m["paddock_tunnel_names_away"] != 0 {
		t.Errorf("%v takeovers, %v sessions, %v names away", m["paddock_tunnel_takeovers_total"], m["paddock_tunnel_sessions"], m["paddock_tunnel_names_away"])
	}
	first.kill()
	second.kill()
	for _, log := range []*bytes.Buffer{&first.log, &second.log} {
		if strings.Contains(log.String(), "in use") || strings.Contains(log.String(), "held by another") {
			t.Errorf("somebody heard that the name is in use:\n%s", log)
		}
	}
}

// A path drops all packets, and no client reconnects over another one: both sides notice within
// 12 s by themselves. PADDOCK_TUNNEL_LOST=1 has the time for it; the check has it with a
// clock of its own, TestALostPath of the library.
func TestTunnelLossIsNoticed(t *testing.T) {
	if os.Getenv("PADDOCK_TUNNEL_LOST") == "" {
		t.Skip("takes 12 s; PADDOCK_TUNNEL_LOST=1 has them")
	}
	const most = 12 * time.Second
	s := newOverPath(t, 3*killTime)
	begun := time.Now()
	close(s.path.gone)
	until(s.ctx, t, "the server holds the dead connection", func() error {
		if n := s.metrics.read()["paddock_tunnel_sessions"]; n != 0 {
			return fmt.Errorf("%v sessions", n)
		}
		return nil
	})
	server := time.Since(begun)
	until(s.ctx, t, "the client has not noticed", func() error {
		if n := s.path.came.Load(); n < 2 {
			return fmt.Errorf("it has dialed %d times", n)
		}
		return nil
	})
	t.Logf("noticed by the server after %v, by both after %v", server.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	if took := time.Since(begun); server > most || took > most+time.Second { // and it has waited before it dials
		t.Errorf("noticed by the server after %v, by both after %v", server, took)
	}
	s.client.kill()
	if log := s.client.log.String(); strings.Contains(log, "in use") {
		t.Error(log)
	}
}
