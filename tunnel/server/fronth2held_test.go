package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/client"
	"paddock/tunnel/internal/message"
)

// HTTP/2's buffer for an unread body is counted with the stream, and an exchange does not wait for
// a client while its body sits in an uncounted buffer.
func TestHTTP2BodiesAreCounted(t *testing.T) {
	p := newPair(t, &Server{Limits: tunnel.Limits{Return: time.Hour}})
	begun, over := make(chan struct{}), make(chan struct{})
	service := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		begun <- struct{}{}
		<-over
	}))
	defer service.Close()
	_, stop := p.client(client.Config{Tunnels: []client.Tunnel{{Name: "web", Protocol: tunnel.HTTP, Host: "example.com", Target: service.Listener.Addr().String()}}})
	for _, c := range []struct {
		visitor *http.Client
		want    int64
	}{
		{p.HTTP, 2 * message.MaxRecord},
		{h2Visitor(t), 2*message.MaxRecord + h2StreamBuffer},
	} {
		body, feed := io.Pipe()
		answered := make(chan error, 1)
		go func() {
			res, err := c.visitor.Do(p.Request(http.MethodPost, "example.com", "/", body))
			if err == nil {
				err = res.Body.Close()
			}
			answered <- err
		}()
		<-begun
		if held := p.server.admission.(gate).Stats().Bytes; held != c.want {
			t.Errorf("%d bytes are counted, want %d", held, c.want)
		}
		over <- struct{}{}
		_ = feed.Close()
		if err := <-answered; err != nil {
			t.Error(err)
		}
		p.idle()
	}
	stop()
	p.Eventually("somebody serves the name", func() bool { return p.server.registry.routes.find("example.com", "/").all()[0].owner.Load() == nil })
	res, err := h2Visitor(t).Do(p.Request(http.MethodPost, "example.com", "/", strings.NewReader("x")))
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("with nobody there: %s", res.Status)
	}
}
