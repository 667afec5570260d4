package relay

import (
	"errors"
	"net"
	"paddock/tunnel"
	"time"
)

const (
	// directTime is how long a ticket is good for, and all that comes before the bytes.
	DirectTime = 10 * time.Second
	// directPause is how long no channel is asked for of a client who could make none.
	DirectPause = 10 * time.Second
)

// errDirect is why a channel was not taken.
var ErrDirect = errors.New("tunnel: direct channel")

// directChannel is a connection that carries the bytes of one stream.
type DirectChannel struct {
	net.Conn          // a socket, or TLS over it
	Socket   net.Conn // beneath
}

// cut ends it by a reset.
func (c *DirectChannel) Cut() { ResetConn(c.Socket) }

// securedBy says whether a channel has to be TLS, where the link is or is not.
func SecuredBy(p tunnel.Protocol, link bool) bool { return link && p != tunnel.SNI }
