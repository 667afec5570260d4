package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/nowait"
	"paddock/internal/wire/machine"
)

// errDisplaced ends an opening connection that was slow when others needed its place.
var errDisplaced = errors.New("wire: the peer has kept us waiting, and others wanted the place")

// admit begins to open a connection, queues it, or refuses it. It does not wait.
func (s *Server) admit(nc net.Conn) {
	paused := s.Pauses && s.penalties.Paused(nc.RemoteAddr())
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.stopped:
		_ = nc.Close()
	case paused:
		s.stats.Paused++
		_ = nc.Close()
	case s.full():
		s.refuse(nc, tooMany)
	case s.MaxWaiting < 0:
		if !s.beginOpening(nc) {
			s.refuse(nc, tooManyOpening)
		}
	case s.pending.Len() >= s.mostOpening()/2 || s.queue.Len() > 0 || !s.beginOpening(nc):
		s.enqueue(nc) // until it has sent a byte
	}
}

// The texts of refusals.
const tooMany, tooManyOpening = "too many connections", "too many connections are opening"

func (s *Server) mostOpening() int { return orDefault(s.MaxOpening, defaultMaxOpening) }

// full reports whether the bound on connections is reached. s.mu is held.
func (s *Server) full() bool {
	most := orDefault(s.MaxConns, defaultMaxConns)
	if s.MaxSockets > 0 {
		most = min(most, s.MaxSockets)
	}
	return len(s.conns)+len(s.opening) >= most
}

// beginOpening adds a connection to the pending set, if there is a free place or another connection
// has to give up its own. s.mu is held.
func (s *Server) beginOpening(nc net.Conn) bool {
	most := s.mostOpening()
	if len(s.opening) >= most+maxRefusing { // including connections that were dropped and have not ended yet
		return false
	}
	n, out := s.pending.Enter(nc, most)
	if n == nil {
		return false
	}
	if out != nil && !s.opening[out].entering() {
		s.stats.Crowded++
		_ = out.Conn.Close()
	}
	s.opening[n] = nil
	s.tasks.Add(1)
	go s.open(n)
	return true
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// open is the goroutine of a connection until its HELLO has been accepted.
func (s *Server) open(n *handshake.Pending) {
	defer s.tasks.Done()
	c, err := s.start(n)
	switch {
	case err != nil:
		s.failed(n, err)
		return
	case c == nil:
		s.handedOver(n)
		return
	}
	select {
	case <-c.ready:
	case <-c.done:
	}
	if !s.enter(n, c) {
		<-c.done
		c.tasks.Wait()
		s.failed(n, c.Err())
	}
}

// start does the TLS handshake, if there is one, and starts the connection. It returns nil
// and no error for one that AltProtocol has taken.
func (s *Server) start(n *handshake.Pending) (*Conn, error) {
	under := n.Conn
	if s.AltProtocol.begins(under) {
		return nil, s.AltProtocol.take(under, under)
	}
	if s.config.TLS != nil {
		ctx, cancel := context.WithTimeout(s.ctx, secureTimeout)
		defer cancel()
		secured, err := s.secure(ctx, n.Conn, n)
		if err != nil {
			return nil, err
		}
		n.Awaited()
		if s.AltProtocol.agreed(secured) {
			return nil, s.AltProtocol.take(secured.Conn, n.Conn)
		}
		under = secured
	}
	c, err := AcceptConn(under, &s.config)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opening[n] = c; s.stopped {
		c.Abort(Unavailable)
	}
	return c, nil
}

// enter adds a connection to the open ones, if its HELLO was accepted.
func (s *Server) enter(n *handshake.Pending, c *Conn) bool {
	if !isClosed(c.ready) {
		return false
	}
	s.penalties.Forgive(n.Conn.RemoteAddr())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOpening(n)
	s.stats.Accepted++
	s.conns[c] = struct{}{}
	s.tasks.Add(1)
	context.AfterFunc(c.ctx, func() { s.leave(c) })
	return true
}

// handedOver drops a connection that AltProtocol has.
func (s *Server) handedOver(n *handshake.Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endOpening(n)
}

// endOpening removes a connection from the pending set, and reports whether it was there. s.mu is
// held.
func (s *Server) endOpening(n *handshake.Pending) (present bool) {
	delete(s.opening, n)
	present = s.pending.Leave(n)
	s.wakeQueue()
	return present
}

// failed drops a connection that was not opened.
func (s *Server) failed(n *handshake.Pending, err error) {
	s.mu.Lock()
	present, stopped := s.endOpening(n), s.stopped
	if !stopped {
		s.stats.Failed++
	}
	s.mu.Unlock()
	if !stopped && !present {
		err = errDisplaced
	}
	s.notOpened(n.Conn, err, !stopped)
}

const notOpenedLine = "wire: connection not opened"

// notOpened logs why a connection was not opened, at most as often as logbound allows. With judged,
// a fault of the peer counts as a penalty.
func (s *Server) notOpened(nc net.Conn, err error, judged bool) {
	if judged && blamed(err) {
		s.penalties.Failed(nc.RemoteAddr())
	}
	if errors.Is(err, ErrClosed) || errors.Is(err, errDisplaced) {
		s.config.Logger.Debug(notOpenedLine, "peer", nc.RemoteAddr().String(), "error", err)
	} else if left, ok := s.lines.Take(); ok {
		s.config.Logger.Warn(notOpenedLine, "peer", nc.RemoteAddr().String(), "left_out", left, "error", err)
	}
}

// blamed reports whether a connection failed to open through a fault of the peer. It is not a fault
// to close without a byte, as port scanners and health checks do, or to be known and not admitted.
// Nor is it one if the server had no time, or needed the place for another connection: a whole
// fleet may reconnect from behind one address.
func blamed(err error) bool {
	for _, innocent := range []error{io.EOF, ErrClosed, errDisplaced, context.DeadlineExceeded, handshake.ErrQueueTimeout} {
		if errors.Is(err, innocent) {
			return false
		}
	}
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code != PermissionDenied
}

const (
	// defaultMaxQueued bounds the connections in the accept queue. Each takes a socket and some
	// 4 KiB of kernel memory.
	defaultMaxQueued = 16_384
	// secureTimeout bounds the time from accept until the connection is open, where the server is
	// the slower side. A client has as long.
	secureTimeout = 30 * time.Second
	// dequeueEvery is the interval at which queued connections are checked for bytes and for their
	// time limit.
	dequeueEvery = 20 * time.Millisecond
)

// enqueue adds a connection to the accept queue, or refuses it. s.mu is held.
func (s *Server) enqueue(nc net.Conn) {
	in, out := s.queue.Enter(nc, s.mostQueued())
	if !in {
		out = nc
	}
	if out != nil {
		s.refuse(out, tooManyOpening)
	}
	if in && !s.dequeuing {
		s.dequeuing = true
		s.tasks.Add(1)
		go s.dequeueLoop()
	}
}

// mostQueued returns the bound of the accept queue. s.mu is held.
func (s *Server) mostQueued() int {
	most := orDefault(s.MaxWaiting, defaultMaxQueued)
	if s.MaxSockets > 0 {
		most = min(most, max(s.MaxSockets-len(s.conns)-len(s.opening), 0))
	}
	return most
}

// heard reports whether the peer of a connection has sent a byte, and whether it has closed the
// connection. Both are unknown for a connection without a socket.
func heard(nc net.Conn) (spoken, gone bool) {
	raw := nowait.Raw(nc)
	if raw == nil {
		return true, false
	}
	err := raw.Control(func(fd uintptr) { spoken, gone = nowait.Heard(fd) })
	return spoken, gone || err != nil
}

// wakeQueue signals that a place may be free.
func (s *Server) wakeQueue() {
	select {
	case s.freed <- struct{}{}:
	default:
	}
}

// dequeueLoop opens queued connections until none waits.
func (s *Server) dequeueLoop() {
	defer s.tasks.Done()
	ticker := time.NewTicker(dequeueEvery)
	defer ticker.Stop()
	for s.dequeue() {
		select {
		case <-s.ctx.Done():
		case <-s.freed:
		case <-ticker.C:
		}
	}
}

// dequeue opens queued connections while there are free places. It reports whether some still wait.
func (s *Server) dequeue() (more bool) {
	type drop struct {
		nc  net.Conn
		err error
	}
	var drops []drop
	defer func() {
		for _, d := range drops {
			s.notOpened(d.nc, d.err, true)
		}
	}()
	dropped := func(nc net.Conn, err error) {
		_ = nc.Close()
		if errors.Is(err, handshake.ErrQueueTimeout) {
			s.stats.Refused++
		} else {
			s.stats.Failed++
		}
		drops = append(drops, drop{nc, err})
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	place := func(nc net.Conn) bool {
		if s.full() {
			s.refuse(nc, tooMany)
			return true
		}
		return s.beginOpening(nc)
	}
	for !s.stopped && s.queue.Next(place, dropped) {
	}
	s.dequeuing = !s.stopped && s.queue.Len() > 0
	return s.dequeuing
}

// AltProtocol is another protocol whose connections a Server accepts at its own listeners. The
// server recognizes them by their first byte or, over TLS, by the protocol's ALPN name. A
// connection counts as opening, under the deadline of opening, until Serve has returned.
//
// A server with an AltProtocol reads a connection's first byte before it sends anything.
type AltProtocol struct {
	// First is the first byte of a connection without TLS, also at a server with TLS. It
	// must differ from the first bytes of wire and of TLS. Only sockets are examined for it.
	First byte
	// ALPN is the name of the protocol over TLS.
	ALPN string
	// Serve reads the start of a connection, First included, and owns the connection from
	// then on, also when it returns an error; the server then counts a failed opening. socket
	// is the connection beneath TLS, or conn itself without TLS. Both carry the deadline of
	// opening, which Serve must clear. Serve must not block on anything but the peer.
	Serve func(conn, socket net.Conn) error
}

// begins reports whether the first byte of nc is that of the protocol. It does not consume the
// byte. It returns false if no byte arrives in time.
func (a *AltProtocol) begins(nc net.Conn) bool {
	raw := nowait.Raw(nc)
	if a == nil || a.First == 0 || raw == nil {
		return false
	}
	_ = nc.SetReadDeadline(time.Now().Add(machine.HelloTimeout))
	defer func() { _ = nc.SetReadDeadline(time.Time{}) }()
	var first [1]byte
	n := 0
	err := raw.Read(func(fd uintptr) (done bool) {
		n, done = nowait.Peek(fd, first[:])
		return done
	})
	return err == nil && n == 1 && first[0] == a.First
}

// agreed reports whether the TLS handshake has selected the protocol.
func (a *AltProtocol) agreed(s *secured) bool {
	return a != nil && a.ALPN != "" && s.ConnectionState().NegotiatedProtocol == a.ALPN
}

// take passes a connection to Serve.
func (a *AltProtocol) take(conn, socket net.Conn) error {
	_ = socket.SetDeadline(time.Now().Add(machine.HelloTimeout))
	return a.Serve(conn, socket)
}

// names returns the ALPN names that a server offers in addition to that of wire.
func (a *AltProtocol) names() []string {
	if a == nil || a.ALPN == "" {
		return nil
	}
	return []string{a.ALPN}
}
