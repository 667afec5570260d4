package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"sync"
	"time"

	"paddock/internal/clienthello"
)

// handshakesEach is how many TLS handshakes each processor has at once at most; more
// wait, as long as a head may take.
const handshakesEach = 32

// unrecognizedName is the alert for a name that nobody holds: RFC 6066 section 3, as a
// record of RFC 8446 section 6.
var unrecognizedName = []byte{21, 3, 3, 0, 2, 2, 112}

// ServeTLS serves visitors by TLS on l, which it closes in the end. Whoever asks for the
// name of an SNI tunnel is passed through with every byte he has sent; for that of an
// HTTP tunnel, or for none, TLS ends here with config, and HTTP/1.1 and HTTP/2 are
// served. nil is for passing through alone. It returns nil after Close.
func (s *Server) ServeTLS(l net.Listener, config *tls.Config) error {
	s.init()
	f := &tlsFront{Listener: s.visitors(l), s: s, conns: make(chan net.Conn), closed: make(chan struct{})}
	f.handshakes = make(chan struct{}, handshakesEach*runtime.GOMAXPROCS(0))
	if config != nil {
		f.config = config.Clone()
		f.config.NextProtos = []string{"h2", "http/1.1"}
	}
	var accepting sync.WaitGroup
	accepting.Go(func() { s.accept(f.Listener, f.greet) })
	defer accepting.Wait()
	defer f.Close()
	return s.serve(f)
}

// tlsFront is the listener of the HTTP front behind one for TLS: its connections have
// their handshakes behind them.
type tlsFront struct {
	net.Listener
	s          *Server
	config     *tls.Config
	conns      chan net.Conn
	handshakes chan struct{} // holds one for each that is under way
	once       sync.Once
	closed     chan struct{}
}

// Accept waits for the next connection of HTTP.
func (f *tlsFront) Accept() (net.Conn, error) {
	select {
	case conn := <-f.conns:
		return conn, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept, and no visitor comes any more.
func (f *tlsFront) Close() (err error) {
	f.once.Do(func() {
		close(f.closed)
		err = f.Listener.Close()
	})
	return err
}

// greet finds out whom a visitor wants, and brings him there.
func (f *tlsFront) greet(conn net.Conn) {
	s := f.s
	ctx, cancel := context.WithTimeout(s.ctx, s.limits.Head)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	hello, first, err := readHello(conn)
	refuse := func(reason Reason, err error) {
		s.refused(Refusal{Reason: reason, Peer: conn.RemoteAddr().String(), Host: hello.ServerName, Err: err})
		_ = conn.Close()
	}
	if err != nil {
		stop()
		refuse(Malformed, err)
		return
	}
	if c := s.names.find(hello.ServerName, ""); c != nil {
		defer conn.Close()
		if !stop() {
			return
		}
		s.carryRaw(c, conn, &channel{sni: true, name: []byte(hello.ServerName), rest: first})
		return
	}
	if f.config == nil || hello.ServerName != "" && !s.routes.has(hello.ServerName) {
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
	select {
	case f.conns <- secured:
	case <-f.closed:
		_ = conn.Close()
	}
}

// readHello reads until it is known whom the visitor wants. first is all that was read.
func readHello(conn net.Conn) (h clienthello.Hello, first []byte, err error) {
	var r clienthello.Reader
	b := frames.Get().(*[]byte)
	defer frames.Put(b)
	for room := (*b)[:cap(*b)]; ; {
		n, err := conn.Read(room)
		h, done, bad := r.Feed(room[:n])
		switch {
		case bad != nil:
			return h, nil, bad
		case done:
			return h, r.Bytes(), nil
		case err != nil:
			return h, nil, err
		}
	}
}

// handshake is that of a server, with at most so many at once.
func (f *tlsFront) handshake(ctx context.Context, conn net.Conn) (*tls.Conn, error) {
	select {
	case f.handshakes <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.s.greeting.Add(1)
	defer func() {
		f.s.greeting.Add(-1)
		<-f.handshakes
	}()
	secured := tls.Server(conn, f.config)
	return secured, secured.HandshakeContext(ctx)
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
func (c *begun) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}
