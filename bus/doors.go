package bus

import (
	"crypto/tls"
	"time"
)

// TLS makes network connections secure, after INFO as the protocol has it.
type TLS struct {
	// Config holds the certificate, and ClientAuth with ClientCAs to ask for
	// those of clients.
	Config  *tls.Config
	Timeout time.Duration // of the handshake; 0 = 2 s
	// AllowNonTLS takes clients without TLS on the same port.
	AllowNonTLS bool
	// HandshakeFirst expects the handshake before INFO. With Fallback, a client
	// that has sent nothing by then gets INFO first, as usual.
	HandshakeFirst bool
	Fallback       time.Duration
	// PinnedCerts lists the SHA-256, in hex, of the public keys (SPKI, DER) that
	// clients may have; empty = any.
	PinnedCerts []string
	// MapUsers takes the user from the client's certificate: an e-mail, DNS or URI
	// name, or the subject's distinguished name, that is a User.Name.
	MapUsers bool
	// Rate bounds the handshakes begun per second; 0 = no limit.
	Rate int
}

// WebSocket is a second door for clients that are web pages.
type WebSocket struct {
	Host string      // "" = Config.Host
	Port int         // -1 = any free port
	TLS  *tls.Config // nil = plain
	// SameOrigin refuses pages of another host; AllowedOrigins lists others to
	// take. Neither set = all are taken.
	SameOrigin       bool
	AllowedOrigins   []string
	Compression      bool          // permessage-deflate (RFC 7692) for clients that offer it
	HandshakeTimeout time.Duration // 0 = 2 s
}
