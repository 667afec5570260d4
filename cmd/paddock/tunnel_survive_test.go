//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A client is killed again and again; the one that comes after it has its name at once, and
// the server holds no more in the end than before.
func TestTunnelClientIsKilled(t *testing.T) {
	t.Parallel()
	ctx, plan := planKills(t, 0)
	s := newStanding(ctx, t)
	s.serve(0)
	w := s.watch()
	s.client = s.connect(s.link)
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	before := w.read()
	for range plan.kills {
		plan.pass(ctx, 100*time.Millisecond)
		s.client.kill()
		s.client = s.connect(s.link)
		if err := s.visit(); err != nil {
			t.Errorf("after a client was killed: %v", err)
		}
	}
	until(ctx, t, "the server holds more than before", func() error { return grown(before, w.read()) })
	s.server.kill()
	if log := s.server.log.String(); strings.Contains(log, "in use") || strings.Contains(log, "held by another") {
		t.Errorf("a name was not free:\n%s", log)
	}
}

// A server is killed again and again; its client comes back by itself, and holds no more in
// the end than before.
func TestTunnelServerIsKilled(t *testing.T) {
	t.Parallel()
	ctx, plan := planKills(t, 1)
	s := newStanding(ctx, t)
	s.serve(0)
	// A server that dies within 30 s each time is come back to later and later.
	s.connectBy(fmt.Sprintf("  backoff: {max_interval: 1s}\n  tunnels:\n    web: {proto: http, addr: %q, host: app.example}\n", s.target.Listener.Addr()))
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	holds := func() int {
		list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.client.cmd.Process.Pid))
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	before := holds()
	for range plan.kills {
		plan.pass(ctx, 100*time.Millisecond)
		s.server.kill()
		s.serve(0)
		until(ctx, t, "the client has not come back", s.visit)
	}
	until(ctx, t, "the client holds more than before", func() error {
		if now := holds(); now > before {
			return fmt.Errorf("%d descriptors, %d before", now, before)
		}
		return nil
	})
	s.client.kill()
	if log := s.client.log.String(); strings.Contains(log, "in use") || strings.Contains(log, "held by another") {
		t.Errorf("its name was not free:\n%s", log)
	}
}

// There are more visitors than the server has descriptors for. Visitors of the fronts have a share
// of them, so a killed client can reconnect meanwhile. Visitors of a raw tunnel and strangers at
// the link have shares too, so other visitors are served meanwhile. If the settings give visitors
// more than there is, the link stays, no connection is accepted, and the server logs and counts
// that without spinning. It continues when the visitors have gone.
func TestTunnelWithoutDescriptors(t *testing.T) {
	t.Parallel()
	const descriptors = 128
	ctx, cancel := context.WithTimeout(t.Context(), 4*killTime)
	defer cancel()
	s := newStanding(ctx, t)
	raw, connect := s.serveBoth(descriptors)
	connect()
	w := s.watch()
	come := func(address string) (leave func()) {
		there := dialed(t, address, 2*descriptors)
		return func() {
			for _, conn := range there {
				_ = conn.Close()
			}
		}
	}

	leave := come(s.front)
	until(ctx, t, "nobody was sent away", func() error {
		m := w.read()
		if n := m["paddock_tunnel_visitors"]; n > descriptors/2 || n != m[`paddock_tunnel_limit{of="visitors"}`] {
			return fmt.Errorf("%v visitors of %d descriptors, the bound is %v", n, descriptors, m[`paddock_tunnel_limit{of="visitors"}`])
		}
		if m[`paddock_tunnel_refused_total{reason="overloaded",stage="permit"}`] == 0 {
			return errors.New("no refusal is counted")
		}
		return nil
	})
	s.client.kill()
	connect()
	leave()
	until(ctx, t, "nobody is served", s.visit)

	leave = come(raw)
	until(ctx, t, "visitors of a TCP tunnel are not bounded", func() error {
		m := w.read()
		if n := m["paddock_tunnel_raw_visitors"]; n > descriptors/8 || n != m[`paddock_tunnel_limit{of="raw_visitors"}`] {
			return fmt.Errorf("%v visitors of %d descriptors, the bound is %v", n, descriptors, m[`paddock_tunnel_limit{of="raw_visitors"}`])
		}
		return nil
	})
	leave()

	if _, told := w.read()["paddock_wire_waiting"]; !told {
		t.Error("it is not told who waits at the link")
	}
	leave = come(s.link)
	until(ctx, t, "nobody is served beside strangers at the link", s.visit)
	leave()
	const attempts = "paddock_tunnel_accept_errors_total"
	if n := w.read()[attempts]; n != 0 {
		t.Errorf("%v attempts to accept have failed", n)
	}
	s.server.kill()
	if !strings.Contains(s.server.log.String(), "bounds are lower than usual") {
		t.Error("the log does not say that bounds are lower")
	}

	over := filepath.Join(s.dir, "server.yaml")
	if err := os.WriteFile(over, []byte("tunnel: {serve: {limits: {visitors: 4096, visitors_each: 4096}}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s.more = []string{"-c", over}
	s.serve(descriptors)
	until(ctx, t, "the client has not come back", s.visit)
	w = s.watch()
	before := w.read()
	leave = come(s.front)
	until(ctx, t, "there are descriptors", func() error {
		visitor, err := net.Dial("tcp", s.front)
		if err != nil {
			return err
		}
		defer visitor.Close()
		if n := w.read()[attempts]; n < 5 {
			return fmt.Errorf("%v attempts to accept have failed", n)
		}
		return nil
	})
	full := w.read()
	if full["paddock_tunnel_sessions"] != 1 || full["paddock_tunnel_takeovers_total"] != before["paddock_tunnel_takeovers_total"] {
		t.Errorf("the link has not stayed: %v sessions", full["paddock_tunnel_sessions"])
	}
	leave()
	until(ctx, t, "nobody is served", s.visit)
	until(ctx, t, "the server holds more than before", func() error { return grown(before, w.read()) })
	after := w.read()
	if n := after[attempts]; n > 100 { // one a second at each listener, once it has waited for a while
		t.Errorf("%v attempts to accept", n)
	}
	if spent := after["process_cpu_seconds_total"] - before["process_cpu_seconds_total"]; spent > 10 {
		t.Errorf("%v s of processor time", spent)
	}
	s.server.kill()
	if !strings.Contains(s.server.log.String(), "too many open files") {
		t.Error("the log does not say what was missing")
	}
}
