package tunnel

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"runtime"
	"time"

	"paddock/internal/clienthello"
)

// handshakesEach is how many TLS handshakes may want each processor at once; more wait,
// as long as a head may take.
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
	f := &tlsFront{front: s.front(l.Addr()), handshakes: make(chan struct{}, handshakesEach*runtime.GOMAXPROCS(0))}
	if config != nil {
		f.config = config.Clone()
		f.config.NextProtos = []string{"h2", "http/1.1"}
	}
	return f.serve(l, f.greet)
}

// tlsFront is a front whose visitors begin with TLS.
type tlsFront struct {
	*front
	config     *tls.Config
	handshakes chan struct{} // holds one for each that is under way
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
	state := secured.ConnectionState()
	if state.NegotiatedProtocol == "h2" {
		f.handed.give(secured)
		return
	}
	newH1Conn(f.front, secured, state.ServerName, true).serve()
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

// handshake is that of a server. At most so many compute at once: a place is given back
// while its visitor is waited for, so that those who say nothing more keep nobody out.
func (f *tlsFront) handshake(ctx context.Context, conn *begun) (*tls.Conn, error) {
	under := &greeted{begun: conn, ctx: ctx, places: f.handshakes}
	if err := under.enter(); err != nil {
		return nil, err
	}
	f.s.greeting.Add(1)
	defer f.s.greeting.Add(-1)
	secured := tls.Server(under, f.config)
	err := secured.HandshakeContext(ctx)
	under.leave()
	under.places = nil
	return secured, err
}

// greeted is a connection in the handshake of TLS. Its Read gives the place back while it
// waits.
type greeted struct {
	*begun
	ctx    context.Context
	places chan struct{} // has one value for each that computes; nil: the handshake is over
	inside bool
}

func (g *greeted) Read(p []byte) (int, error) {
	if g.places == nil || len(g.first) > 0 {
		return g.begun.Read(p)
	}
	g.leave()
	n, err := g.begun.Read(p)
	if err := g.enter(); err != nil {
		return 0, err
	}
	return n, err
}

func (g *greeted) enter() error {
	select {
	case g.places <- struct{}{}:
		g.inside = true
		return nil
	case <-g.ctx.Done():
		return g.ctx.Err()
	}
}

func (g *greeted) leave() {
	if g.inside {
		g.inside = false
		<-g.places
	}
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
