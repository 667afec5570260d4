package server

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestGet(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Seen", r.Host+" "+r.RequestURI)
		fmt.Fprintf(w, "hello %s", r.Header.Get("X-Forwarded-For"))
	}))
	res, body := p.Get("Example.COM:80", "/a/b?c=d")
	if res.StatusCode != 200 || body != "hello 127.0.0.1" || res.Header.Get("X-Seen") != "Example.COM:80 /a/b?c=d" {
		t.Errorf("%d %q %v", res.StatusCode, body, res.Header)
	}
	if res, _ := p.Get("other.com", "/"); res.StatusCode != 404 || !strings.Contains(res.Header.Get("Proxy-Status"), "destination_not_found") {
		t.Errorf("another host: %d %v", res.StatusCode, res.Header)
	}
}

// Bodies of every size come through both ways, whatever states their length.
func TestBodies(t *testing.T) {
	p := newPair(t, &Server{})
	p.web(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if r.URL.Query().Get("flush") != "" {
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = w.Write(b)
	}))
	for _, size := range []int{0, 1, 1_000, 4_096, 31 << 10, 32<<10 - 1, 32 << 10, 32<<10 + 1, 100_000, 1 << 20} {
		body := bytes.Repeat([]byte("0123456789abcdef"), size/16+1)[:size]
		sum := sha256.Sum256(body)
		for _, chunked := range []bool{false, true} {
			for _, flush := range []string{"", "?flush=1"} {
				var in io.Reader = bytes.NewReader(body)
				if chunked {
					in = io.MultiReader(in)
				}
				res, got := p.Do(p.Request(http.MethodPost, "example.com", "/"+flush, in))
				if res.StatusCode != 200 || sha256.Sum256([]byte(got)) != sum {
					t.Errorf("%d bytes, chunked %v, %q: %d, %d bytes", size, chunked, flush, res.StatusCode, len(got))
				}
			}
		}
	}
}
