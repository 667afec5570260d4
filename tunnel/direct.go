package tunnel

import (
	"errors"
	"net"
	"time"
)

const (
	// directTime is how long a ticket is good for, and all that comes before the bytes.
	directTime = 10 * time.Second
	// directPause is how long no channel is asked for of a client who could make none.
	directPause = 10 * time.Second
)

// errDirect is why a channel was not taken.
var errDirect = errors.New("tunnel: direct channel")

// directChannel is a connection that carries the bytes of one stream.
type directChannel struct {
	net.Conn          // a socket, or TLS over it
	socket   net.Conn // beneath
}

// cut ends it by a reset.
func (c *directChannel) cut() { resetConn(c.socket) }

// securedBy says whether a channel has to be TLS, where the link is or is not.
func securedBy(p Protocol, link bool) bool { return link && p != SNI }
