package listen

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Limited is a listener with a bound on its open connections. At the bound it accepts no
// connection: further ones wait in the accept queue of the system until an open one ends.
type Limited struct {
	net.Listener
	slots  chan struct{} // holds one for each open connection
	waits  atomic.Uint64
	closed chan struct{}
	close  func() error
}

// Limit bounds the connections of l. n is positive.
func Limit(l net.Listener, n int) *Limited {
	s := &Limited{Listener: l, slots: make(chan struct{}, n), closed: make(chan struct{})}
	s.close = sync.OnceValue(func() error {
		close(s.closed)
		return l.Close()
	})
	return s
}

// Open returns the number of open connections.
func (s *Limited) Open() int { return len(s.slots) }

// Waits returns how often Accept had to wait because of the bound.
func (s *Limited) Waits() uint64 { return s.waits.Load() }

// Accept waits for a free slot, then for a connection.
func (s *Limited) Accept() (net.Conn, error) {
	select {
	case s.slots <- struct{}{}:
	default:
		s.waits.Add(1)
		select {
		case s.slots <- struct{}{}:
		case <-s.closed:
			return nil, net.ErrClosed
		}
	}
	conn, err := s.Listener.Accept()
	if err != nil {
		<-s.slots
		return nil, err
	}
	return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { <-s.slots })}, nil
}

// Close closes the listener, and ends a waiting Accept.
func (s *Limited) Close() error { return s.close() }

// limitedConn releases its slot when it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// ReadFrom uses sendfile if the connection can.
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// SyscallConn returns the connection's descriptor, if it has one.
func (c *limitedConn) SyscallConn() (syscall.RawConn, error) { return SyscallConn(c.Conn) }

// CloseWrite lets net/http end a connection whose client is still sending without a reset, which
// could destroy the answer on its way to the client.
func (c *limitedConn) CloseWrite() error { return CloseWrite(c.Conn) }

// CloseWrite ends the sending half of a connection, if it has halves.
func CloseWrite(conn net.Conn) error {
	if half, ok := conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}

// SyscallConn returns the descriptor of a connection, if it has one.
func SyscallConn(conn net.Conn) (syscall.RawConn, error) {
	if c, ok := conn.(syscall.Conn); ok {
		return c.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}
