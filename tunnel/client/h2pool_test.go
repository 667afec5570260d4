package client

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/tunnel"
	"paddock/tunnel/internal/tunneltest"
	"paddock/tunnel/server"
)

// h2Peer is one connection of a target of HTTP/2 that the test scripts frame by frame.
type h2Peer struct {
	n      int // which connection it is, from 1
	conn   net.Conn
	framer *http2.Framer
	block  bytes.Buffer
	fields *hpack.Encoder
}

func (p *h2Peer) head(stream uint32, status string, end bool, fields ...string) {
	p.block.Reset()
	for i, all := 0, append([]string{":status", status}, fields...); i < len(all); i += 2 {
		_ = p.fields.WriteField(hpack.HeaderField{Name: all[i], Value: all[i+1]})
	}
	_ = p.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: p.block.Bytes(), EndHeaders: true, EndStream: end})
}

// frames is a target that greets with settings and calls asked for each head of a request.
// asked is called by one goroutine for each connection.
func (p *pair) frames(settings []http2.Setting, asked func(peer *h2Peer, stream uint32, n int)) (address string) {
	l := tunneltest.Listen(p.T)
	var all sync.WaitGroup
	all.Go(func() {
		for n := 1; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer conn.Close()
				peer := &h2Peer{n: n, conn: conn, framer: http2.NewFramer(conn, conn)}
				peer.fields = hpack.NewEncoder(&peer.block)
				_, _ = io.ReadFull(conn, make([]byte, len(http2.ClientPreface)))
				_ = peer.framer.WriteSettings(settings...)
				for heads := 0; ; {
					f, err := peer.framer.ReadFrame()
					if err != nil {
						return
					}
					switch f := f.(type) {
					case *http2.SettingsFrame:
						if !f.IsAck() {
							_ = peer.framer.WriteSettingsAck()
						}
					case *http2.PingFrame:
						_ = peer.framer.WritePing(true, f.Data)
					case *http2.HeadersFrame:
						heads++
						asked(peer, f.StreamID, heads)
					}
				}
			})
		}
	})
	p.T.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	return l.Addr().String()
}

// h2Target is a client whose tunnel example.com leads to an address that speaks HTTP/2.
func (p *pair) h2Target(address string) *Client {
	c, stop := p.client(Config{Tunnels: []Tunnel{{Name: "h2", Protocol: tunnel.HTTP, Host: "example.com", Target: "h2c://" + address}}})
	p.T.Cleanup(stop) // before the target's own end, which waits for its connections
	return c
}

// A request that the target reports as unprocessed is sent once more, whatever its method, as long
// as all of its body is buffered. A request whose connection was lost is repeated only if it is
// idempotent and the connection an old one.
func TestH2TargetAsksAgain(t *testing.T) {
	for name, is := range map[string]struct {
		method, body string
		first        bool // the failure meets the first exchange of a connection
		fail         func(peer *h2Peer, stream uint32)
		want         int
	}{
		"refused":              {method: "POST", body: "body", first: true, want: 200, fail: (*h2Peer).refuse},
		"refused, long":        {method: "POST", body: strings.Repeat("x", 100_000), first: true, want: 502, fail: (*h2Peer).refuse},
		"cancelled":            {method: "GET", first: true, want: 502, fail: func(p *h2Peer, stream uint32) { _ = p.framer.WriteRSTStream(stream, http2.ErrCodeCancel) }},
		"gone away":            {method: "POST", body: "body", first: true, want: 200, fail: (*h2Peer).goAway},
		"lost":                 {method: "GET", want: 200, fail: (*h2Peer).lose},
		"lost, not idempotent": {method: "POST", body: "body", want: 502, fail: (*h2Peer).lose},
		"lost at first":        {method: "GET", first: true, want: 502, fail: (*h2Peer).lose},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, &server.Server{})
			var failed atomic.Bool
			address := p.frames(nil, func(peer *h2Peer, stream uint32, n int) {
				if (n == 1) == is.first && failed.CompareAndSwap(false, true) {
					is.fail(peer, stream)
					return
				}
				peer.head(stream, "200", true)
			})
			c := p.h2Target(address)
			if !is.first {
				if res, _ := p.Get("example.com", "/"); res.StatusCode != 200 {
					t.Fatal(res.Status)
				}
			}
			res, _ := p.Do(p.Request(is.method, "example.com", "/", strings.NewReader(is.body)))
			want := uint64(0)
			if is.want == 200 {
				want = 1
			}
			if n := c.Stats().Retries; res.StatusCode != is.want || n != want {
				t.Errorf("%s, sent again %d times", res.Status, n)
			}
			if res, _ := p.Get("example.com", "/"); res.StatusCode != 200 {
				t.Errorf("and then: %s", res.Status)
			}
		})
	}
}

func (p *h2Peer) refuse(stream uint32) {
	_ = p.framer.WriteRSTStream(stream, http2.ErrCodeRefusedStream)
}

func (p *h2Peer) goAway(uint32) {
	_ = p.framer.WriteGoAway(0, http2.ErrCodeNo, nil)
}

func (p *h2Peer) lose(uint32) { _ = p.conn.Close() }

// A target announces the number of exchanges for each connection; the client opens as many
// connections as that requires, and no more.
func TestH2TargetLimitsAConnection(t *testing.T) {
	const each, visitors = 3, 10
	p := newPair(t, &server.Server{})
	var mu sync.Mutex
	var waiting []func()
	arrived := make(chan struct{}, visitors)
	address := p.frames([]http2.Setting{{ID: http2.SettingMaxConcurrentStreams, Val: each}}, func(peer *h2Peer, stream uint32, n int) {
		mu.Lock()
		defer mu.Unlock()
		waiting = append(waiting, func() { peer.head(stream, "200", true) })
		arrived <- struct{}{}
	})
	c := p.h2Target(address)
	var all sync.WaitGroup
	for range visitors {
		all.Go(func() {
			res, err := p.HTTP.Do(p.Request(http.MethodGet, "example.com", "/", nil))
			if err != nil || res.StatusCode != 200 {
				t.Errorf("%v, %v", res, err)
				return
			}
			_ = res.Body.Close()
		})
	}
	for range visitors {
		<-arrived
	}
	if n, want := c.Stats().Shared, (visitors+each-1)/each; n != want {
		t.Errorf("%d connections, want %d", n, want)
	}
	mu.Lock()
	for _, answer := range waiting {
		answer()
	}
	mu.Unlock()
	all.Wait()
}

// Visitors that do not read do not stop the answers of others, though all share a connection.
func TestH2StalledReaders(t *testing.T) {
	unread := make(chan struct{})
	service := tunneltest.H2Service(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/endless" {
			control := http.NewResponseController(w)
			_ = control.Flush()
			for chunk := make([]byte, h2Window); ; {
				_ = control.SetWriteDeadline(time.Now().Add(50 * time.Millisecond))
				if _, err := w.Write(chunk); err != nil {
					break
				}
			}
			unread <- struct{}{}
		}
	})
	var counts clientCounts
	b, err := newTarget(Tunnel{Protocol: tunnel.HTTP, Target: "h2c://" + service}, &counts, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer b.closeIdle()
	ask := func(path string) (*h2Conn, *http.Response) {
		c, err := b.h2.take(t.Context(), 0)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+service+path, nil)
		res, err := c.http.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		return c, res
	}
	for range h2Each - 1 {
		c, res := ask("/endless")
		defer c.pool.leave(c)
		defer res.Body.Close()
	}
	for range h2Each - 1 { // all wait for readers
		<-unread
	}
	c, res := ask("/")
	if body, err := io.ReadAll(res.Body); err != nil || len(body) > 0 {
		t.Errorf("%d bytes, %v", len(body), err)
	}
	_ = res.Body.Close()
	c.pool.leave(c)
	if n := counts.dials.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A target that does not support the required HTTP/2 is reported as such.
func TestH2TargetOfHTTP1(t *testing.T) {
	said := make(chan error, 2)
	p := newPair(t, &server.Server{Hooks: server.Hooks{Refused: func(f server.Refusal) { said <- f.Err }}})
	service := p.web(http.NotFoundHandler())
	p.client(Config{Tunnels: []Tunnel{{Name: "h2", Protocol: tunnel.HTTP, Host: "h2.example.com", Target: "h2c://" + service.Listener.Addr().String()}}})
	if res, _ := p.Get("h2.example.com", "/"); res.StatusCode != 502 {
		t.Errorf("%d", res.StatusCode)
	}
	if err := <-said; err == nil || !strings.Contains(err.Error(), "does not speak HTTP/2") {
		t.Errorf("said: %v", err)
	}
}
