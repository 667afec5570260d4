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
			crowd := func(address string, n int) {
				for _, conn := range dialed(t, address, n) {
					t.Cleanup(func() { _ = conn.Close() })
				}
			}
			for _, address := range []string{s.link, raw, s.front} {
				crowd(address, files)
			}
			until(ctx, t, "crowds are not bounded", func() error {
				m := w.read()
				each := m[`paddock_tunnel_limit{of="visitors_each"}`]
				for of, address := range map[string]string{"visitors": s.front, "raw_visitors": raw} {
					most := min(float64(files), m[`paddock_tunnel_limit{of="`+of+`"}`])
					if of == "visitors" {
						most = min(most, each)
					}
					now := m["paddock_tunnel_"+of]
					if now < most {
						crowd(address, 1) // on a slow machine the first ones have been ended by now, as they say nothing
					}
					if now != most {
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
