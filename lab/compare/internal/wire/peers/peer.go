// Package peers puts every contender of the comparison behind the same three
// operations: a request with an answer, a one-way message, and a bulk stream.
//
// A [Peer] is a way to serve messages and a way to reach that server. The server runs in a process
// of its own; it counts its input in a [Sink], so that the measuring side can ask how much has
// really arrived. A peer without an operation returns an error that wraps [errors.ErrUnsupported].
//
// Each adapter uses the settings that its project recommends for speed, and says
// which. One rule holds for all of them: a message goes out by itself. No adapter
// may keep one back until a later one fills a buffer.
package peers

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
)

// Size of the small and the bulk messages of every comparison, in bytes.
const (
	SmallSize = 64
	BulkSize  = 64 << 10
)

// Peer is one contender.
type Peer struct {
	Name  string
	About string // version and settings, one line

	// Serve takes connections from svc.Listener in the background, until stop is
	// called. stop returns once nothing of it runs any more.
	Serve func(svc *Service) (stop func() error, err error)

	// Dial opens the one connection over which a measurement runs.
	Dial func(ctx context.Context, t Target) (Session, error)
}

// Service is the input of a server, and the place for its counts.
type Service struct {
	Listener net.Listener // plain TCP on loopback; a peer that listens itself closes it
	TLS      *tls.Config  // nil without TLS
	Sink     *Sink
	Addr     string // where to dial; set already, unless the peer listens itself
}

// Target is where and how to reach a server.
type Target struct {
	Addr string
	TLS  *tls.Config // nil without TLS
}

// Session is one connection of a client. Many goroutines may call its methods; the results belong
// to one goroutine, unless their documentation says more. A peer without an operation returns an
// error that wraps errors.ErrUnsupported.
type Session interface {
	// Requester returns one caller of the connection.
	Requester(ctx context.Context) (Requester, error)
	// Poster returns a sender of messages of SmallSize bytes.
	Poster(ctx context.Context) (Sender, error)
	// Bulk returns a sender of writes of BulkSize bytes on one stream.
	Bulk(ctx context.Context) (Sender, error)
	Close() error
}

// Requester sends one request at a time.
type Requester interface {
	// Request returns the answer, which is valid until the next call.
	Request(ctx context.Context, body []byte) ([]byte, error)
}

// Sender sends one way. Sent is not received: the server's Sink counts that.
type Sender interface {
	// Send returns when body may be used again.
	Send(ctx context.Context, body []byte) error
}

// All returns the contenders, ours first.
func All() []Peer {
	return []Peer{Wire, Raw, GRPC}
}

// Find returns the contender of that name.
func Find(name string) (Peer, error) {
	all := All()
	if i := slices.IndexFunc(all, func(p Peer) bool { return p.Name == name }); i >= 0 {
		return all[i], nil
	}
	names := make([]string, len(all))
	for i, p := range all {
		names[i] = p.Name
	}
	return Peer{}, fmt.Errorf("no peer %q: there are %s", name, strings.Join(names, ", "))
}

// unsupported says that a peer has no such operation, and why.
func unsupported(why string) error { return fmt.Errorf("%s: %w", why, errors.ErrUnsupported) }

// dial opens the connection that a target asks for, TLS included.
func dial(ctx context.Context, t Target) (net.Conn, error) {
	if t.TLS != nil {
		return (&tls.Dialer{Config: t.TLS}).DialContext(ctx, "tcp", t.Addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", t.Addr)
}

// listener returns the service's listener, TLS included.
func (svc *Service) listener() net.Listener {
	if svc.TLS == nil {
		return svc.Listener
	}
	return tls.NewListener(svc.Listener, svc.TLS)
}
