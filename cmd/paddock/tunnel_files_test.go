//go:build linux

package main

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A server with a low limit of open files works. Crowds at all of its listeners together leave
// enough files for visitors, for raw ones and for clients, and no accept fails. The log lists the
// lowered limits, and so does `check` before the start.
func TestTunnelWithFewFiles(t *testing.T) {
	t.Parallel()
	for _, files := range []int{64, 256, 1024} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*killTime)
			defer cancel()
			s := newStanding(ctx, t)
			raw, connect := s.serveBoth(files)
			connect()
			w := s.watch()
			for _, address := range []string{s.link, raw, s.front} {
				for _, conn := range dialed(t, address, files) {
					defer conn.Close()
				}
			}
			until(ctx, t, "crowds are not bounded", func() error {
				m := w.read()
				each := m[`paddock_tunnel_limit{of="visitors_each"}`]
				for of, most := range map[string]float64{"visitors": min(each, float64(files)), "raw_visitors": float64(files)} {
					most = min(most, m[`paddock_tunnel_limit{of="`+of+`"}`])
					if now := m["paddock_tunnel_"+of]; now != most {
						return fmt.Errorf("%v %s, %v may be there", now, of, most)
					}
				}
				return nil
			})
			s.client.kill()
			connect()
			m := w.read()
			if n := m["paddock_tunnel_accept_errors_total"]; n != 0 {
				t.Errorf("%v accepts have failed", n)
			}
			if n := m["process_open_fds"]; n > float64(files)-4 {
				t.Errorf("%v of %d files are open", n, files)
			}
			s.server.kill()
			if !strings.Contains(s.server.log.String(), "bounds are lower than usual") {
				t.Error("the log does not say that bounds are lower")
			}
		})
	}
}
