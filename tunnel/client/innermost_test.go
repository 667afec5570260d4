package client

import (
	"crypto/tls"
	"net"
	"testing"

	"paddock/internal/netio/nowait"
)

// over wraps a connection, and has NetConn.
type over struct{ net.Conn }

func (o over) NetConn() net.Conn { return o.Conn }

// The state of an idle connection is read from its socket, however many layers lie above it; data
// passes through all of them.
func TestBackendOverAnotherConnection(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if nowait.Raw(conn) == nil {
		t.Skip("no call of this system's never waits")
	}
	for _, c := range []net.Conn{tls.Client(conn, &tls.Config{ServerName: "a.example"}), over{conn}, over{tls.Client(conn, &tls.Config{ServerName: "a.example"})}} {
		if b := newBackend(c); b.beneath == nil || b.quiet != nil {
			t.Errorf("%T: beneath %v, quiet %v", c, b.beneath, b.quiet)
		}
	}
}
