package server

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"time"

	"paddock/tunnel/internal/clienthello"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
)

// maxHandshake is how many bytes a visitor may send in the handshake of TLS: the longest
// ClientHello that is read, and little more.
const maxHandshake = 2 * clienthello.MaxBytes

// unrecognizedName is the alert for a name that no client holds: RFC 6066 section 3, as a record of
// RFC 8446 section 6.
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}

// ServeTLS serves visitors by TLS on l, which it closes in the end. A visitor that asks for the
// name of an SNI tunnel is relayed with every byte it has sent. For the name of an HTTP tunnel, or
// for none, TLS ends here with config, and HTTP/1.1 and, without NoHTTP2, HTTP/2 are served. With a
// nil config it only relays. It returns nil after Close.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	s.init()
	f := &tlsFront{front: s.front(l.Addr())}
	if config != nil {
		f.config = config.Clone()
		f.config.NextProtos = s.protocols()
	}
	return f.serve(l, f.greet)
}

// tlsFront is a front whose visitors begin with TLS.
type tlsFront struct {
	*front
	config *tls.Config
}

// greet finds the visitor's destination and serves it. first holds the bytes that have been read.
func (f *tlsFront) greet(conn net.Conn, first []byte) {
	s := f.s
	ctx, cancel := context.WithTimeout(s.ctx, s.limits.Head)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	hello, first, err := readHello(conn, first)
	refuse := func(reason Reason, err error) {
		s.refused(Refusal{Reason: reason, Peer: conn.RemoteAddr().String(), Host: hello.ServerName, Err: err})
		_ = conn.Close()
	}
	if err != nil {
		stop()
		refuse(Malformed, err)
		return
	}
	if p := s.registry.names.find(hello.ServerName, ""); p != nil {
		defer conn.Close()
		if !stop() {
			return
		}
		s.carryRaw(p, conn, &message.Channel{SNI: true, Name: []byte(hello.ServerName), Rest: first})
		return
	}
	if f.config == nil || hello.ServerName != "" && !s.registry.routes.has(hello.ServerName) {
		_, _ = conn.Write(unrecognizedName)
		stop()
		refuse(NoRoute, errors.New("no tunnel of this name"))
		return
	}
	secured, err := f.handshake(ctx, &begun{Conn: conn, first: first})
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		refuse(Malformed, err)
		return
	}
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		f.handOver(secured)
		return
	}
	newH1Conn(f.front, secured, state.ServerName, true).serve()
}

// readHello reads until the destination is known: came holds the bytes that were read before, and
// first all of them.
func readHello(conn net.Conn, came []byte) (h clienthello.Hello, first []byte, err error) {
	var r clienthello.Reader
	b := relay.Frames.Get().(*[]byte)
	defer relay.Frames.Put(b)
	for room := (*b)[:cap(*b)]; ; {
		h, done, bad := r.Feed(came)
		switch {
		case bad != nil:
			return h, nil, bad
		case done:
			return h, r.Bytes(), nil
		case err != nil:
			return h, nil, err
		}
		var n int
		n, err = conn.Read(room)
		came = room[:n]
	}
}

// handshake is that of a server. ctx bounds it.
func (f *tlsFront) handshake(ctx context.Context, conn net.Conn) (secured *tls.Conn, err error) {
	err = f.s.handshakes.Do(ctx, conn, nil, func(shaking net.Conn) error {
		secured = tls.Server(shaking, f.config)
		return secured.HandshakeContext(ctx)
	})
	return secured, err
}

// begun is a connection of which something has been read.
type begun struct {
	net.Conn
	first []byte
}

func (c *begun) Read(p []byte) (int, error) {
	if len(c.first) > 0 {
		n := copy(p, c.first)
		c.first = c.first[n:]
		return n, nil
	}
	return c.Conn.Read(p)
}

// CloseWrite ends our half.
func (c *begun) CloseWrite() error { return relay.CloseWrite(c.Conn) }

// NetConn is the connection beneath.
func (c *begun) NetConn() net.Conn { return c.Conn }
