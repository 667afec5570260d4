package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"paddock/internal/netio/handshake"
	"paddock/internal/netio/nowait"
)

// errCrowded ends a connection that opens and has kept us waiting when others came.
var errCrowded = errors.New("wire: the peer has kept us waiting, and others wanted the place")

// admit begins to open a connection, has it wait for that, or refuses it. It does not wait.
func (s *Server) admit(nc net.Conn) {
	paused := s.Pauses && s.pauses.Paused(nc.RemoteAddr())
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
		if !s.place(nc) {
			s.refuse(nc, crowded)
		}
	case s.crowd.Len() >= s.mostOpening()/2 || s.room.Len() > 0 || !s.place(nc):
		s.stand(nc) // where it gets a place as soon as it has said something
	}
}

// What a connection is told that is refused.
const tooMany, crowded = "too many connections", "too many connections are opening"

func (s *Server) mostOpening() int { return orDefault(s.MaxOpening, defaultMaxOpening) }

// full says whether there are as many connections as there may be. s.mu is held.
func (s *Server) full() bool {
	most := orDefault(s.MaxConns, defaultMaxConns)
	if s.MaxSockets > 0 {
		most = min(most, s.MaxSockets)
	}
	return len(s.conns)+len(s.opening) >= most
}

// place adds a connection to the pending set, if there is a free place or another connection has to
// give up its own. s.mu is held.
func (s *Server) place(nc net.Conn) bool {
	most := s.mostOpening()
	if len(s.opening) >= most+maxRefusing { // including connections that were dropped and have not ended yet
		return false
	}
	n, out := s.crowd.Enter(nc, most)
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
	s.pauses.Forgive(n.Conn.RemoteAddr())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vacate(n)
	s.stats.Accepted++
	s.conns[c] = struct{}{}
	s.tasks.Add(1)
	context.AfterFunc(c.ctx, func() { s.leave(c) })
	return true
}

// handedOver drops what AltProtocol has.
func (s *Server) handedOver(n *handshake.Pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.vacate(n)
}

// vacate gives a place back, and says whether it was had until now. s.mu is held.
func (s *Server) vacate(n *handshake.Pending) (present bool) {
	delete(s.opening, n)
	present = s.crowd.Leave(n)
	s.calls()
	return present
}

// failed drops what did not come to be a connection.
func (s *Server) failed(n *handshake.Pending, err error) {
	s.mu.Lock()
	present, stopped := s.vacate(n), s.stopped
	if !stopped {
		s.stats.Failed++
	}
	s.mu.Unlock()
	if !stopped && !present {
		err = errCrowded
	}
	s.notOpened(n.Conn, err, !stopped)
}

const notOpenedLine = "wire: connection not opened"

// notOpened says in one line why a connection was not opened, unless there were too many of
// late, and if judged, remembers it where it is the peer's fault.
func (s *Server) notOpened(nc net.Conn, err error, judged bool) {
	if judged && blamed(err) {
		s.pauses.Failed(nc.RemoteAddr())
	}
	if errors.Is(err, ErrClosed) || errors.Is(err, errCrowded) {
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
	for _, innocent := range []error{io.EOF, ErrClosed, errCrowded, context.DeadlineExceeded, handshake.ErrQueueTimeout} {
		if errors.Is(err, innocent) {
			return false
		}
	}
	e, ok := errors.AsType[*Error](err)
	return !ok || e.Code != PermissionDenied
}

const (
	// defaultMaxStanding bounds the connections that wait for a place. Each takes a socket and some
	// 4 KiB of kernel memory.
	defaultMaxStanding = 16_384
	// secureTimeout bounds the time from accept until the connection is open, where the server is
	// the slower side. A client has as long.
	secureTimeout = 30 * time.Second
	// usherEach is the interval at which waiting connections are checked for bytes and for their
	// time limit.
	usherEach = 20 * time.Millisecond
)

// stand has a connection wait for a place, or refuses it. s.mu is held.
func (s *Server) stand(nc net.Conn) {
	in, out := s.room.Enter(nc, s.mostStanding())
	if !in {
		out = nc
	}
	if out != nil {
		s.refuse(out, crowded)
	}
	if in && !s.ushering {
		s.ushering = true
		s.tasks.Add(1)
		go s.usher()
	}
}

// mostStanding returns how many connections may wait besides the present ones. s.mu is held.
func (s *Server) mostStanding() int {
	most := orDefault(s.MaxWaiting, defaultMaxStanding)
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

// calls tells the usher that there may be a place.
func (s *Server) calls() {
	select {
	case s.called <- struct{}{}:
	default:
	}
}

// usher gives places to waiting connections until none waits.
func (s *Server) usher() {
	defer s.tasks.Done()
	ticker := time.NewTicker(usherEach)
	defer ticker.Stop()
	for s.seat() {
		select {
		case <-s.ctx.Done():
		case <-s.called:
		case <-ticker.C:
		}
	}
}

// seat gives the free places to waiting connections. It reports whether some still wait.
func (s *Server) seat() (more bool) {
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
		return s.place(nc)
	}
	for !s.stopped && s.room.Next(place, dropped) {
	}
	s.ushering = !s.stopped && s.room.Len() > 0
	return s.ushering
}
