package tunneld_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"paddock/internal/process/lifecycle"
	"paddock/internal/tunneld"
	"paddock/tunnel/client"
)

// Requests of visitors are shown at the inspector's address, and the service receives the same
// bytes as without the inspector.
func TestInspect(t *testing.T) {
	service := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	service.Close() // a target with TLS is inspected; that it is unreachable is reported as without the inspector
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Host+r.URL.Path) }))
	defer plain.Close()
	s := newStage(t)
	settings := &tunneld.Settings{
		Connect: tunneld.Connect{Server: s.server.Link().String(), Key: s.path("client.key"), ServerID: s.server.ID(), Pinned: true, Inspect: "127.0.0.1:0"},
		Tunnels: []client.Tunnel{
			{Name: "web", Protocol: "http", Host: "app.example", Target: plain.URL + "/sub"},
			{Name: "tls", Protocol: "http", Host: "app.example", Path: "/tls", Target: service.URL},
		},
	}
	bound := make(chan string, 2)
	client, err := tunneld.NewClient(tunneld.ClientOptions{Settings: settings, Logger: silent, Bound: func(_, where, _ string) { bound <- where }})
	if err != nil {
		t.Fatal(err)
	}
	group := &lifecycle.Group{Logger: silent, Signals: make(chan os.Signal)}
	at, err := client.ServeInspector(t.Context(), group)
	if err != nil {
		t.Fatal(err)
	}
	group.Add(lifecycle.Service{Name: "tunnel", Run: client.Run})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- group.Run(ctx) }()
	<-bound
	<-bound
	if got := s.status(); got != http.StatusOK {
		t.Errorf("a visitor: %d", got)
	}
	code, text := ask(t, at.String(), "/v1/exchanges", "", "")
	for range 1_000 { // the inspector runs beside the visitor, and may be behind
		if strings.Contains(text, `"target":"/sub/"`) {
			break
		}
		code, text = ask(t, at.String(), "/v1/exchanges", "", "")
	}
	for n := 0; n < 1000 && !strings.Contains(text, "/sub/"); n++ { // it is read beside the exchange, not before its answer
		code, text = ask(t, at.String(), "/v1/exchanges", "", "")
	}
	if code != http.StatusOK || !strings.Contains(text, `"method":"GET","host":"app.example","target":"/sub/"`) {
		t.Errorf("%d %s", code, text)
	}
	if status := s.statusOf("/tls"); status != http.StatusBadGateway {
		t.Errorf("a visitor of the service that is not there: %d", status)
	}
	if code, text = ask(t, at.String(), "/v1/exchanges", "", ""); code != http.StatusOK || !strings.Contains(text, `"target":"/tls"`) || !strings.Contains(text, "connection refused") {
		t.Errorf("the service that is not there: %d %s", code, text)
	}
	if code, _ := ask(t, at.String(), "/", "evil.example", ""); code != http.StatusMisdirectedRequest {
		t.Errorf("for another name: %d", code)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
