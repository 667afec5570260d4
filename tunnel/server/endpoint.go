package server

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
)

// endpoint is an entrance for visitors: a host with a path, or an address. One client holds it, or
// the members of a group share it. It outlives their connections by the lease, together with its
// listener and its waiting visitors.
type endpoint struct {
	at       tunnel.Binding // as it was asked for; with port 0 the key has no meaning to others
	plain    string         // h1.Plain of its path
	where    string         // as visitors know it
	listener net.Listener
	refused  atomic.Uint64 // visitors that asked for it
	members  atomic.Pointer[[]*lease]
	retries  retryBudget

	choosing sync.Mutex // makes a choice among members and its effects one step
	turn     uint64     // guarded by choosing; counts choices

	mu      sync.Mutex
	back    chan struct{} // guarded by mu; closed when a client serves again, or none ever will
	waiting int           // guarded by mu
	gone    bool          // guarded by mu
}

// newPlace has no members yet.
func newEndpoint(at tunnel.Binding, s *Server) *endpoint {
	p := &endpoint{at: at, plain: h1.Plain(at.Path), where: at.String()}
	if p.plain == "/" || strings.Contains(at.Path, ";") { // it would stand for paths of others
		p.plain = at.Path
	}
	p.members.Store(&[]*lease{})
	p.retries.init(s.limits.TunnelRequests + s.limits.TunnelStreams)
	return p
}

// all are the leases at the endpoint. The list is not changed once it is there.
func (p *endpoint) all() []*lease { return *p.members.Load() }

// grouped reports whether there may be several.
func (p *endpoint) grouped() bool { return p.at.Group != "" }

// of is the lease of an identity, nil if it has none.
func (p *endpoint) of(identity string) *lease {
	for _, c := range p.all() {
		if c.identity == identity {
			return c
		}
	}
	return nil
}

// add makes a lease one of the endpoint. registry.mu is held.
func (p *endpoint) add(c *lease) {
	all := append(slices.Clone(p.all()), c)
	p.members.Store(&all)
}

// remove takes a lease out, and reports whether that was the last. registry.mu is held.
func (p *endpoint) remove(c *lease) (last bool) {
	all := slices.DeleteFunc(slices.Clone(p.all()), func(o *lease) bool { return o == c })
	p.members.Store(&all)
	return len(all) == 0
}

// served reports whether a client is connected that can serve it.
func (p *endpoint) served() bool { return p.here() > 0 }

// here returns how many clients are connected.
func (p *endpoint) here() (n int) {
	for _, c := range p.all() {
		if c.owner.Load() != nil {
			n++
		}
	}
	return n
}

// sole is the identity that has the endpoint, "" if several do.
func (p *endpoint) sole() string {
	if all := p.all(); len(all) == 1 {
		return all[0].identity
	}
	return ""
}

// sameClients reports whether the same clients have both endpoints.
func (p *endpoint) sameClients(o *endpoint) bool {
	if p == o {
		return true
	}
	mine, its := p.all(), o.all()
	return len(mine) == len(its) && !slices.ContainsFunc(mine, func(c *lease) bool { return o.of(c.identity) == nil })
}

// release wakes the waiting visitors.
func (p *endpoint) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.back != nil {
		close(p.back)
		p.back = nil
	}
}

// waitingNow returns the number of waiting visitors.
func (p *endpoint) waitingNow() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.waiting
}

// end wakes the waiting visitors, since no client will come.
func (p *endpoint) end() {
	p.mu.Lock()
	p.gone = true
	p.mu.Unlock()
	p.release()
}

// wait returns when a client is connected; for a moment it waits for one to come back. The error is
// ErrAway or that of ctx.
func (p *endpoint) wait(ctx context.Context, l *tunnel.Limits) error {
	p.mu.Lock()
	if p.gone || p.waiting >= l.Waiting {
		p.mu.Unlock()
		return tunnel.ErrAway
	}
	if p.back == nil {
		p.back = make(chan struct{})
	}
	back := p.back
	p.waiting++
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		p.waiting--
		p.mu.Unlock()
	}()
	if p.served() { // it came back before this visitor was registered
		return nil
	}
	select {
	case <-back:
	case <-time.After(l.Return):
	case <-ctx.Done():
		return ctx.Err()
	}
	if p.served() {
		return nil
	}
	return tunnel.ErrAway
}

// lease is the share of one identity in an endpoint. It outlives the identity's connection by the
// lease, and keeps the permits in use.
type lease struct {
	endpoint *endpoint
	at       tunnel.Binding
	where    string // of the endpoint
	identity string
	lane     Lane
	owner    atomic.Pointer[owner]
	chosen   uint64       // guarded by endpoint.choosing; endpoint.turn when it was chosen last
	coming   atomic.Int64 // visitors that it was chosen for, and that are not admitted yet
	expiry   *time.Timer  // guarded by registry.mu; nil while a connection holds it
	dropped  bool         // guarded by registry.mu; it is no lease any more
	last     uint16       // guarded by registry.mu; the tunnel of its identity that had it last
}

// owner is the session that serves a lease at present.
type owner struct {
	session *session
	id      uint16
	auth    *message.BasicAuth
	direct  bool // visitors are carried by channels of their own
	hint    hintStatus
}

// hold gives the lease to a session.
func (c *lease) hold(h *owner) {
	c.owner.Store(h)
	c.endpoint.release()
}
