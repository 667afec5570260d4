package wiretest

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

const (
	// maxShaped is how many connections a Shaper carries at once. One more is accepted and waits;
	// further ones wait in the system's queue of the listener.
	maxShaped = 256

	// shapedSocket is the size in bytes that the sockets of a Shaper ask for, a
	// few of loopback's packets of 64 KiB. Left to themselves they would grow to
	// megabytes, which would be a queue in front of the link that its Buffer does
	// not bound.
	shapedSocket = 256 << 10

	// shapedCopy is how many bytes the Shaper moves at once.
	shapedCopy = 64 << 10
)

// Shaper puts a link in the way of TCP: it listens on loopback, dials its target for each
// connection that it accepts, and carries the bytes between the two over a Link of their own. End
// of stream and reset travel the link as well. It cannot delay the TCP handshake. The sockets' own
// buffers come on top of the link's: each socket of the Shaper asks for 256 KiB in each direction.
//
// If the target cannot be reached, the accepted connection is reset.
type Shaper struct {
	target   string
	link     LinkConfig
	listener net.Listener
	cancel   context.CancelFunc // ends dialing

	slots   chan struct{}  // one token for each connection that is carried
	running sync.WaitGroup // serve, and the loops of every connection

	mu     sync.Mutex
	closed bool
	open   map[net.Conn]struct{} // connections that Close must cut
}

// NewShaper starts a Shaper in front of the TCP address target.
func NewShaper(target string, link LinkConfig) (*Shaper, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("wiretest: shaper: %w", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Shaper{
		target: target, link: link, listener: listener, cancel: cancel,
		slots: make(chan struct{}, maxShaped),
		open:  map[net.Conn]struct{}{},
	}
	s.running.Go(func() { s.serve(ctx) })
	return s, nil
}

// Addr returns the address to dial instead of the target's.
func (s *Shaper) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, resets all connections, and waits until nothing runs.
func (s *Shaper) Close() error {
	s.mu.Lock()
	s.closed = true
	err := s.listener.Close()
	s.cancel()
	for c := range s.open {
		abort(c)
	}
	s.mu.Unlock()
	s.running.Wait()
	return err
}

// serve accepts until the listener is closed.
func (s *Shaper) serve(ctx context.Context) {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.slots <- struct{}{} // given back by carry, which Close ends
		s.running.Go(func() {
			defer func() { <-s.slots }()
			s.carry(ctx, c)
		})
	}
}

// carry moves the bytes of one connection until both directions have ended.
func (s *Shaper) carry(ctx context.Context, client net.Conn) {
	if !s.track(client) {
		return
	}
	defer s.forget(client)
	var dialer net.Dialer
	target, err := dialer.DialContext(ctx, "tcp", s.target)
	if err != nil {
		abort(client)
		return
	}
	if !s.track(target) {
		return
	}
	defer s.forget(target)
	for _, c := range []net.Conn{client, target} {
		c.(*net.TCPConn).SetReadBuffer(shapedSocket) // a wish: without it the queue is longer
		c.(*net.TCPConn).SetWriteBuffer(shapedSocket)
	}
	near, far := Link(s.link)
	var loops sync.WaitGroup
	loops.Go(func() { move(near, client) })
	loops.Go(func() { move(target, far) })
	loops.Go(func() { move(far, target) })
	loops.Go(func() { move(client, near) })
	loops.Wait()
}

// track notes a connection that Close must cut. It reports false, and cuts it,
// if that is too late.
func (s *Shaper) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		abort(c)
		return false
	}
	s.open[c] = struct{}{}
	return true
}

// forget closes a connection that has ended.
func (s *Shaper) forget(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	c.Close()
}

// move copies one direction, and ends that half of to at its end; a failure of either breaks both.
func move(to, from net.Conn) {
	_, err := io.CopyBuffer(writeOnly{to}, readOnly{from}, make([]byte, shapedCopy))
	if err == nil {
		err = to.(interface{ CloseWrite() error }).CloseWrite()
	}
	if err != nil {
		abort(from)
		abort(to)
	}
}

// abort resets a connection. One that is closed already is none of its business.
func abort(c net.Conn) {
	c.(lingerer).SetLinger(0)
	c.Close()
}

// readOnly and writeOnly hide ReadFrom and WriteTo of TCP, which would choose
// buffers of their own.
type (
	readOnly  struct{ io.Reader }
	writeOnly struct{ io.Writer }
)
