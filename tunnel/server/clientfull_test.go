package server

import (
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/tunneltest"
)

// full sends visitors until want of them have been refused for want of room, while the
// rest waits in the service until the gate is opened. It returns how many were served.
func (p *pair) full(visitors, want int, gate chan struct{}) (served int) {
	p.T.Helper()
	answers := make(chan *http.Response, visitors)
	var wait sync.WaitGroup
	for range visitors {
		r := p.Request(http.MethodGet, "example.com", "/", nil)
		wait.Go(func() {
			res, err := p.HTTP.Do(r)
			if err != nil {
				p.T.Error(err)
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
				p.T.Errorf("%d %v", res.StatusCode, res.Header)
			}
		case <-time.After(20 * time.Second):
			p.T.Fatal("nobody is refused")
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
	l := tunneltest.Listen(t)
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return gate, l.Addr().String()
}

// Three times as many visitors as a client has room for, at a service that hangs: they
// are refused before they cost it anything, and in the end all is as it was.
func TestClientOverload(t *testing.T) {
	const room, visitors = 5, 3 * 5
	for name, config := range map[string]client.Config{
		"budget":       {Budget: room*(message.ExchangeBytes+1_000) + 1},
		"max inflight": {Tunnels: []client.Tunnel{{MaxInflight: room}}},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &Server{})
			gate, target := gated(t)
			if config.Tunnels == nil {
				config.Tunnels = []client.Tunnel{{}}
			}
			config.Tunnels[0].Name, config.Tunnels[0].Protocol = "web", tunnel.HTTP
			config.Tunnels[0].Host, config.Tunnels[0].Target = "example.com", target
			c, _ := p.client(config)
			before := runtime.NumGoroutine()
			if served := p.full(visitors, visitors-room, gate); served != room {
				t.Errorf("%d were served", served)
			}
			p.HTTP.CloseIdleConnections()
			p.Eventually("the client holds something", func() bool { s := c.Stats(); return s.Inflight == 0 && s.Bytes == 0 })
			p.Eventually("goroutines", func() bool { return runtime.NumGoroutine() <= before+2*room })
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
	p.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: target},
		{Name: "raw", Protocol: tunnel.TCP, Remote: "127.0.0.1:0", Target: target},
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
	if len(p.server.registry.shares) != 1 {
		t.Errorf("%d shares of one identity", len(p.server.registry.shares))
	}
}
