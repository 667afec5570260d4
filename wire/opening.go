package wire

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"

	"paddock/internal/handshake"
)

// errCrowded ends a connection that opens and has kept us waiting when others came.
var errCrowded = errors.New("wire: the peer has kept us waiting, and others wanted the place")

// admit begins to open a connection, or refuses it. It does not wait.
func (s *Server) admit(nc net.Conn) {
	paused := s.Pauses && s.pauses.Now(nc.RemoteAddr())
	s.mu.Lock()
	defer s.mu.Unlock()
	most := orDefault(s.MaxOpening, defaultMaxOpening)
	switch {
	case s.stopped:
		_ = nc.Close()
		return
	case paused:
		s.stats.Paused++
		_ = nc.Close()
		return
	case len(s.conns)+len(s.opening) >= orDefault(s.MaxConns, defaultMaxConns):
		s.refuse(nc, "too many connections")
		return
	case len(s.opening) >= most+maxRefusing: // among them those who make room, and have not gone yet
		s.refuse(nc, "too many connections are opening")
		return
	}
	n, out := s.crowd.Enter(nc, most)
	if n == nil {
		s.refuse(nc, "too many connections are opening")
		return
	}
	if out != nil && !s.opening[out].entering() {
		s.stats.Crowded++
		_ = out.Conn.Close()
	}
	s.opening[n] = nil
	s.tasks.Add(1)
	go s.open(n)
}

func orDefault(n, otherwise int) int {
	if n > 0 {
		return n
	}
	return otherwise
}

// open is the goroutine of a connection until its HELLO has been accepted.
func (s *Server) open(n *handshake.Newcomer) {
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
// and no error for one that Beside has taken.
func (s *Server) start(n *handshake.Newcomer) (*Conn, error) {
	under := n.Conn
	if s.Beside.begins(under) {
		return nil, s.Beside.take(under, under)
	}
	if s.config.TLS != nil {
		ctx, cancel := context.WithTimeout(s.ctx, helloTimeout)
		defer cancel()
		secured, err := s.secure(ctx, n.Conn, n)
		if err != nil {
			return nil, err
		}
		n.Awaited()
		if s.Beside.agreed(secured) {
			return nil, s.Beside.take(secured.Conn, n.Conn)
		}
		under = secured
	}
	c, err := NewConn(under, Acceptor, &s.config)
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

// enter makes a connection one of those that are open, if its HELLO was accepted.
func (s *Server) enter(n *handshake.Newcomer, c *Conn) bool {
	if !isClosed(c.ready) {
		return false
	}
	s.pauses.Forgive(n.Conn.RemoteAddr())
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opening, n)
	s.crowd.Leave(n)
	s.stats.Accepted++
	s.conns[c] = struct{}{}
	s.tasks.Add(1)
	context.AfterFunc(c.ctx, func() { s.leave(c) })
	return true
}

// handedOver drops what Beside has.
func (s *Server) handedOver(n *handshake.Newcomer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.opening, n)
	s.crowd.Leave(n)
}

// failed drops what did not come to be a connection, and says in one line why.
func (s *Server) failed(n *handshake.Newcomer, err error) {
	s.mu.Lock()
	delete(s.opening, n)
	present, stopped := s.crowd.Leave(n), s.stopped
	if !stopped {
		s.stats.Failed++
	}
	s.mu.Unlock()
	level := slog.LevelWarn
	switch {
	case stopped:
	case !present:
		err, level = errCrowded, slog.LevelDebug
		s.pauses.Failed(n.Conn.RemoteAddr())
	case blamed(err):
		s.pauses.Failed(n.Conn.RemoteAddr())
	}
	if errors.Is(err, ErrClosed) {
		level = slog.LevelDebug
	}
	s.config.Logger.Log(context.Background(), level, "wire: connection not opened", "peer", n.Conn.RemoteAddr(), "error", err)
}

// blamed says whether it is the peer's fault that a connection was not opened: not of one
// who has said nothing and left, as those do who only look whether the port is open, nor
// of one who is known and kept out.
func blamed(err error) bool {
	var e *Error
	return !errors.Is(err, io.EOF) && !errors.Is(err, ErrClosed) && !(errors.As(err, &e) && e.Code == PermissionDenied)
}
