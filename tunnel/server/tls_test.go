package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"paddock/internal/process/keyid"
	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/tunneltest"
	"paddock/wire"
)

// selfMade is a certificate of its own key, which pin trusts.
func selfMade(t *testing.T) (config *tls.Config, id keyid.ID) {
	t.Helper()
	key, err := keyid.Make(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{key.Certificate}}, key.ID
}

// secure serves visitors of p by TLS, beside the front that it has.
func (p *pair) secure(config *tls.Config) (address string) {
	p.T.Helper()
	l := tunneltest.Listen(p.T)
	ended := make(chan error, 1)
	go func() { ended <- p.server.ServeTLS(l, config) }()
	p.T.Cleanup(func() {
		if err := p.server.Close(); err != nil {
			p.T.Error(err)
		}
		if err := <-ended; err != nil {
			p.T.Error(err)
		}
	})
	return l.Addr().String()
}

// visitTLS begins TLS with a name, and with the server that has this key.
func visitTLS(t *testing.T, address, name string, id keyid.ID, protocols ...string) (*tls.Conn, error) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	config := &tls.Config{ServerName: name, NextProtos: protocols}
	pin(config, id)
	secured := tls.Client(&slowly{Conn: conn}, config)
	return secured, secured.Handshake()
}

// slowly writes its first bytes one at a time.
type slowly struct {
	net.Conn
	n int
}

func (s *slowly) Write(p []byte) (total int, err error) {
	for ; s.n < 300 && len(p) > 1; s.n++ {
		n, err := s.Conn.Write(p[:1])
		if total += n; err != nil {
			return total, err
		}
		p = p[1:]
	}
	n, err := s.Conn.Write(p)
	return total + n, err
}

// echo is a target with TLS that returns its whole input once that has ended; proxied, it expects
// the visitor's address ahead of TLS.
func echo(t *testing.T, config *tls.Config, proxied func(header []byte)) (address string) {
	t.Helper()
	l := tunneltest.Listen(t)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			if proxied != nil {
				header := make([]byte, 16)
				_, _ = io.ReadFull(conn, header)
				header = append(header, make([]byte, int(header[14])<<8|int(header[15]))...)
				_, _ = io.ReadFull(conn, header[16:])
				proxied(header)
			}
			secured := tls.Server(conn, config)
			all, err := io.ReadAll(secured)
			if err == nil {
				_, _ = secured.Write(all)
			}
			_ = secured.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

// A visitor of an SNI tunnel speaks TLS with the target, one of an HTTP tunnel with the front, at
// the same port; any other visitor receives an alert.
func TestServeTLS(t *testing.T) {
	p := newPair(t, &Server{})
	frontConfig, frontID := selfMade(t)
	targetConfig, targetID := selfMade(t)
	headers := make(chan []byte, 1)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, r.Header.Get("X-Forwarded-Proto"))
	}))
	defer site.Close()
	p.client(client.Config{Tunnels: []client.Tunnel{
		{Name: "raw", Protocol: tunnel.SNI, Host: "*.raw.example", Target: echo(t, targetConfig, func(h []byte) { headers <- h }), ProxyProtocol: true},
		{Name: "web", Protocol: tunnel.HTTP, Host: "web.example", Target: site.Listener.Addr().String()},
	}})
	at := p.secure(frontConfig)

	raw, err := visitTLS(t, at, "a.raw.example", targetID)
	if err != nil {
		t.Fatal(err)
	}
	question := bytes.Repeat([]byte("question"), 10_000)
	_, _ = raw.Write(question)
	_ = raw.CloseWrite()
	answer, err := io.ReadAll(raw)
	if err != nil || !bytes.Equal(answer, question) {
		t.Errorf("%d bytes back, %v", len(answer), err)
	}
	if h := <-headers; !bytes.HasSuffix(h, []byte("a.raw.example")) || h[12] != 0x21 || h[13] != 0x11 {
		t.Errorf("the target was told %q", h)
	}

	for _, protocol := range []string{"h2", "http/1.1"} {
		web, err := visitTLS(t, at, "web.example", frontID, protocol)
		if err != nil || web.ConnectionState().NegotiatedProtocol != protocol {
			t.Errorf("%s: %v", protocol, err)
		}
	}
	client := &http.Client{Transport: &http.Transport{
		ForceAttemptHTTP2: true,
		TLSClientConfig:   pinned("web.example", frontID),
	}}
	defer client.CloseIdleConnections()
	r, _ := http.NewRequest("GET", "https://"+at+"/", nil)
	r.Host = "web.example"
	res, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if res.ProtoMajor != 2 || string(body) != "https" {
		t.Errorf("%s: %q", res.Proto, body)
	}

	if _, err := visitTLS(t, at, "raw.example", frontID); err == nil || !strings.Contains(err.Error(), "unrecognized name") {
		t.Errorf("a name that nobody holds: %v", err)
	}
	plain := dialTCP(t, at)
	fmt.Fprint(plain, "GET / HTTP/1.1\r\nHost: web.example\r\n\r\n")
	if b, err := io.ReadAll(plain); len(b) > 0 {
		t.Errorf("plain text gets %q, %v", b, err)
	}
	if n := p.server.Stats().Refused[Malformed.String()]; n != 1 {
		t.Errorf("%d malformed", n)
	}
}

// pin makes config trust the server with this key.
func pin(config *tls.Config, want keyid.ID) {
	keyid.Verify(config, func(_ tls.ConnectionState, got keyid.ID) error {
		if got != want {
			return &keyid.ErrOtherKey{Got: got, Want: want}
		}
		return nil
	})
}

// pinned trusts the server with this key.
func pinned(name string, id keyid.ID) *tls.Config {
	config := &tls.Config{ServerName: name}
	pin(config, id)
	return config
}

// A connection that was begun with the name of one client does not reach the tunnels of another.
func TestMisdirected(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	config, id := selfMade(t)
	one, _ := p.says("one", "one.example", "one")
	two, _ := p.says("two", "two.example", "two")
	p.Eventually("not bound", func() bool { return one.Bindings()[0].Err == nil && two.Bindings()[0].Err == nil })
	at := p.secure(config)
	conn, err := visitTLS(t, at, "one.example", id)
	if err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	for _, c := range []struct {
		host string
		want int
	}{{"one.example", 200}, {"two.example", 421}, {"one.example", 200}} {
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", c.host)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		body, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if res.StatusCode != c.want || c.want == 200 && string(body) != "one" {
			t.Errorf("%s: %d %q", c.host, res.StatusCode, body)
		}
	}
}

// A name is one client's, whatever is carried for it.
func TestNameIsHeldWhole(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	one, _ := p.says("one", "a.example", "one")
	p.Eventually("not bound", func() bool { return one.Bindings()[0].Err == nil })
	bound := make(chan client.Bound, 8)
	p.start(client.Config{
		Tunnels: []client.Tunnel{{Name: "thief", Protocol: tunnel.SNI, Host: "a.example", Target: "127.0.0.1:1"}}, Logger: silent,
		OnBound: func(b client.Bound) { bound <- b },
	}, wire.ClientConfig{Config: &wire.Config{Agent: "two", Logger: silent}})
	if b := <-bound; b.Err == nil || !strings.Contains(b.Err.Error(), "held by another") {
		t.Errorf("%+v", b)
	}
}

// Visitors that begin TLS and then fall silent do not use up the places of others.
func TestStalledHandshakes(t *testing.T) {
	p := newPair(t, &Server{Limits: tunnel.Limits{Head: time.Minute, VisitorsEach: 10_000}})
	config, id := selfMade(t)
	p.says("bus-17", "example.com", "text")
	p.Eventually("not bound", func() bool { return p.server.Stats().Names == 1 })
	address := p.secure(config)
	near, far := net.Pipe()
	hello := make(chan []byte)
	go func() {
		b := make([]byte, 16<<10)
		n, _ := far.Read(b)
		_ = far.Close()
		hello <- b[:n]
	}()
	_ = tls.Client(near, &tls.Config{ServerName: "example.com", InsecureSkipVerify: true}).Handshake()
	first, stalled := <-hello, 32*runtime.GOMAXPROCS(0)+1
	for range stalled {
		if _, err := dialTCP(t, address).Write(first); err != nil {
			t.Fatal(err)
		}
	}
	p.Eventually("not all wait", func() bool { return p.server.Stats().Handshakes == stalled })
	if _, err := visitTLS(t, address, "example.com", id); err != nil {
		t.Errorf("behind %d who say nothing: %v", stalled, err)
	}
}
