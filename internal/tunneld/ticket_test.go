package tunneld_test

import (
	"crypto/tls"
	"testing"

	"paddock/internal/process/keyid"
	"paddock/internal/tunneld"
	"paddock/wire/wiretest"
)

// A client whose handshakes are cut off comes by its ticket all the same; only after many
// of them it tries without.
func TestTicketOutlivesACutHandshake(t *testing.T) {
	dir := t.TempDir()
	key, err := keyid.Make(dir + "/server.key")
	if err != nil {
		t.Fatal(err)
	}
	server := &tls.Config{Certificates: []tls.Certificate{key.Certificate}, MinVersion: tls.VersionTLS13}
	connect := tunneld.Connect{Server: "tunnel.example:1", Key: dir + "/client.key"}
	if err := connect.Pin(key.ID.String()); err != nil {
		t.Fatal(err)
	}
	config, _, err := connect.Link("", silent)
	if err != nil {
		t.Fatal(err)
	}
	come := func() (resumed bool) {
		t.Helper()
		near, far := wiretest.Pipe(64 << 10)
		served := make(chan error, 1)
		go func() {
			_, err := tls.Server(far, server).Write([]byte{1}) // behind the ticket
			served <- err
		}()
		conn := tls.Client(near, config.TLS)
		if _, err := conn.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		if err := <-served; err != nil {
			t.Fatal(err)
		}
		_, _ = near.Close(), far.Close()
		return conn.ConnectionState().DidResume
	}
	cut := func() {
		near, far := wiretest.Pipe(64 << 10)
		go func() {
			_, _ = far.Read(make([]byte, 10))
			_ = far.Close()
		}()
		if err := tls.Client(near, config.TLS).Handshake(); err == nil {
			t.Error("a handshake with nobody")
		}
		_ = near.Close()
	}
	if come() {
		t.Error("the first time by a ticket")
	}
	for _, c := range []struct {
		cut  int
		want bool
	}{{0, true}, {1, true}, {7, true}, {8, false}, {0, true}} {
		for range c.cut {
			cut()
		}
		if got := come(); got != c.want {
			t.Errorf("after %d that were cut off, by a ticket: %v", c.cut, got)
		}
	}
}
