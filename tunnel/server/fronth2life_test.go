package server

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"paddock/tunnel"
)

// h2Walker is a visitor in memory with an HTTP/2 codec of its own.
type h2Walker struct {
	*walker
	*http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
}

func (p *plaza) walkInH2(from string, settings ...http2.Setting) *h2Walker {
	w := &h2Walker{walker: p.walkIn(from)}
	w.Framer, w.encoder = http2.NewFramer(w.walker, w.walker), hpack.NewEncoder(&w.block)
	_, _ = io.WriteString(w.walker, http2.ClientPreface)
	_ = w.WriteSettings(settings...)
	return w
}

// ask begins a request.
func (w *h2Walker) ask(stream uint32, path string, end bool, more ...string) error {
	w.block.Reset()
	fields := pseudo("GET", path, "example.com", more...)
	for i := 0; i < len(fields); i += 2 {
		_ = w.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]})
	}
	return w.WriteHeaders(http2.HeadersFrameParam{StreamID: stream, BlockFragment: w.block.Bytes(), EndHeaders: true, EndStream: end})
}

// drain reads all that comes, until the end of the connection.
func (w *h2Walker) drain() (ended chan struct{}) {
	ended = make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(io.Discard, w.walker)
	}()
	return ended
}

// A connection of HTTP/2 without TLS stays open between its requests, as one with TLS does: the
// deadline of its first head ends with that head.
func TestHTTP2LivesBeyondItsFirstHead(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") })
	for name, pieces := range map[string]int{"preface at once": 1, "preface in pieces": 3} {
		t.Run(name, func(t *testing.T) {
			onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
				w := &inPieces{p.walkIn("192.0.2.1"), pieces}
				protocols := new(http.Protocols)
				protocols.SetUnencryptedHTTP2(true)
				transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) {
					if w.walker == nil {
						return nil, net.ErrClosed
					}
					defer func() { w = &inPieces{} }()
					return w, nil
				}}
				for i := range 5 {
					r, _ := http.NewRequest(http.MethodGet, "http://example.com/", nil)
					res, err := transport.RoundTrip(r)
					if err != nil {
						t.Fatalf("request %d: %v", i, err)
					}
					_, _ = io.Copy(io.Discard, res.Body)
					_ = res.Body.Close()
					time.Sleep(30 * time.Second)
				}
				transport.CloseIdleConnections()
				synctest.Wait()
			})
		})
	}
}

// inPieces writes its input in pieces.
type inPieces struct {
	*walker
	pieces int
}

func (c *inPieces) Write(p []byte) (n int, err error) {
	for ; c.pieces > 1 && len(p) > 8; c.pieces-- {
		if _, err := c.walker.Write(p[:8]); err != nil {
			return n, err
		}
		<-time.After(time.Second)
		p, n = p[8:], n+8
	}
	m, err := c.walker.Write(p)
	return n + m, err
}

// A visitor of HTTP/2 that opens no window for its answers can hold them no longer than an HTTP/1.1
// visitor that does not read. The held answers end with the connection.
func TestShutWindowsOfHTTP2(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for {
			if _, err := w.Write(make([]byte, 16<<10)); err != nil {
				return
			}
		}
	})
	onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
		w := p.walkInH2("192.0.2.1", http2.Setting{ID: http2.SettingInitialWindowSize, Val: 0})
		ended := w.drain()
		for i := range uint32(20) {
			if err := w.ask(1+2*i, "/", true); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		if n := p.server.Stats(); n.Streams != 20 {
			t.Errorf("%d streams", n.Streams)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if n := p.server.Stats(); n.Streams != 0 {
			t.Errorf("%d streams are held after two minutes", n.Streams)
		}
		_ = w.Close()
		<-ended
		synctest.Wait()
		if n := p.server.Stats(); n.Streams != 0 || n.Visitors != 0 || n.Bytes != 0 {
			t.Errorf("%+v is left", n)
		}
	})
}

// Streams that are opened and reset at once (CVE-2023-44487) cost no more at a time than as
// many as there may be.
func TestRapidResetOfHTTP2(t *testing.T) {
	var under, most atomic.Int64
	service := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		most.Store(max(most.Load(), under.Add(1)))
		<-r.Context().Done()
		under.Add(-1)
	})
	onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
		w := p.walkInH2("192.0.2.1")
		ended := w.drain()
		sent := 0
		for i := range uint32(4_000) {
			if w.ask(1+2*i, "/", true) != nil || w.WriteRSTStream(1+2*i, http2.ErrCodeCancel) != nil {
				break
			}
			sent++
		}
		synctest.Wait()
		if n := p.server.Stats(); n.Requests > h2Streams || n.Streams > h2Streams || most.Load() > tunnel.DefaultTunnelRequests {
			t.Errorf("%d streams were opened: %+v, at the service %d at a time", sent, n, most.Load())
		}
		_ = w.Close()
		<-ended
		synctest.Wait()
		if n := p.server.Stats(); n.Requests != 0 || n.Visitors != 0 || n.Bytes != 0 {
			t.Errorf("%+v is left", n)
		}
	})
}

// An endless head of HTTP/2 (CVE-2023-45288), or one that grows by repeated references to the
// table, ends the stream or the connection, and reaches no client.
func TestEndlessHeadsOfHTTP2(t *testing.T) {
	var came atomic.Int64
	service := http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came.Add(1) })
	for name, attack := range map[string]func(w *h2Walker) error{
		"continuation": func(w *h2Walker) error {
			w.block.Reset()
			for i, f := range pseudo("GET", "/", "example.com") {
				if i%2 == 1 {
					_ = w.encoder.WriteField(hpack.HeaderField{Name: pseudo("GET", "/", "example.com")[i-1], Value: f})
				}
			}
			if err := w.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: w.block.Bytes(), EndStream: true}); err != nil {
				return err
			}
			for i := range 20_000 {
				w.block.Reset()
				_ = w.encoder.WriteField(hpack.HeaderField{Name: fmt.Sprint("x-", i), Value: "some text that takes some room", Sensitive: true})
				if err := w.WriteContinuation(1, false, w.block.Bytes()); err != nil {
					return err
				}
			}
			return nil
		},
		"table": func(w *h2Walker) error {
			more := make([]string, 0, 2_000)
			for range 1_000 {
				more = append(more, "x-much", string(bytes.Repeat([]byte{'a'}, 3_000)))
			}
			return w.ask(1, "/", true, more...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
				w := p.walkInH2("192.0.2.1")
				ended := w.drain()
				_ = attack(w)
				synctest.Wait()
				if n := came.Load(); n > 0 {
					t.Errorf("%d requests have come", n)
				}
				_ = w.Close()
				<-ended
				synctest.Wait()
				if n := p.server.Stats(); n.Requests != 0 || n.Visitors != 0 || n.Bytes != 0 {
					t.Errorf("%+v is left", n)
				}
			})
		})
	}
}

// A request over HTTP/2 may have as many fields as one over HTTP/1.1; more are refused as the
// visitor's fault, not reported as the service's.
func TestManyFieldsOfHTTP2(t *testing.T) {
	service := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
		for _, c := range []struct{ fields, status int }{{90, 200}, {300, 431}} {
			w := p.walkIn("192.0.2.1")
			protocols := new(http.Protocols)
			protocols.SetUnencryptedHTTP2(true)
			transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return w, nil }}
			r, _ := http.NewRequest(http.MethodGet, "http://example.com/", nil)
			for i := range c.fields {
				r.Header.Set(fmt.Sprint("X-", i), "y")
			}
			res, err := transport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != c.status {
				t.Errorf("%d fields: %s", c.fields, res.Status)
			}
			transport.CloseIdleConnections()
			_ = w.Close()
			synctest.Wait()
		}
	})
}
