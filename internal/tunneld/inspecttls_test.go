package tunneld

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/tunneld/inspector"
	"paddock/tunnel"
	"paddock/tunnel/client"
)

// Requests to a service with TLS are inspected in plain text, by HTTP/1.1. The service's
// certificate is verified as without the inspector.
func TestInspectTLS(t *testing.T) {
	service := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }))
	service.EnableHTTP2 = true
	service.StartTLS()
	defer service.Close()
	roots := x509.NewCertPool()
	roots.AddCert(service.Certificate())
	for _, c := range []struct {
		name string
		tls  *tls.Config
		want string // in the list
	}{
		{"trusted", &tls.Config{RootCAs: roots}, `"target":"/x","status":200`},
		{"not trusted", nil, `"exchanges":[]`},
	} {
		i := inspector.New()
		offered, err := inspect(i, client.Tunnel{Name: "web", Protocol: tunnel.HTTP, Target: service.URL, TLS: c.tls})
		if err != nil {
			t.Fatal(err)
		}
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return offered.Dial(ctx) }}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, offered.Target+"/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(r)
		if (err == nil) != (c.tls != nil) {
			t.Fatalf("%s: %v", c.name, err)
		}
		if err == nil {
			text, _ := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if string(text) != "HTTP/1.1" {
				t.Errorf("%s: %s", c.name, text)
			}
		}
		transport.CloseIdleConnections()
		i.Wait()
		asked := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1/v1/exchanges", nil)
		told := httptest.NewRecorder()
		i.Handler().ServeHTTP(told, asked)
		if !strings.Contains(told.Body.String(), c.want) {
			t.Errorf("%s: %s", c.name, told.Body)
		}
	}
}
