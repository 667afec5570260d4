package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
)

// h2c starts a service behind a tunnel that accepts HTTP/2 alone, and returns a visitor that uses
// it.
func (p *pair) h2c(h http.HandlerFunc) (c *client.Client, visitor *http.Client) {
	p.T.Helper()
	c, stop := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "h2", Protocol: tunnel.HTTP, Host: "example.com", Target: "h2c://" + tunneltest.H2Service(p.T, h)}}})
	p.T.Cleanup(stop) // before the service's own end, which waits for its connections
	return c, h2Visitor(p.T)
}

// h2Visitor speaks HTTP/2 without TLS, and reads ahead no further than it must.
func h2Visitor(t testing.TB) *http.Client {
	transport := &http.Transport{
		Protocols: tunneltest.H2Alone(), DisableCompression: true, HTTP2: &http.HTTP2Config{MaxReceiveBufferPerStream: 64 << 10},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// Visitors of both versions reach a service of HTTP/2: bodies of every size and framing,
// the target as it was written, and trailers both ways.
func TestH2Target(t *testing.T) {
	p := newPair(t, &Server{})
	c, visitor := p.h2c(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.ProtoMajor != 2 {
			t.Error(r.Proto)
		}
		w.Header().Set("X-Seen", r.Method+" "+r.Host+" "+r.RequestURI+" up="+r.Trailer.Get("X-Up"))
		if r.URL.Query().Get("status") == "204" {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = w.Write(b)
		w.Header().Set(http.TrailerPrefix+"X-Down", fmt.Sprint(len(b)))
	})
	for name, do := range map[string]*http.Client{"HTTP/1.1": p.HTTP, "HTTP/2": visitor} {
		for _, size := range []int{0, 1, 5_000, 200_000} {
			for _, chunked := range []bool{false, true} {
				body := bytes.Repeat([]byte{'x'}, size)
				var in io.Reader = bytes.NewReader(body)
				if chunked {
					in = io.MultiReader(in)
				}
				r := p.Request(http.MethodPost, "example.com", "//a/%2f;x?y=%41", in)
				want := "POST example.com //a/%2f;x?y=%41 up="
				if chunked {
					r.Trailer = http.Header{"X-Up": {"sum"}}
					want += "sum"
				}
				res, err := do.Do(r)
				if err != nil {
					t.Fatal(err)
				}
				got, err := io.ReadAll(res.Body)
				_ = res.Body.Close()
				if err != nil || !bytes.Equal(got, body) || res.Header.Get("X-Seen") != want || res.Trailer.Get("X-Down") != fmt.Sprint(size) && (size >= 5_000 || do == visitor) {
					t.Errorf("%s, %d bytes, chunked %v: %d bytes, %v, %v, %v", name, size, chunked, len(got), err, res.Header, res.Trailer)
				}
			}
		}
		for _, r := range []*http.Request{
			p.Request(http.MethodGet, "example.com", "/?status=204", nil), p.Request(http.MethodHead, "example.com", "/", nil),
		} {
			if res, err := do.Do(r); err != nil || res.StatusCode != 200 && res.StatusCode != 204 {
				t.Errorf("%s: %v, %v", r.Method, res, err)
			} else {
				_ = res.Body.Close()
			}
		}
	}
	p.Eventually("the client holds something", func() bool { return c.Stats().Inflight == 0 && c.Stats().Bytes == 0 })
	if n := c.Stats().Dials; n != 1 {
		t.Errorf("%d connections to a target of HTTP/2", n)
	}
}

// Both directions are open at once, and the target notices that a visitor leaves.
func TestH2Conversation(t *testing.T) {
	p := newPair(t, &Server{})
	left := make(chan struct{})
	_, visitor := p.h2c(func(w http.ResponseWriter, r *http.Request) {
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			_, _ = io.WriteString(w, "echo "+line)
			_ = http.NewResponseController(w).Flush()
		}
		<-r.Context().Done()
		close(left)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	up, write := io.Pipe()
	go func() { _, _ = io.WriteString(write, "0\n") }()
	r := p.Request(http.MethodPost, "example.com", "/", up).WithContext(ctx)
	res, err := visitor.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	in := bufio.NewReader(res.Body)
	for i := range 10 {
		if line, err := in.ReadString('\n'); err != nil || line != fmt.Sprintf("echo %d\n", i) {
			t.Fatalf("%q, %v", line, err)
		}
		_, _ = fmt.Fprintf(write, "%d\n", i+1)
	}
	cancel()
	_ = write.CloseWithError(context.Canceled) // net/http looks at the context when the body lets go
	<-left
}

// Failures of a target of HTTP/2 are answered like those of any other.
func TestH2TargetFails(t *testing.T) {
	p := newPair(t, &Server{})
	read := make(chan struct{})
	_, _ = p.h2c(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/torn" {
			_, _ = io.WriteString(w, "begun")
			_ = http.NewResponseController(w).Flush()
			<-read
		}
		panic(http.ErrAbortHandler)
	})
	if res, _ := p.Get("example.com", "/"); res.StatusCode != 502 {
		t.Errorf("reset: %d", res.StatusCode)
	}
	res, err := p.HTTP.Do(p.Request(http.MethodGet, "example.com", "/torn", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	begun := make([]byte, len("begun"))
	if _, err := io.ReadFull(res.Body, begun); err != nil {
		t.Fatal(err)
	}
	close(read)
	if b, err := io.ReadAll(res.Body); len(b) > 0 || err == nil {
		t.Errorf("%q, %v: it looks whole", b, err)
	}
	r := p.Request(http.MethodGet, "example.com", "/", nil)
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	if res, _ := p.Do(r); res.StatusCode != 502 {
		t.Errorf("upgrade: %d", res.StatusCode)
	}

	l := tunneltest.Listen(t)
	_ = l.Close()
	p.client(client.Config{Tunnels: []client.Tunnel{{Name: "dead", Protocol: tunnel.HTTP, Host: "dead.example.com", Target: "h2c://" + l.Addr().String()}}})
	for range 2 {
		if res, _ := p.Get("dead.example.com", "/"); res.StatusCode != 502 || !strings.Contains(res.Header.Get("Proxy-Status"), "connection_refused") {
			t.Errorf("dead: %d %v", res.StatusCode, res.Header)
		}
	}
}

// A target of https is spoken to in the protocol that it agrees to: HTTP/2 or HTTP/1.1, and
// HTTP/1.1 for upgrades.
func TestH2TargetOverTLS(t *testing.T) {
	p := newPair(t, &Server{})
	for i, is := range []struct {
		http2 bool
		offer []string
		want  string
	}{
		{http2: true, want: "HTTP/2.0"},
		{http2: true, offer: []string{"http/1.1"}, want: "HTTP/1.1"},
		{http2: false, want: "HTTP/1.1"},
	} {
		service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Upgrade") != "" {
				w.Header().Set("Upgrade", "chat")
				w.Header().Set("Connection", "Upgrade")
				w.WriteHeader(http.StatusSwitchingProtocols)
				return
			}
			fmt.Fprint(w, r.Proto)
		}))
		service.EnableHTTP2 = is.http2
		service.StartTLS()
		defer service.Close()
		trust := service.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		trust.ServerName, trust.NextProtos = "example.com", is.offer
		host := fmt.Sprintf("%d.example.com", i)
		c, stop := p.client(client.Config{Tunnels: []client.Tunnel{
			{Name: "h2", Protocol: tunnel.HTTP, Host: host, Target: "https://" + service.Listener.Addr().String(), TLS: trust},
		}})
		for range 2 {
			if res, body := p.Get(host, "/"); res.StatusCode != 200 || body != is.want {
				t.Errorf("%+v: %d %q", is, res.StatusCode, body)
			}
			res, body := p.Do(p.Request(http.MethodPost, host, "/", io.MultiReader(strings.NewReader("of unknown length"))))
			if res.StatusCode != 200 || body != is.want {
				t.Errorf("%+v: %d %q", is, res.StatusCode, body)
			}
		}
		r := p.Request(http.MethodGet, host, "/", nil)
		r.Header.Set("Connection", "Upgrade")
		r.Header.Set("Upgrade", "chat")
		if res, err := p.HTTP.Do(r); err != nil || res.StatusCode != 101 {
			t.Errorf("%+v: upgrade: %v, %v", is, res, err)
		} else {
			_ = res.Body.Close()
		}
		if n := c.Stats().Shared; n == 1 != (is.want == "HTTP/2.0") {
			t.Errorf("%+v: %d connections of HTTP/2", is, n)
		}
		stop()
	}
}
