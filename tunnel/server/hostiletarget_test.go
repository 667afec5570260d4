package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// hostile is a service that ends connections at chosen moments. act handles the n-th request of
// each connection, from 1.
type hostile struct {
	t      *testing.T
	l      net.Listener
	act    func(n int) act
	fields string        // of each answer
	idle   time.Duration // after which it ends a connection; 0: never
	ended  chan struct{} // a connection has ended

	mu    sync.Mutex
	seen  map[string]int // requests by X-Id
	conns int
}

type act uint8

const (
	keep  act = iota // answers
	fin              // answers, then closes
	reset            // answers, then resets
	drop             // closes without an answer
	half             // closes within the head
	torn             // closes within the body
)

func newHostile(t *testing.T, h *hostile) string {
	h.t, h.l, h.seen, h.ended = t, tunneltest.Listen(t), map[string]int{}, make(chan struct{}, 1_000)
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			conn, err := h.l.Accept()
			if err != nil {
				return
			}
			h.mu.Lock()
			h.conns++
			h.mu.Unlock()
			tasks.Go(func() { h.serve(conn.(*net.TCPConn)) })
		}
	})
	t.Cleanup(func() {
		_ = h.l.Close()
		tasks.Wait()
	})
	return h.l.Addr().String()
}

func (h *hostile) serve(conn *net.TCPConn) {
	defer func() {
		_ = conn.Close()
		select {
		case h.ended <- struct{}{}:
		default: // requests beyond the expected ones are dropped
		}
	}()
	in := bufio.NewReader(conn)
	for n := 1; ; n++ {
		if h.idle > 0 && n > 1 {
			_ = conn.SetReadDeadline(time.Now().Add(h.idle))
		}
		r, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		_, _ = io.Copy(io.Discard, r.Body)
		h.mu.Lock()
		h.seen[r.Header.Get("X-Id")]++
		h.mu.Unlock()
		answer := "HTTP/1.1 200 OK\r\n" + h.fields + "Content-Length: 4\r\n\r\ndone"
		act := h.act(n)
		switch act {
		case drop:
			return
		case half:
			answer = answer[:10]
		case torn:
			answer = answer[:len(answer)-1]
		}
		if _, err := io.WriteString(conn, answer); err != nil || act == fin || act == half || act == torn {
			return
		}
		if act == reset {
			_ = conn.SetLinger(0)
			return
		}
	}
}

// came is how often a request has come, and on how many connections all have.
func (h *hostile) came(id string) (times, conns int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.seen[id], h.conns
}

// send sends a request that is known by its id.
func (p *pair) send(method, id string) (status int) {
	p.T.Helper()
	var body io.Reader
	if method == http.MethodPost {
		body = strings.NewReader("body of " + id)
	}
	r := p.Request(method, "example.com", "/", body)
	r.Header.Set("X-Id", id)
	res, _ := p.Do(r)
	return res.StatusCode
}

// A connection that the target has ended while it was idle is never written to: no
// request fails, and none needs a second attempt, whether it may be sent twice or not.
func TestEndedIdleConnection(t *testing.T) {
	for name, end := range map[string]act{"FIN": fin, "RST": reset} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			h := &hostile{act: func(n int) act {
				if n == 2 {
					return end
				}
				return keep
			}}
			c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h)}}})
			const times = 20
			for i := range times {
				method := []string{http.MethodGet, http.MethodPost}[i/2%2]
				if i%2 == 1 {
					p.Eventually("the connection is not kept", func() bool { return c.Stats().Idle == 1 })
				}
				if status := p.send(method, fmt.Sprint(i)); status != 200 {
					t.Errorf("%s %d: %d", method, i, status)
				}
				if i%2 == 1 {
					<-h.ended
					p.Eventually("the end is not seen", func() bool { return c.Stats().Idle == 0 })
				}
			}
			h.mu.Lock()
			defer h.mu.Unlock()
			for id, n := range h.seen {
				if n != 1 {
					t.Errorf("request %s came %d times", id, n)
				}
			}
			if s := c.Stats(); len(h.seen) != times || h.conns != times/2 || s.Retries != 0 {
				t.Errorf("%d requests, %d connections, %+v", len(h.seen), h.conns, s)
			}
		})
	}
}

// The target fails under a request on a kept connection. A repeatable request is sent once more,
// over a fresh connection, if no byte of an answer has arrived; a POST whose bytes were written is
// never repeated.
func TestEndedUnderARequest(t *testing.T) {
	for _, x := range []struct {
		name   string
		end    act
		method string
		status int
		came   int
	}{
		{"no answer, may be sent again", drop, http.MethodGet, 200, 2},
		{"no answer, may not", drop, http.MethodPost, 502, 1},
		{"half a head, may be sent again", half, http.MethodGet, 502, 1},
		{"half a head, may not", half, http.MethodPost, 502, 1},
		{"half a body", torn, http.MethodGet, 502, 1},
	} {
		t.Run(x.name, func(t *testing.T) {
			p := newPair(t, &Server{})
			h := &hostile{act: func(n int) act {
				if n == 2 {
					return x.end
				}
				return keep
			}}
			c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h)}}})
			if status := p.send(http.MethodGet, "first"); status != 200 {
				t.Fatal(status)
			}
			p.Eventually("the connection is not kept", func() bool { return c.Stats().Idle == 1 })
			if status := p.send(x.method, "second"); status != x.status {
				t.Errorf("%d", status)
			}
			if n, _ := h.came("second"); n != x.came || int(c.Stats().Retries) != x.came-1 {
				t.Errorf("it came %d times, %+v", n, c.Stats())
			}
		})
	}
}

// The first request of a connection is not repeated: the same failure would end the next
// connection.
func TestEndedFreshConnection(t *testing.T) {
	p := newPair(t, &Server{})
	h := &hostile{act: func(int) act { return drop }}
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h)}}})
	status := p.send(http.MethodGet, "only")
	if times, _ := h.came("only"); status != 502 || times != 1 {
		t.Errorf("%d, it came %d times", status, times)
	}
}

// A target that announces a timeout of one second gets no second request on a connection: a second
// less than that is none.
func TestKeepAliveOfASecond(t *testing.T) {
	p := newPair(t, &Server{})
	h := &hostile{act: func(int) act { return keep }, fields: "Keep-Alive: timeout=1\r\n"}
	c, _ := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h)}}})
	for i := range 5 {
		if status := p.send(http.MethodPost, fmt.Sprint(i)); status != 200 {
			t.Error(status)
		}
		<-h.ended
	}
	_, conns := h.came("")
	if s := c.Stats(); conns != 5 || s.Dials != 5 || s.Idle != 0 {
		t.Errorf("%d connections, %+v", conns, s)
	}
}

// A target that ends connections at the moment of their next use, a crowd of visitors: no
// GET fails, and no POST is done twice; one fails only if its bytes were on their way when
// the connection ended. PADDOCK_TUNNEL_REUSE=10000 is how often each of them asks.
func TestEndsAtTheMomentOfReuse(t *testing.T) {
	p := newPair(t, &Server{})
	var turn sync.Mutex
	answers := 0
	h := &hostile{idle: time.Millisecond, act: func(int) act {
		turn.Lock()
		defer turn.Unlock()
		answers++
		return []act{keep, keep, fin, keep, keep, reset}[answers%6]
	}}
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "w", Protocol: tunnel.HTTP, Host: "example.com", Target: newHostile(t, h)}}})
	var visitors sync.WaitGroup
	var failed atomic.Int64
	times := scale(t, "PADDOCK_TUNNEL_REUSE", 30)
	for v := range 3 {
		visitors.Go(func() {
			for i := range times {
				method := []string{http.MethodGet, http.MethodGet, http.MethodPost}[i%3]
				status := p.send(method, fmt.Sprintf("%s %d %d", method, v, i))
				if status != 200 {
					failed.Add(1)
				}
				if status != 200 && (method == http.MethodGet || status != 502) {
					t.Errorf("%s: %d", method, status)
				}
			}
		})
	}
	visitors.Wait()
	h.mu.Lock()
	defer h.mu.Unlock()
	t.Logf("%d of %d requests came when their connection ended, of %d connections", failed.Load(), 3*times, h.conns)
	for id, n := range h.seen {
		if n != 1 && strings.HasPrefix(id, "POST") {
			t.Errorf("%s came %d times", id, n)
		}
	}
}
