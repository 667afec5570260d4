package server

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
)

// Without HTTP/2 a visitor that begins with it is told, in HTTP/2, that HTTP/1.1 is required. TLS
// offers HTTP/1.1 alone. HTTP/1.1 is served as usual, also if it asks for an upgrade to h2c.
func TestNoHTTP2(t *testing.T) {
	refused := make(chan Refusal, 8)
	p := newPair(t, &Server{NoHTTP2: true, Hooks: Hooks{Refused: func(f Refusal) { refused <- f }}})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }))
	front := p.Front.Addr().String()

	conn := dialTCP(t, front)
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	framer := http2.NewFramer(conn, conn)
	_, _ = io.WriteString(conn, http2.ClientPreface)
	_ = framer.WriteSettings()
	first, err := framer.ReadFrame()
	if s, ok := first.(*http2.SettingsFrame); !ok || s.IsAck() {
		t.Fatalf("first came %v, %v", first, err)
	}
	second, err := framer.ReadFrame()
	if g, ok := second.(*http2.GoAwayFrame); !ok || g.ErrCode != http2.ErrCodeHTTP11Required || !strings.Contains(string(g.DebugData()), "HTTP/2 is off") {
		t.Fatalf("then came %v, %v", second, err)
	}
	if _, err := framer.ReadFrame(); err != io.EOF {
		t.Errorf("and then %v", err)
	}
	if f := <-refused; f.Reason != Malformed || f.Status != http.StatusHTTPVersionNotSupported || f.Peer != conn.LocalAddr().String() {
		t.Errorf("told: %+v", f)
	}
	_ = conn.Close()
	if res, err := h2Visitor(t).Do(p.Request(http.MethodGet, "example.com", "/", nil)); err == nil {
		_ = res.Body.Close()
		t.Errorf("a visitor with prior knowledge got %s", res.Status)
	}

	up := dialTCP(t, front)
	_ = up.SetDeadline(time.Now().Add(20 * time.Second))
	_, _ = io.WriteString(up, "GET / HTTP/1.1\r\nHost: example.com\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(up), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	_ = up.Close()
	if res.StatusCode != http.StatusOK || string(body) != "HTTP/1.1" {
		t.Errorf("%s: %s", res.Status, body)
	}

	config, id := selfMade(t)
	at := p.secure(config)
	both, err := visitTLS(t, at, "example.com", id, "h2", "http/1.1")
	if err != nil || both.ConnectionState().NegotiatedProtocol != "http/1.1" {
		t.Errorf("TLS agreed to %q, %v", both.ConnectionState().NegotiatedProtocol, err)
	}
	if _, err := visitTLS(t, at, "example.com", id, "h2"); err == nil || !strings.Contains(err.Error(), "no application protocol") {
		t.Errorf("who wants nothing but h2: %v", err)
	}
}
