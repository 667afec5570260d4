package listen

import (
	"net"
	"sync"
)

// Handover is a listener that accepts the connections given to it. A server with a reader of its
// own hands some connections over to net/http by it.
type Handover struct {
	At net.Addr // set before any connection is accepted

	conns  chan net.Conn // unbuffered: Give waits until the connection is accepted
	closed chan struct{}
	once   sync.Once
}

// NewHandover returns a listener with an address.
func NewHandover(at net.Addr) *Handover {
	return &Handover{At: at, conns: make(chan net.Conn), closed: make(chan struct{})}
}

// Give hands a connection over. It returns false if the listener is closed.
func (h *Handover) Give(conn net.Conn) bool {
	select {
	case h.conns <- conn:
		return true
	case <-h.closed:
		return false
	}
}

// Accept waits for a connection.
func (h *Handover) Accept() (net.Conn, error) {
	select {
	case conn := <-h.conns:
		return conn, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and Give.
func (h *Handover) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// Addr returns At.
func (h *Handover) Addr() net.Addr { return h.At }
