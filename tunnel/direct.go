package tunnel

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"net"
	"time"
)

// The messages of SPEC section 6.1.
const (
	// directPreface is what a channel begins with.
	directPreface = "\x8aBARE\r\n\x01"
	// directALPN is what it is called in TLS.
	directALPN = "paddock-direct/1"

	ticketID, ticketSecret = 16, 32
	ticketBytes            = ticketID + ticketSecret
	proofBytes             = sha256.Size
	helloBytes             = len(directPreface) + ticketID + proofBytes
)

const (
	// directTime is how long a ticket is good for, and all that comes before the bytes.
	directTime = 10 * time.Second
	// directPause is how long no channel is asked for of a client who could make none.
	directPause = 10 * time.Second
)

// errDirect is why a channel was not taken.
var errDirect = errors.New("tunnel: direct channel")

// ticket lets a client make one channel for one stream.
type ticket struct {
	id     [ticketID]byte
	secret [ticketSecret]byte
}

func newTicket() *ticket {
	t := &ticket{}
	_, _ = rand.Read(t.id[:]) // never fails
	_, _ = rand.Read(t.secret[:])
	return t
}

// proof is what shows that a side knows the secret.
func (t *ticket) proof(side string) []byte {
	m := hmac.New(sha256.New, t.secret[:])
	_, _ = m.Write([]byte("tunnel direct " + side))
	_, _ = m.Write(t.id[:])
	return m.Sum(nil)
}

// proves compares in constant time.
func (t *ticket) proves(side string, proof []byte) bool { return hmac.Equal(t.proof(side), proof) }

// hello is what the client says first.
func (t *ticket) hello() []byte {
	return append(append([]byte(directPreface), t.id[:]...), t.proof("client")...)
}

func appendTicket(dst []byte, t *ticket) []byte {
	return append(append(dst, t.id[:]...), t.secret[:]...)
}

func cutTicket(b []byte) (t *ticket, rest []byte, err error) {
	if len(b) < ticketBytes {
		return nil, nil, malformed("ticket of %d bytes", len(b))
	}
	t = &ticket{}
	copy(t.id[:], b)
	copy(t.secret[:], b[ticketID:])
	return t, b[ticketBytes:], nil
}

// directChannel is a connection that carries the bytes of one stream.
type directChannel struct {
	net.Conn          // a socket, or TLS over it
	socket   net.Conn // beneath
}

// cut ends it by a reset.
func (c *directChannel) cut() { resetConn(c.socket) }

// securedBy says whether a channel has to be TLS, where the link is or is not.
func (p Protocol) securedBy(link bool) bool { return link && p != SNI }

// overTLS says whether a connection is over TLS.
func overTLS(conn net.Conn) bool {
	_, ok := conn.(interface{ ConnectionState() tls.ConnectionState })
	return ok
}
