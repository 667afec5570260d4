package wire_test

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"testing"

	"golang.org/x/net/nettest"

	"paddock/internal/wire/frame"
	"paddock/wire"
	"paddock/wire/wiretest"
)

// A stream is a net.Conn in every respect that golang.org/x/net/nettest knows,
// whatever it runs over, and from whichever side.
func TestStreamIsANetConn(t *testing.T) {
	transports := map[string]func(t *testing.T) (d, a net.Conn){
		"pipe":       func(*testing.T) (d, a net.Conn) { return wiretest.Pipe(0) },
		"tcp":        tcpPair,
		"tls":        tlsPair,
		"small pipe": func(*testing.T) (d, a net.Conn) { return wiretest.Pipe(100) },
		"short writes": func(*testing.T) (d, a net.Conn) {
			d, a = wiretest.Pipe(0)
			short := wiretest.Faults{In: wiretest.Flow{Chunk: 7}, Out: wiretest.Flow{Chunk: 100}, Seed: 1}
			return wiretest.Faulty(d, short), wiretest.Faulty(a, short)
		},
	}
	for name, dial := range transports {
		for _, opener := range []frame.Role{frame.Dialer, frame.Acceptor} {
			if opener == frame.Acceptor && name != "tcp" {
				continue // one is enough to see that the sides are equal
			}
			t.Run(name+"/"+opener.String(), func(t *testing.T) {
				nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
					tk := newTaker()
					cfg := &wire.Config{Mux: tk.Mux}
					dc, ac := dial(t)
					d, err := wire.NewConn(dc, cfg)
					if err != nil {
						return nil, nil, nil, err
					}
					a, err := wire.AcceptConn(ac, cfg)
					if err != nil {
						return nil, nil, nil, err
					}
					from := d
					if opener == frame.Acceptor {
						from = a
					}
					s, err := from.Open(context.Background(), "s", wire.OpenOptions{})
					if err != nil {
						return nil, nil, nil, err
					}
					stop = sync.OnceFunc(func() {
						s.Close()
						close(tk.release)
						d.Close()
						a.Close()
					})
					return s, <-tk.streams, stop, nil
				})
			})
		}
	}
}

// tcpPair is a connection over loopback.
func tcpPair(t *testing.T) (d, a net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	dialed := make(chan net.Conn, 1)
	go func() {
		nc, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Error(err)
		}
		dialed <- nc
	}()
	if a, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return <-dialed, a
}

// tlsPair is that in TLS: the dialer's is ours, under a cork, the acceptor's a plain
// tls.Conn.
func tlsPair(t *testing.T) (d, a net.Conn) {
	t.Helper()
	d, a = tcpPair(t)
	config := serverTLS()
	config.NextProtos = []string{wire.ALPN}
	a = tls.Server(a, config)
	shaken := make(chan error, 1)
	go func() { shaken <- a.(*tls.Conn).HandshakeContext(context.Background()) }()
	d, err := wire.SecureDialer(context.Background(), d, "wire.test", clientTLS())
	if err != nil {
		t.Fatal(err)
	}
	if err := <-shaken; err != nil {
		t.Fatal(err)
	}
	return d, a
}
