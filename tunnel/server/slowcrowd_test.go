package server

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// Thousands of visitors are slow at once, each in one way: with a head, with a body, or in reading.
// All of them are gone soon after their deadlines, and fast visitors are served all the while,
// except for the moment in which the slow ones arrive. TestSlowVisitors checks the exact times,
// with few visitors.
func TestSlowCrowd(t *testing.T) {
	if os.Getenv("PADDOCK_TUNNEL_SLOW") == "" {
		t.Skip("takes half a minute; PADDOCK_TUNNEL_SLOW=5000 is a crowd")
	}
	slow := scale(t, "PADDOCK_TUNNEL_SLOW", 0)
	const head, stall, slack = 10 * time.Second, 15 * time.Second, 15 * time.Second
	p := newPair(t, &Server{Limits: tunnel.Limits{
		Visitors: 2 * slow, VisitorsEach: 2 * slow, Streams: slow, TunnelStreams: slow, Head: head, Stall: stall, Idle: head, Bytes: 1 << 30,
	}})
	done := make(chan struct{})
	backend := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/endless" {
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		for piece := make([]byte, 16<<10); ; {
			if _, err := w.Write(piece); err != nil {
				return
			}
		}
	})
	l := tunneltest.Listen(t)
	service := &http.Server{Handler: backend}
	go func() { _ = service.Serve(l) }()
	t.Cleanup(func() { _ = service.Close() })
	p.client(client.Config{Budget: 1 << 30, Tunnels: []client.Tunnel{{
		Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: l.Addr().String(), MaxInflight: 2 * slow,
	}}})

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var crowd, others sync.WaitGroup
	late := make(chan string, slow)
	for i := range slow {
		conn, err := net.Dial("tcp", p.Front.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
			t.Fatal(err)
		}
		crowd.Go(func() {
			defer conn.Close()
			begun, limit := time.Now(), head+slack
			switch i % 3 {
			case 0:
				fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: exam")
			case 1:
				fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: example.com\r\nContent-Length: 1000\r\n\r\nbegin")
			default:
				fmt.Fprint(conn, "GET /endless HTTP/1.1\r\nHost: example.com\r\n\r\n")
				limit = stall + slack
				select { // and reads nothing: the kernel buffers little
				case <-time.After(limit):
				case <-ctx.Done():
					return
				}
			}
			_ = conn.SetReadDeadline(begun.Add(limit + slack))
			if n, err := io.Copy(io.Discard, conn); isTimeout(err) {
				late <- fmt.Sprintf("way %d: still there after %v, %d bytes", i%3, time.Since(begun), n)
			}
		})
	}
	come := time.Now()
	for range 4 {
		others.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-done:
					t.Logf("%d beside them were served", n)
					return
				default:
				}
				switch res, _ := p.Get("example.com", "/"); {
				case res.StatusCode == http.StatusServiceUnavailable && time.Since(come) < head/2:
				case res.StatusCode != http.StatusOK:
					t.Errorf("who is not slow: %d after %v", res.StatusCode, time.Since(come))
					return
				}
			}
		})
	}
	crowd.Wait()
	close(done)
	others.Wait()
	close(late)
	n := 0
	for what := range late {
		if n++; n < 10 {
			t.Error(what)
		}
	}
	p.HTTP.CloseIdleConnections()
	p.idle()
	p.Eventually("visitors are there", func() bool { return p.server.Stats().Visitors == 0 })
	t.Logf("%d slow ones, %d late, refused: %v", slow, n, p.server.Stats().Refused)
}
