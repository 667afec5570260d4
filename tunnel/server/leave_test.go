package server

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
)

// fewLeave is the number of leaving visitors unless PADDOCK_TUNNEL_LEAVE sets it.
const fewLeave = 300

// descriptors returns the number of open descriptors of this process, 0 if unknown.
func descriptors() int {
	list, _ := os.ReadDir("/proc/self/fd")
	return len(list)
}

// Visitors leave: before the answer, in the middle of it, in the middle of their body; some with a
// FIN and some without. The service is notified of each, and in the end nothing is left: no
// goroutine, no descriptor, no connection to the service, no permit.
func TestVisitorsLeave(t *testing.T) {
	times, crowd := scale(t, "PADDOCK_TUNNEL_LEAVE", fewLeave), 12
	p := newPair(t, &Server{Limits: tunnel.Limits{VisitorsEach: 4_096}}) // visitors that have left count for a moment
	var begun, ended, conns atomic.Int64
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		begun.Add(1)
		defer ended.Add(1)
		switch r.URL.Path {
		case "/":
			return
		case "/answer":
			_, _ = w.Write(make([]byte, 1_000))
			_ = http.NewResponseController(w).Flush()
		case "/upload":
			_ = http.NewResponseController(w).EnableFullDuplex()
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.Copy(io.Discard, r.Body)
			return
		}
		<-r.Context().Done()
	}))
	service.Config.ConnState = func(_ net.Conn, to http.ConnState) {
		switch to {
		case http.StateNew:
			conns.Add(1)
		case http.StateClosed, http.StateHijacked:
			conns.Add(-1)
		}
	}
	service.Start()
	t.Cleanup(service.Close)
	client, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: service.Listener.Addr().String()}}})
	if res, _ := p.Get("example.com", "/"); res.StatusCode != http.StatusOK {
		t.Fatal(res.StatusCode)
	}
	p.HTTP.CloseIdleConnections()
	client.CloseIdle()
	p.Eventually("the first one is there", func() bool { return p.server.Stats().Visitors == 0 && conns.Load() == 0 })
	goroutines, files := runtime.NumGoroutine(), descriptors()

	leave := func(i int) error {
		conn, err := net.Dial("tcp", p.Front.Addr().String())
		if err != nil {
			return err
		}
		defer conn.Close()
		switch i % 3 {
		case 0: // before the head, or before the service has received it
			_, err = io.WriteString(conn, "GET /head HTTP/1.1\r\nHost: example.com\r\n\r\n")
		case 1:
			_, err = io.WriteString(conn, "GET /answer HTTP/1.1\r\nHost: example.com\r\n\r\n")
		default:
			_, err = io.WriteString(conn, "POST /upload HTTP/1.1\r\nHost: example.com\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbegin\r\n")
		}
		if err == nil && i%3 > 0 {
			if _, err = conn.Read(make([]byte, 1)); err != nil {
				err = fmt.Errorf("%d: %w", i%3, err)
			}
		}
		if i%2 == 0 {
			_ = conn.(*net.TCPConn).SetLinger(0)
		}
		return err
	}
	var visitors sync.WaitGroup
	for v := range crowd {
		visitors.Go(func() {
			for i := v; i < times; i += crowd {
				if err := leave(i); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	visitors.Wait()
	p.idle()
	p.Eventually("the service works for who has left", func() bool { return begun.Load() == ended.Load() })
	p.Eventually("visitors are there", func() bool { return p.server.Stats().Visitors == 0 })
	client.CloseIdle()
	p.Eventually("connections to the service are open", func() bool { return conns.Load() == 0 && client.Stats().Idle == 0 })
	p.Eventually("there are more goroutines or descriptors than before", func() bool {
		return runtime.NumGoroutine() <= goroutines && descriptors() <= files
	})
	for conn := range p.Wire.All() {
		if s := conn.Stats(); s.Inflight+s.Streams > 0 {
			t.Errorf("on the link: %d requests, %d streams", s.Inflight, s.Streams)
		}
	}
	if n := begun.Load(); n < int64(times)*2/3 {
		t.Errorf("the service has heard of %d of %d", n, times)
	}
}
