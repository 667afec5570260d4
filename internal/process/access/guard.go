package access

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"

	"paddock/internal/netio/handshake"
)

// Guard asks for a token. An address from which wrong ones come again and again is not listened
// to for a second, then up to a minute: see [handshake.Pauses]. This machine never is such an
// address, nor is a connection that has brought the token before: behind an address there may be
// a proxy and those who know the token.
type Guard struct {
	token  Token
	pauses handshake.Pauses
	paused atomic.Uint64
}

// NewGuard returns one that asks for this text; an empty one asks for nothing.
func NewGuard(token string) *Guard { return &Guard{token: NewToken(token)} }

// Required reports whether clients must bring anything.
func (g *Guard) Required() bool { return g.token.Required() }

// Paused counts the requests that were refused since their address was not listened to.
func (g *Guard) Paused() uint64 { return g.paused.Load() }

// A Verdict is what becomes of a request.
type Verdict uint8

// The verdicts.
const (
	Admitted Verdict = iota
	Refused          // it brings no token, or a wrong one: 401
	Paused           // its address is not listened to at present: 429
)

// Admits reports whether a connection's first request is admitted. Where it is not, Judge says
// why, and remembers it.
func (g *Guard) Admits(peer net.Addr, authorization string) bool {
	if !g.token.Required() {
		return true
	}
	if !g.token.Admits(authorization) || g.pauses.Now(peer) {
		return false
	}
	g.pauses.Forgive(peer)
	return true
}

// Judge judges a request over net/http, whose server has ConnContext.
func (g *Guard) Judge(r *http.Request) Verdict {
	if !g.token.Required() {
		return Admitted
	}
	peer := tcpAddr(r.RemoteAddr)
	known, _ := r.Context().Value(knownKey{}).(*atomic.Bool)
	right := g.token.Allows(r)
	switch {
	case peer == nil || known != nil && known.Load():
	case g.pauses.Now(peer):
		g.paused.Add(1)
		return Paused
	case right:
		g.pauses.Forgive(peer)
		if known != nil {
			known.Store(true)
		}
	case r.Header.Get("Authorization") != "":
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

// knownKey is that of a connection's note that it has brought the token.
type knownKey struct{}

// ConnContext is for http.Server.ConnContext: it lets a Guard know connections again.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, knownKey{}, new(atomic.Bool))
}

// Wait is what a paused client is told in Retry-After: the shortest pause, in seconds.
const Wait = "1"
