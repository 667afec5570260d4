package tunnel

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// full sends visitors until want of them have been refused for want of room, while the
// rest waits in the service until the gate is opened. It returns how many were served.
func (p *pair) full(visitors, want int, gate chan struct{}) (served int) {
	p.t.Helper()
	answers := make(chan *http.Response, visitors)
	var wait sync.WaitGroup
	for range visitors {
		r := p.request(http.MethodGet, "example.com", "/", nil)
		wait.Go(func() {
			res, err := p.http.Do(r)
			if err != nil {
				p.t.Error(err)
				return
			}
			_ = res.Body.Close()
			answers <- res
		})
	}
	for range want {
		select {
		case res := <-answers:
			if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" {
				p.t.Errorf("%d %v", res.StatusCode, res.Header)
			}
		case <-time.After(20 * time.Second):
			p.t.Fatal("nobody is refused")
		}
	}
	close(gate)
	wait.Wait()
	close(answers)
	for res := range answers {
		if res.StatusCode == 200 {
			served++
		}
	}
	return served
}

// gated is a service that answers when its gate is open, and where it is.
func gated(t *testing.T) (gate chan struct{}, target string) {
	gate = make(chan struct{})
	s := &http.Server{Handler: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-gate })}
	l := listenLocal(t)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return gate, l.Addr().String()
}

// Three times as many visitors as a client has room for, at a service that hangs: they
// are refused before they cost it anything, and in the end all is as it was.
func TestClientOverload(t *testing.T) {
	const room, visitors = 5, 3 * 5
	for name, config := range map[string]ClientConfig{
		"budget":       {Budget: room*(exchangeBytes+1_000) + 1},
		"max inflight": {Tunnels: []Tunnel{{MaxInflight: room}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			gate, target := gated(t)
			if config.Tunnels == nil {
				config.Tunnels = []Tunnel{{}}
			}
			config.Tunnels[0].Name, config.Tunnels[0].Protocol = "web", HTTP
			config.Tunnels[0].Host, config.Tunnels[0].Target = "example.com", target
			c, _ := p.client(config)
			before := runtime.NumGoroutine()
			if served := p.full(visitors, visitors-room, gate); served != room {
				t.Errorf("%d were served", served)
			}
			p.http.CloseIdleConnections()
			p.eventually("the client holds something", func() bool { s := c.Stats(); return s.Inflight == 0 && s.Bytes == 0 })
			p.eventually("goroutines", func() bool { return runtime.NumGoroutine() <= before+2*room })
			full, spared := p.reasonCount(ClientFull), p.reasonCount(HintFull)
			if s := c.Stats(); s.Full != full || full == 0 || full+spared != visitors-room || s.Idle > room {
				t.Errorf("%+v, %v", s, p.server.Stats().Refused)
			}
		})
	}
}

// An identity has a share of its own, over all its tunnels, whatever it has bound.
func TestShareOfAnIdentity(t *testing.T) {
	const room = 3
	p := newPair(t, &Server{MaxInflight: func(string) int { return room }})
	gate, target := gated(t)
	p.client(ClientConfig{Tunnels: []Tunnel{
		{Name: "web", Protocol: HTTP, Host: "example.com", Target: target},
		{Name: "raw", Protocol: TCP, Remote: "127.0.0.1:0", Target: target},
	}})
	raw := p.server.Sessions()[0].Bindings[0]
	if !strings.HasPrefix(raw, "127.") {
		t.Fatal(raw)
	}
	conn, err := p.server.Dial(t.Context(), raw)
	if err != nil {
		t.Fatal(err)
	}
	if served := p.full(3*room, 2*room+1, gate); served != room-1 {
		t.Errorf("%d were served beside a raw connection", served)
	}
	_ = conn.Close()
	p.idle()
	if len(p.server.shares) != 1 {
		t.Errorf("%d shares of one identity", len(p.server.shares))
	}
}

// A target that takes no connection is not dialed for each visitor: for a moment the
// answer is there at once.
func TestDeadTarget(t *testing.T) {
	var counts clientCounts
	dialed := 0
	b, err := newTarget(Tunnel{Name: "dead", Protocol: HTTP, Dial: func(ctx context.Context) (net.Conn, error) {
		dialed++
		return nil, net.ErrClosed
	}}, &counts, nil)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		for range 50 {
			_, err := b.dial(t.Context())
			first := time.Now()
			var e *wire.Error
			if !errors.As(err, &e) || e.Code != wire.Unavailable || !e.NotStarted {
				t.Fatal(err)
			}
			for before := dialed; before == dialed; <-time.After(time.Millisecond) {
				_, _ = b.dial(t.Context())
			}
			if d := time.Since(first); d < minDialAgain || d > maxDialAgain+2*time.Millisecond {
				t.Errorf("dialed again after %v", d)
			}
		}
	})
	if n := counts.failed.Load(); n != counts.dials.Load() || n != uint64(dialed) || counts.spared.Load() == 0 {
		t.Errorf("%d dials, %d failed, %d spared", dialed, n, counts.spared.Load())
	}
}
