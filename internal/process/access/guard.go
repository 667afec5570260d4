package access

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"paddock/internal/netio/handshake"
)

// Guard requires a token. After repeated wrong tokens from one address it refuses that address for
// a second, doubling up to a minute: see [handshake.PenaltyBox]. Loopback addresses are exempt, and
// so are connections that have sent the right token before, because a proxy and honest clients may
// share an address.
type Guard struct {
	token  Token
	pauses handshake.PenaltyBox
	paused atomic.Uint64
}

// NewGuard returns a Guard for the token text. The empty text requires nothing.
func NewGuard(token string) *Guard { return &Guard{token: NewToken(token)} }

// Required reports whether requests must carry the token.
func (g *Guard) Required() bool { return g.token.Required() }

// Paused returns the number of requests that were refused because their address was paused.
func (g *Guard) Paused() uint64 { return g.paused.Load() }

// A Verdict is the decision about a request.
type Verdict uint8

// The verdicts.
const (
	Admitted Verdict = iota
	Refused          // no token, or a wrong one: 401
	Paused           // too many wrong tokens from its address: 429
)

// Admits reports whether the first request of a connection is admitted. If it is not, the caller
// passes the request to Judge, which returns the reason and counts the failure.
func (g *Guard) Admits(peer net.Addr, authorization string) bool {
	return !g.token.Required() || g.Passes(peer, g.token.Admits(authorization))
}

// Passes is Admits for credentials that the caller has compared.
func (g *Guard) Passes(peer net.Addr, right bool) bool {
	if !right || g.pauses.Paused(peer) {
		return false
	}
	g.pauses.Forgive(peer)
	return true
}

// Judge returns the verdict on a request. The server of the request must use ConnContext.
func (g *Guard) Judge(r *http.Request) Verdict {
	if !g.token.Required() {
		return Admitted
	}
	return g.Decide(r, r.Header.Get("Authorization") != "", g.token.Allows(r))
}

// Decide is Judge for credentials that the caller has compared: whether the request has any, and
// whether they are right.
func (g *Guard) Decide(r *http.Request, given, right bool) Verdict {
	peer := tcpAddr(r.RemoteAddr)
	known, _ := r.Context().Value(knownKey{}).(*atomic.Bool)
	switch {
	case peer == nil || known != nil && known.Load():
	case g.pauses.Paused(peer):
		g.paused.Add(1)
		return Paused
	case right:
		g.pauses.Forgive(peer)
		if known != nil {
			known.Store(true)
		}
	case given:
		g.pauses.FailedElsewhere(peer)
	}
	if right {
		return Admitted
	}
	return Refused
}

// tcpAddr parses the remote address of a request. It returns nil if there is none.
func tcpAddr(remote string) net.Addr {
	address, err := netip.ParseAddrPort(remote)
	if err != nil {
		return nil
	}
	return net.TCPAddrFromAddrPort(address)
}

// knownKey is the context key of a flag: the connection has sent the right token.
type knownKey struct{}

// ConnContext is a value for http.Server.ConnContext. With it a Guard remembers connections that
// have sent the right token, also to package plainhttp, whose connections have a method Known.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	known := new(atomic.Bool)
	if before, ok := c.(interface{ Known() bool }); ok {
		known.Store(before.Known())
	}
	return context.WithValue(ctx, knownKey{}, known)
}

// Wait is the Retry-After value, in seconds, for a paused client: the shortest pause.
const Wait = "1"
