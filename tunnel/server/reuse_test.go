package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
)

// A visitor posts every 5 s, exactly when the service closes idle connections. Each POST is
// executed once, and none of them fails if the service announces its timeout. Otherwise a POST may
// meet the end of its connection: then it is unknown whether it was executed, it is not sent again,
// and the visitor receives an error. PADDOCK_TUNNEL_POSTS=720 runs for an hour.
func TestPostsAtTheMomentOfReuse(t *testing.T) {
	const every = 5 * time.Second
	span := every * time.Duration(scale(t, "PADDOCK_TUNNEL_POSTS", 60))
	for name, announced := range map[string]bool{"announced": true, "not announced": false} {
		t.Run(name, func(t *testing.T) {
			done := map[string]int{} // by the requests that come one after the other
			conns := 0
			service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				b, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				done[string(b)]++
				if announced {
					w.Header().Set("Keep-Alive", fmt.Sprintf("timeout=%d", int(every.Seconds())))
				}
			})
			onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
				w, unlucky := p.walkIn("192.0.2.1"), 0
				for begun := time.Now(); time.Since(begun) < span; time.Sleep(every) {
					id := time.Since(begun).String()
					fmt.Fprintf(w, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: %d\r\n\r\n%s", len(id), id)
					res, err := http.ReadResponse(w.in, nil)
					if err != nil {
						t.Fatal(err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					switch {
					case res.StatusCode == http.StatusBadGateway && !announced:
						unlucky++
						if done[id] > 1 {
							t.Errorf("%s was done %d times", id, done[id])
						}
					case res.StatusCode != http.StatusOK || done[id] != 1:
						t.Errorf("%s: %d, done %d times", id, res.StatusCode, done[id])
					}
				}
				t.Logf("%d POSTs, %d connections, %d came when theirs ended", len(done)+unlucky, conns, unlucky)
				_ = w.Close()
				synctest.Wait()
			}, func(s *http.Server) {
				s.IdleTimeout = every
				s.ConnState = func(_ net.Conn, is http.ConnState) {
					if is == http.StateNew {
						conns++
					}
				}
			})
		})
	}
}
