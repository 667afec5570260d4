package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/wire"
)

// A path that drops every packet is found dead after 10 s. When the client has owed a sign of life
// for 2 s, visitors are not sent to it any more.
func TestLinkThatSaysNothing(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		n := newIsland(t, tunnel.Limits{})
		lost := make(chan struct{})
		_, stop := n.client("bus-17", lost)
		synctest.Wait()
		time.Sleep(time.Minute) // it is well
		owner := n.server.registry.routes.find("bus-17.example", "").all()[0].owner.Load()
		if err := owner.shed(); err != nil {
			t.Errorf("well: %v", err)
		}
		close(lost)
		begin, from := time.Now(), time.Duration(0)
		for owner.session.lead().Err() == nil {
			if err := owner.shed(); err != nil && from == 0 {
				from = time.Since(begin)
			} else if err == nil && from != 0 {
				t.Errorf("visitors are let in again after %v", time.Since(begin))
			}
			time.Sleep(100 * time.Millisecond)
		}
		if ask, unsent := liveness/3, 2*time.Second; from < unsent || from > ask+unsent+200*time.Millisecond {
			t.Errorf("visitors were refused from %v on", from)
		}
		if err := owner.shed(); err != nil {
			t.Errorf("the connection has ended, and that is another reason: %v", err)
		}
		stop()
		n.kill()
	})
}

// heldConn is a client's connection of which nothing is read while it is held.
type heldConn struct {
	net.Conn
	held *atomic.Pointer[chan struct{}] // closed when it is held no longer; nil: it is not
}

func (c *heldConn) Read(p []byte) (int, error) {
	if held := c.held.Load(); held != nil {
		<-*held
	}
	return c.Conn.Read(p)
}

// A client whose link is blocked gets no further visitors: they are refused at once, and those of
// other clients are not affected. Uploads wait at their sources, and complete when the link is free
// again.
func TestLinkThatTakesNothing(t *testing.T) {
	p := newPair(t, &Server{Identify: named, Limits: tunnel.Limits{Unsent: 300 * time.Millisecond}})
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }))
	t.Cleanup(service.Close)
	var held atomic.Pointer[chan struct{}]
	for _, who := range []string{"thin", "other"} {
		link := wire.ClientConfig{Config: &wire.Config{Agent: who, Logger: silent}}
		if who == "thin" {
			link.Dial = func(ctx context.Context) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", p.Link.Addr().String())
				if err != nil {
					return nil, err
				}
				return &heldConn{conn, &held}, conn.(*net.TCPConn).SetReadBuffer(16 << 10)
			}
		}
		p.clientBy(client.Config{Tunnels: []client.Tunnel{{Name: who, Protocol: tunnel.HTTP, Host: who + ".example.com", Target: service.Listener.Addr().String()}}}, link)
	}
	release := make(chan struct{})
	held.Store(&release)
	const uploads, size = 24, 256 << 10
	statuses := make(chan int, uploads)
	for range uploads {
		r := p.Request(http.MethodPost, "thin.example.com", "/", strings.NewReader(strings.Repeat("x", size)))
		go func() {
			res, err := p.HTTP.Do(r)
			if err != nil {
				statuses <- 0
				return
			}
			_ = res.Body.Close()
			statuses <- res.StatusCode
		}()
	}
	owner := p.server.registry.routes.find("thin.example.com", "").all()[0].owner.Load()
	p.Eventually("the link takes it all", func() bool { return owner.session.lead().OldestUnsent() > 300*time.Millisecond })
	for range 20 {
		if res, body := p.Get("thin.example.com", "/"); res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !strings.Contains(body, "connection") {
			t.Errorf("%d %v %q", res.StatusCode, res.Header, body)
		}
		if res, _ := p.Get("other.example.com", "/"); res.StatusCode != 200 {
			t.Errorf("another client: %d", res.StatusCode)
		}
	}
	if n := p.reasonCount(LinkBehind); n < 20 {
		t.Errorf("%d were refused for the link", n)
	}
	held.Store(nil)
	close(release)
	served := 0
	for range uploads {
		if <-statuses == 200 {
			served++
		}
	}
	if refused := int(p.reasonCount(LinkBehind)) - 20; served == 0 || served+refused != uploads {
		t.Errorf("%d uploads were served, %d refused", served, refused)
	}
	p.Eventually("behind", func() bool { res, _ := p.Get("thin.example.com", "/"); return res.StatusCode == 200 })
}
