package wire_test

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"testing"

	"paddock/wire"
)

// Connections of another protocol at the same port are handed over with all that has come, and
// those of wire are served as before.
func TestAltProtocol(t *testing.T) {
	hello := []byte{0x8a, 'h', 'e', 'l', 'l', 'o'}
	alt := func(fail error) *wire.AltProtocol {
		return &wire.AltProtocol{First: hello[0], ALPN: "other/1", Serve: func(conn, socket net.Conn) error {
			if _, ok := socket.(*net.TCPConn); !ok {
				t.Errorf("the socket is a %T", socket)
			}
			defer conn.Close()
			got := make([]byte, len(hello))
			_, _ = io.ReadFull(conn, got)
			_, _ = conn.Write(got)
			return fail
		}}
	}
	other := clientTLS()
	other.NextProtos = []string{"other/1"}
	plain := func(address string) (net.Conn, error) { return net.Dial("tcp", address) }
	for _, c := range []struct {
		name           string
		server, client *tls.Config
		dial           func(address string) (net.Conn, error)
		fail           error
	}{
		{"plain", nil, nil, plain, nil},
		{"beside TLS", serverTLS(), clientTLS(), plain, nil},
		{"over TLS", serverTLS(), clientTLS(), func(address string) (net.Conn, error) { return tls.Dial("tcp", address, other) }, nil},
		{"refused", nil, nil, plain, errors.New("no")},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &wire.Server{Config: &wire.Config{Mux: echoMux(), TLS: c.server, Logger: quiet}, AltProtocol: alt(c.fail)}
			address := serve(t, s)
			conn, err := c.dial(address)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = conn.Write(hello)
			if got, err := io.ReadAll(conn); string(got) != string(hello) || err != nil {
				t.Errorf("%q, %v", got, err)
			}
			waitFor(t, func() bool { return s.Stats().Opening == 0 })
			if stats := s.Stats(); stats.Accepted != 0 || (stats.Failed == 1) != (c.fail != nil) {
				t.Errorf("%+v", stats)
			}
			ours := dial(t, address, &wire.Config{TLS: c.client})
			if _, err := ours.Call(t.Context(), "echo", nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// A name that the client has not offered is not agreed.
func TestAltProtocolNotThere(t *testing.T) {
	address := serve(t, &wire.Server{Config: &wire.Config{TLS: serverTLS(), Logger: quiet}})
	config := clientTLS()
	config.NextProtos = []string{"other/1"}
	if conn, err := tls.Dial("tcp", address, config); err == nil {
		_ = conn.Close()
		t.Error("agreed on")
	}
}
