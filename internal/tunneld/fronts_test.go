package tunneld

import (
	"bytes"
	"encoding/pem"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/tunnel"
)

// A client prints an https URL only if the server has a certificate. Without one the server's log
// reports the omission, and services with TLS of their own are reached at the same port.
func TestURLs(t *testing.T) {
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	key, err := keyid.Make(file("k.pem"))
	if err != nil {
		t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: key.Certificate.Certificate[0]})
	if err := os.WriteFile(file("c.pem"), cert, 0o600); err != nil {
		t.Fatal(err)
	}
	const free = "127.0.0.1:0"
	for _, c := range []struct {
		name   string
		serve  Serve
		https  bool
		logged bool
	}{
		{name: "http alone", serve: Serve{HTTP: free}},
		{name: "tls without certificate", serve: Serve{HTTP: free, TLS: free}, logged: true},
		{name: "tls", serve: Serve{HTTP: free, TLS: free, Cert: file("c.pem"), Key: file("k.pem")}, https: true},
	} {
		var log bytes.Buffer
		r := NewRole(ServerOptions{Settings: &Settings{Serve: c.serve}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err := r.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		want := "http://a.example" + strings.TrimPrefix(r.HTTP().String(), "127.0.0.1") + "/x"
		if c.https {
			want = "https://a.example" + strings.TrimPrefix(r.TLS().String(), "127.0.0.1") + "/x"
		}
		if got := r.fronts().where(tunnel.HTTP, "a.example/x"); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		if r.TLS() != nil {
			if got, want := r.fronts().where(tunnel.SNI, "a.example"), "a.example"+strings.TrimPrefix(r.TLS().String(), "127.0.0.1"); got != want {
				t.Errorf("%s: sni at %s, want %s", c.name, got, want)
			}
		}
		if strings.Contains(log.String(), "tls_crt and tls_key") != c.logged {
			t.Errorf("%s: logged %q", c.name, log.String())
		}
		r.closeListeners()
	}
	if got := (fronts{HTTP: 80, HTTPS: 8443}).where(tunnel.SNI, "a.example"); got != "a.example:8443" {
		t.Errorf("at a server that names one port for both: %s", got)
	}
}
