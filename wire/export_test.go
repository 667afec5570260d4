package wire

import (
	"net"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// Credits is what a Machine knows of the bytes that may flow.
type Credits struct {
	ConnSend, PostsSend       int64 // that we may send
	ConnReceive, PostsReceive int64 // that the peer may send
	ConnOwed, PostsOwed       int64 // consumed, not granted yet
}

// CreditsOf returns the credits of a machine.
func CreditsOf(m *machine.Machine) Credits {
	return Credits{
		m.ConnSend, m.PostsSend, m.Conn.Receive, m.Posts.Receive, m.Conn.Owed, m.Posts.Owed,
	}
}

// SecureDialer is for tests that have their own connection under TLS.
var SecureDialer = secureDialer

// Mangle says that memory which is given back is spoiled, which is so under the
// race detector: allocations and bytes mean nothing then.
const Mangle = frame.Mangle

// Backlog bounds the streams that wait for Accept.
const Backlog = defaultBacklog

// TokenData is that of a token with a binding that is given.
func TokenData(id string, secret, binding []byte) []byte {
	key := TokenHash(secret)
	return append(tokenMAC(key[:], binding, id), id...)
}

// EmptyToken proves to know nothing, as TokenAuth refuses to.
func EmptyToken(nc net.Conn, id string) (*Auth, error) {
	binding, err := tokenBinding(nc)
	return &Auth{Scheme: tokenScheme, Data: TokenData(id, nil, binding)}, err
}
