package relay

import (
	"io"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"

	"paddock/wire"
)

// rawConn is a raw connection that a program uses, at either end of the link: the stream with the
// visitor's addresses. CloseWrite sends FIN; Close ends both halves, after SetLinger(0) by a reset.
type rawConn struct {
	*wire.Stream
	local, remote net.Addr
	abrupt        atomic.Bool
	once          sync.Once
	Closed        chan struct{}

	mu    sync.Mutex
	first []byte // guarded by mu; came with the opening
}

func NewRawConn(st *wire.Stream, first []byte, local, remote net.Addr) *rawConn {
	return &rawConn{Stream: st, local: local, remote: remote, first: first, Closed: make(chan struct{})}
}

func (c *rawConn) LocalAddr() net.Addr  { return c.local }
func (c *rawConn) RemoteAddr() net.Addr { return c.remote }

// Read implements net.Conn.
func (c *rawConn) Read(p []byte) (int, error) {
	c.mu.Lock()
	n := copy(p, c.first)
	c.first = c.first[n:]
	c.mu.Unlock()
	if n > 0 {
		return n, nil
	}
	return c.Stream.Read(p)
}

// WriteTo implements io.WriterTo.
func (c *rawConn) WriteTo(w io.Writer) (total int64, err error) {
	c.mu.Lock()
	first := c.first
	c.first = nil
	c.mu.Unlock()
	if len(first) > 0 {
		n, err := w.Write(first)
		if err != nil {
			return int64(n), err
		}
	}
	total, err = c.Stream.WriteTo(w)
	return total + int64(len(first)), err
}

// SetLinger makes Close a reset if sec is 0.
func (c *rawConn) SetLinger(sec int) error {
	c.abrupt.Store(sec == 0)
	return nil
}

// Close implements net.Conn.
func (c *rawConn) Close() (err error) {
	err = net.ErrClosed
	c.once.Do(func() {
		if c.abrupt.Load() {
			_ = c.Reset(wire.Cancelled)
			err = nil
		} else {
			err = c.Stream.Close()
		}
		close(c.Closed)
	})
	return err
}

// AddrOf is an address of TCP; without one it is the empty one of a tunnel.
func AddrOf(a netip.AddrPort) net.Addr {
	if !a.IsValid() {
		return TunnelAddr("")
	}
	return net.TCPAddrFromAddrPort(a)
}
