package client

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"paddock/tunnel/server"
)

// A call that its service resets before it answers ends with the status that gRPC's clients would
// report without a tunnel; another request ends with 502.
func TestGRPCReset(t *testing.T) {
	p := newPair(t, &server.Server{})
	p.h2Target(p.frames(nil, func(peer *h2Peer, stream uint32, _ int) {
		_ = peer.framer.WriteRSTStream(stream, http2.ErrCodeCancel)
	}))
	for _, c := range []struct{ kind, timeout, status string }{
		{"application/grpc", "1n", "4"},
		{"application/grpc+proto", "1n", "4"},
		{"application/grpc", "99999999H", "1"},
		{"application/grpc", "soon", "1"},
		{"application/grpc", "", "1"},
		{"application/json", "1n", ""},
	} {
		r := p.Request(http.MethodPost, "example.com", "/service/call", strings.NewReader("x"))
		r.Header.Set("Content-Type", c.kind)
		if c.timeout != "" {
			r.Header.Set("Grpc-Timeout", c.timeout)
		}
		res, _ := p.Do(r)
		want := http.StatusOK
		if c.status == "" {
			want = http.StatusBadGateway
		}
		if got := res.Header.Get("Grpc-Status"); res.StatusCode != want || got != c.status {
			t.Errorf("%s, %q: %s, status %q, want %q", c.kind, c.timeout, res.Status, got, c.status)
		}
	}
}

func TestGRPCTimeout(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"1H": time.Hour, "90M": 90 * time.Minute, "00000002S": 2 * time.Second, "5m": 5 * time.Millisecond, "7u": 7 * time.Microsecond, "99999999n": 99_999_999,
		"99999999H": time.Duration(1<<63-1) / time.Hour * time.Hour,
		"":          -1, "S": -1, "1": -1, "-1S": -1, "1.5S": -1, "123456789S": -1, "1s": -1,
	} {
		got, ok := grpcTimeout(text)
		if ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %v, %v", text, got, ok)
		}
	}
}
