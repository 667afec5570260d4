package listen

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
)

// Limited is a listener that has at most so many connections open at once. At
// the bound it accepts nothing: further connections wait in the system's queue,
// as their clients would behind any busy server, until one of the others ends.
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

// Open is the number of connections that are open now.
func (s *Limited) Open() int { return len(s.slots) }

// Waits counts how often nothing was accepted because of the bound.
func (s *Limited) Waits() uint64 { return s.waits.Load() }

// Accept waits for room, then for a connection.
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

// Close ends an Accept that waits, too.
func (s *Limited) Close() error { return s.close() }

// limitedConn gives its room back when it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// ReadFrom lets the kernel send a file, if the connection can.
func (c *limitedConn) ReadFrom(r io.Reader) (int64, error) { return io.Copy(c.Conn, r) }

// SyscallConn gives the connection's descriptor, if it has one.
func (c *limitedConn) SyscallConn() (syscall.RawConn, error) {
	if conn, ok := c.Conn.(syscall.Conn); ok {
		return conn.SyscallConn()
	}
	return nil, errors.ErrUnsupported
}

// CloseWrite lets net/http end a connection whose client is still sending
// without a reset, which would cost that client the answer.
func (c *limitedConn) CloseWrite() error {
	if half, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return errors.ErrUnsupported
}
