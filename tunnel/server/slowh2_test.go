package server

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"paddock/tunnel"
)

// Over HTTP/2 a body of unknown length has the least rate that it has over HTTP/1.1, until
// there is an answer; streams of calls have none.
func TestSlowBodiesOverHTTP2(t *testing.T) {
	service := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/talk" {
			_ = http.NewResponseController(w).EnableFullDuplex()
			_ = http.NewResponseController(w).Flush()
		}
		_, _ = io.Copy(io.Discard, r.Body)
	})
	for _, c := range []struct {
		name, path, contentType string
		piece                   int // in a second
		status                  int
		after                   time.Duration // the answer ends
	}{
		{"six bytes each second", "/", "", 6, http.StatusRequestTimeout, talkSpan},
		{"a hundred bytes each second", "/", "text/plain", 100, http.StatusOK, 200 * time.Second},
		{"six bytes each second, once there is an answer", "/talk", "", 6, http.StatusOK, 200 * time.Second},
		{"six bytes each second, of gRPC", "/", "application/grpc+proto", 6, http.StatusOK, 200 * time.Second},
		{"six bytes each second, of Connect", "/", "Application/Connect+JSON", 6, http.StatusOK, 200 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			onPlaza(t, tunnel.Limits{}, service, func(p *plaza) {
				w := p.walkIn("192.0.2.1")
				protocols := new(http.Protocols)
				protocols.SetUnencryptedHTTP2(true)
				transport := &http.Transport{Protocols: protocols, DialContext: func(context.Context, string, string) (net.Conn, error) { return w, nil }}
				sent, body := io.Pipe()
				done := make(chan struct{})
				go func() {
					defer close(done)
					for range 200 {
						if _, err := io.WriteString(body, strings.Repeat("x", c.piece)); err != nil {
							return
						}
						time.Sleep(time.Second)
					}
					_ = body.Close()
				}()
				r, _ := http.NewRequest(http.MethodPost, "http://example.com"+c.path, sent)
				r.Header.Set("Content-Type", c.contentType)
				begun := time.Now()
				res, err := transport.RoundTrip(r)
				if err != nil {
					t.Fatal(err)
				}
				_, err = io.Copy(io.Discard, res.Body)
				if took := time.Since(begun); res.StatusCode != c.status || err != nil || took != c.after {
					t.Errorf("%d, %v after %v, not %d after %v", res.StatusCode, err, took, c.status, c.after)
				}
				_ = res.Body.Close()
				<-done
				transport.CloseIdleConnections()
				_ = w.Close()
				synctest.Wait()
				if n := p.server.Stats(); n.Visitors != 0 || n.Streams != 0 || n.Bytes != 0 {
					t.Errorf("%+v is left", n)
				}
			})
		})
	}
}
