package wire

import "net"

// Credits is what a Machine knows of the bytes that may flow.
type Credits struct {
	ConnSend, PostsSend       int64 // that we may send
	ConnReceive, PostsReceive int64 // that the peer may send
	ConnOwed, PostsOwed       int64 // consumed, not granted yet
}

// Credits is for tests.
func (m *Machine) Credits() Credits {
	return Credits{
		m.connSend, m.postsSend, m.conn.receive, m.posts.receive, m.conn.owed, m.posts.owed,
	}
}

// Acked is the number of the last post that the peer has acknowledged.
func (m *Machine) Acked() uint64 { return m.acked }

// TakeBytes is Take for who needs no buffers back.
func (m *Machine) TakeBytes() []byte {
	buffer, from := m.Take(nil)
	return buffer[from:]
}

// SecureDialer is for tests that have their own connection under TLS.
var SecureDialer = secureDialer

// Mangle says that memory which is given back is spoiled, which is so under the
// race detector: allocations and bytes mean nothing then.
const Mangle = mangle

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
