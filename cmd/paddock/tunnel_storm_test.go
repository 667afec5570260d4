//go:build linux

package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// fewClients are simulated where PADDOCK_TUNNEL_CLIENTS says nothing.
const fewClients = 60

// returner is a client of the storm: the parts of `paddock tunnel start`, in this process.
type returner struct {
	dials, handshakes, resumed atomic.Int32 // since the last reset
}

// begin runs it until ctx ends.
func (r *returner) begin(ctx context.Context, t *testing.T, s *standing, keyFile, host string) (ended <-chan struct{}) {
	t.Helper()
	quiet := slog.New(slog.DiscardHandler)
	connect := tunneld.Connect{Server: s.link, Key: keyFile}
	if err := connect.Pin(s.id); err != nil {
		t.Fatal(err)
	}
	config, _, err := connect.Link("", quiet)
	if err != nil {
		t.Fatal(err)
	}
	verify := config.TLS.VerifyConnection
	config.TLS.VerifyConnection = func(state tls.ConnectionState) error {
		if state.DidResume {
			r.resumed.Add(1)
		}
		return verify(state)
	}
	c, err := client.New(client.Config{
		Tunnels: []client.Tunnel{{Name: host, Protocol: tunnel.HTTP, Host: host, Target: s.target.Listener.Addr().String()}}, Logger: quiet,
	})
	if err != nil {
		t.Fatal(err)
	}
	done, link := make(chan struct{}), s.link
	go func() {
		defer close(done)
		_ = c.Run(ctx, wire.ClientConfig{Config: config, Dial: func(ctx context.Context) (net.Conn, error) {
			r.dials.Add(1)
			conn, err := new(net.Dialer).DialContext(ctx, "tcp", link)
			if err == nil {
				r.handshakes.Add(1)
			}
			return conn, err
		}})
	}()
	return done
}

// A server with many clients is killed and started again. All clients reconnect, none with more
// than one failed handshake, and none retries without pauses meanwhile. Each resumes with the
// ticket of its last session, unless a handshake with that was cut off: then crypto/tls has
// dropped the ticket. PADDOCK_TUNNEL_CLIENTS=10000 is a fleet.
func TestTunnelClientsComeBack(t *testing.T) {
	t.Parallel()
	n := fewClients
	if text := os.Getenv("PADDOCK_TUNNEL_CLIENTS"); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	limit := killTime + time.Duration(n)*100*time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 3*limit)
	defer cancel()
	s := newStanding(ctx, t)
	var list strings.Builder
	for i := range n {
		key, err := keyid.Make(filepath.Join(s.dir, fmt.Sprintf("key-%d", i)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&list, "    - {name: bus-%d, id: %s, hosts: [bus-%[1]d.example]}\n", i, key.ID)
	}
	file := filepath.Join(s.dir, "server.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, "tunnel:\n  serve: {budget: %dKiB}\n  clients:\n%s", max(tunneld.DefaultBudget, tunneld.BudgetFor(n))>>10, list.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = []string{"-c", file}
	s.serve(0)

	all := make([]returner, n)
	var running sync.WaitGroup
	running.Add(n)
	within, stop := context.WithCancel(ctx)
	for i := range all {
		ended := all[i].begin(within, t, s, filepath.Join(s.dir, fmt.Sprintf("key-%d", i)), fmt.Sprintf("bus-%d.example", i))
		go func() {
			defer running.Done()
			<-ended
		}()
	}
	defer running.Wait()
	defer stop()
	allThere := func() {
		t.Helper()
		w, deadline := s.watch(), time.Now().Add(limit)
		for {
			m := w.read()
			if m["paddock_tunnel_sessions"] == float64(n) && m["paddock_tunnel_names"] == float64(n) {
				return
			}
			if time.Now().After(deadline) {
				t.Fatalf("%v of %d clients are there", m["paddock_tunnel_sessions"], n)
			}
			<-time.After(max(10*time.Millisecond, time.Duration(n)*20*time.Microsecond)) // each look costs the server a look at each client
		}
	}
	allThere()
	for i := range all {
		all[i].dials.Store(0)
		all[i].handshakes.Store(0)
		all[i].resumed.Store(0)
	}
	s.server.kill()
	s.serve(0)
	begun := time.Now()
	allThere()
	t.Logf("%d clients are back %v after the server", n, time.Since(begun).Round(time.Millisecond))
	for i := range all {
		c := &all[i]
		if h := c.handshakes.Load(); h < 1 || h > 2 || h == 1 && c.resumed.Load() < 1 {
			t.Errorf("client %d has come with %d handshakes, %d of them resumed", i, h, c.resumed.Load())
		}
		if d := c.dials.Load(); d > 30 {
			t.Errorf("client %d has dialed %d times", i, d)
		}
	}
}
