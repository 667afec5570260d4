package wire

import (
	"crypto/hmac"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"unicode/utf8"

	"paddock/internal/wire/frame"
)

// SPEC section 12.
const (
	tokenScheme = "token"
	// tokenLabel is that of the TLS exporter, RFC 8446 section 7.5.
	tokenLabel = "EXPORTER-wire-token"
	// tokenLocal stands for the exporter's value where there is no TLS, and has its
	// length.
	tokenLocal = "wire/1 token over a local socket"
	maxTokenID = 128
)

// ErrNotLocal is returned by TokenAuth for a connection without TLS that leaves
// the machine, because an observer of the bytes could use them again.
var ErrNotLocal = errors.New("wire: a token needs TLS, a unix socket or loopback")

// Identity is the authenticated identity of a peer. VerifyTokens and VerifyKeys set it.
type Identity struct {
	Scheme string // "token", or "tls" for a public key
	Name   string // the token's id, or the name of the key
}

// String is both parts, for logs.
func (i Identity) String() string { return i.Scheme + ":" + i.Name }

// TokenHash returns the hash of a secret that a server keeps. The hash is as sensitive as the
// secret, because it is sufficient to authenticate. The secret must be random, not chosen by a
// person.
func TokenHash(secret []byte) [sha256.Size]byte { return sha256.Sum256(secret) }

// TokenAuth is a Config.Auth for a dialer: it proves that it knows the secret of a
// token, without sending it. Over TLS the proof holds for this one connection.
// Without TLS, on a unix socket or loopback only, the proof is always the same: it
// is a password, which root and the peer could read from the socket and use again.
func TokenAuth(id string, secret []byte) func(net.Conn) (*Auth, error) {
	key := TokenHash(secret)
	return func(nc net.Conn) (*Auth, error) {
		if len(secret) == 0 || id == "" || len(id) > maxTokenID || !utf8.ValidString(id) {
			return nil, fmt.Errorf("wire: token: want a secret, and an id of 1 to %d bytes", maxTokenID)
		}
		binding, err := tokenBinding(nc)
		if err != nil {
			return nil, err
		}
		return &Auth{Scheme: tokenScheme, Data: append(tokenMAC(key[:], binding, id), id...)}, nil
	}
}

// VerifyTokens is a Config.Verify for an acceptor. lookup returns the TokenHash of a token's
// secret. A peer that has proved to know the secret gets its id as Identity; all others are refused
// with UNAUTHENTICATED, by the same work whether the id is known or not. lookup should take the
// same time for both as well, and must not wait.
func VerifyTokens(lookup func(id string) (hash []byte, ok bool)) func(*Conn, *Hello) error {
	return func(c *Conn, h *Hello) error {
		id, err := verifyToken(c, h.Auth, lookup)
		if err != nil {
			return &Error{Code: Unauthenticated, Msg: err.Error()}
		}
		c.SetIdentity(Identity{tokenScheme, id})
		return nil
	}
}

var (
	errNoToken  = errors.New("no token")
	errBadToken = errors.New("unknown token, or a wrong proof")
	emptyHash   = TokenHash(nil)
)

func verifyToken(c *Conn, a *Auth, lookup func(string) ([]byte, bool)) (id string, err error) {
	if c.role != frame.Acceptor || a == nil || a.Scheme != tokenScheme {
		return "", errNoToken
	}
	n := len(a.Data) - sha256.Size
	if n < 1 || n > maxTokenID || !utf8.Valid(a.Data[sha256.Size:]) {
		return "", errBadToken
	}
	binding, err := tokenBinding(c.nc)
	if err != nil {
		return "", err
	}
	id = string(a.Data[sha256.Size:])
	hash, known := lookup(id)
	if known = known && len(hash) == sha256.Size && !hmac.Equal(hash, emptyHash[:]); !known {
		hash = emptyHash[:] // the same work as for a wrong proof
	}
	if right := hmac.Equal(tokenMAC(hash, binding, id), a.Data[:sha256.Size]); !right || !known {
		return "", errBadToken
	}
	return id, nil
}

// tokenMAC is HMAC-SHA-256 over the binding, which has a fixed length, and the id.
func tokenMAC(key, binding []byte, id string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(binding)
	h.Write([]byte(id))
	return h.Sum(make([]byte, 0, sha256.Size+maxTokenID))
}

// tokenBinding returns a value that only the two ends of this connection know.
func tokenBinding(nc net.Conn) ([]byte, error) {
	if state, ok := tlsState(nc); ok {
		if !state.HandshakeComplete {
			return nil, errors.New("wire: token: the TLS handshake is not done")
		}
		return state.ExportKeyingMaterial(tokenLabel, nil, len(tokenLocal))
	}
	if !isLocal(nc.LocalAddr()) || !isLocal(nc.RemoteAddr()) {
		return nil, ErrNotLocal
	}
	return []byte(tokenLocal), nil
}

// isLocal reports whether bytes to and from an address stay on this machine: that of a unix socket,
// of loopback, or of a connection in memory.
func isLocal(a net.Addr) bool {
	switch a := a.(type) {
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	case *net.UnixAddr:
		return true
	case nil:
		return false
	default:
		return a.Network() == "pipe"
	}
}

// VerifyKeys is a Config.Verify, of either side, that knows peers by PeerKey. name returns the name
// of a key's owner, which becomes the Identity.
func VerifyKeys(name func(sum [sha256.Size]byte) (string, bool)) func(*Conn, *Hello) error {
	return func(c *Conn, _ *Hello) error {
		if sum, ok := PeerKey(c); ok {
			if who, ok := name(sum); ok {
				c.SetIdentity(Identity{"tls", who})
				return nil
			}
		}
		return &Error{Code: Unauthenticated, Msg: "unknown public key"}
	}
}
