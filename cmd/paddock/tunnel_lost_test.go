//go:build linux

package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// A path swallows everything and nobody comes by another one: both sides notice within
// 12 s by themselves. PADDOCK_TUNNEL_LOST=1 has the time for it; the check has it with a
// clock of its own, TestALostPath of the library.
func TestTunnelLossIsNoticed(t *testing.T) {
	if os.Getenv("PADDOCK_TUNNEL_LOST") == "" {
		t.Skip("takes 12 s; PADDOCK_TUNNEL_LOST=1 has them")
	}
	const most = 12 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 3*killTime)
	defer cancel()
	s := newStanding(ctx, t)
	s.serve(0)
	w := s.watch()
	path := newSwallowing(t, s.link)
	client := s.connect(path.l.Addr().String())
	if err := s.visit(); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	close(path.gone)
	until(ctx, t, "the server holds the dead connection", func() error {
		if n := w.read()["paddock_tunnel_sessions"]; n != 0 {
			return fmt.Errorf("%v sessions", n)
		}
		return nil
	})
	server := time.Since(begun)
	until(ctx, t, "the client has not noticed", func() error {
		if n := path.came.Load(); n < 2 {
			return fmt.Errorf("it has dialed %d times", n)
		}
		return nil
	})
	t.Logf("noticed by the server after %v, by both after %v", server.Round(time.Millisecond), time.Since(begun).Round(time.Millisecond))
	if took := time.Since(begun); server > most || took > most+time.Second { // and it has waited before it dials
		t.Errorf("noticed by the server after %v, by both after %v", server, took)
	}
	client.kill()
	if log := client.log.String(); strings.Contains(log, "in use") {
		t.Error(log)
	}
}
