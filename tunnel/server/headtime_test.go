package server

import (
	"io"
	"net/http"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
)

// A request that is sent again, as its connection has ended under it, has as much time for
// its head as one that was sent once.
func TestHeadOfASecondAttemptIsAwaitedInTime(t *testing.T) {
	p := newPair(t, &Server{})
	over := make(chan struct{})
	h := &hostile{}
	h.act = func(n int) act {
		if n == 2 {
			return drop
		}
		if _, conns := h.came(""); conns > 1 {
			<-over
		}
		return keep
	}
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{
		Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h), HeadTimeout: 100 * time.Millisecond,
	}}})
	if status := p.send(http.MethodGet, "first"); status != 200 {
		t.Fatal(status)
	}
	p.Eventually("the connection is not kept", func() bool { return c.Stats().Idle == 1 })
	r := p.Request(http.MethodGet, "example.com", "/", nil)
	answered := make(chan int, 1)
	go func() {
		res, err := p.HTTP.Do(r)
		if err != nil {
			answered <- 0
			return
		}
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
		answered <- res.StatusCode
	}()
	select {
	case status := <-answered:
		if status != http.StatusGatewayTimeout {
			t.Errorf("%d", status)
		}
	case <-time.After(5 * time.Second):
		t.Error("no answer after 5 s")
	}
	close(over)
}
