package server

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
)

// The name with which TLS is begun is one however it is written, as a host is.
func TestServerNameInAnyForm(t *testing.T) {
	p := newPair(t, &Server{Identify: named})
	config, id := selfMade(t)
	one, _ := p.says("one", "one.example", "one")
	p.Eventually("not bound", func() bool { return one.Bindings()[0].Err == nil })
	at := p.secure(config)
	for _, name := range []string{"one.example", "ONE.example"} {
		conn, err := visitTLS(t, at, name, id)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(conn, "GET / HTTP/1.1\r\nHost: one.example\r\n\r\n")
		res, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 200 {
			t.Errorf("%s: %s", name, res.Status)
		}
		if conn, err = visitTLS(t, at, name, id, "h2"); err != nil {
			t.Fatal(err)
		}
		c := &http.Transport{ForceAttemptHTTP2: true, DialTLSContext: func(context.Context, string, string) (net.Conn, error) { return conn, nil }}
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://one.example/", nil)
		if res, err = c.RoundTrip(r); err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.ProtoMajor != 2 || res.StatusCode != 200 {
			t.Errorf("%s over HTTP/2: %s", name, res.Status)
		}
		c.CloseIdleConnections()
	}
}
