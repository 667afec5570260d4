package server

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
)

// registry holds the connected clients, and the endpoints with their leases.
type registry struct {
	s      *Server
	routes routes
	names  routes // of SNI, whose paths are all ""

	mu        sync.Mutex // guards all below; never held while something is sent
	closed    bool
	sessions  map[string]*session        // by identity
	addresses map[string]*endpoint       // of TCP by the address that listens
	shares    map[string]*share          // by identity, with MaxInflight
	clients   map[string]*identityTotals // by identity, as long as it has leases
	past      LinkBytes                  // of sessions that have ended
	begun     AdmittedCounts             // of leases that are no more
}

func (reg *registry) init(s *Server) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	reg.s = s
	reg.sessions, reg.addresses = map[string]*session{}, map[string]*endpoint{}
	reg.shares, reg.clients = map[string]*share{}, map[string]*identityTotals{}
}

// settle starts the leases of leases that the previous session had and this one has not bound
// again.
func (reg *registry) settle(x *session) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	for _, c := range x.old {
		if h := c.owner.Load(); h == nil || h.session != x {
			reg.rest(c)
		}
	}
	x.old = nil
}

// rest lets the lease of a lease begin. reg.mu is held.
func (reg *registry) rest(c *lease) {
	c.owner.Store(nil)
	if c.expiry != nil || c.dropped {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(reg.s.limits.Lease, func() {
		reg.mu.Lock()
		due := c.expiry == timer
		if due {
			reg.drop(c)
		}
		reg.mu.Unlock()
		if due {
			reg.s.unbound([]*lease{c})
		}
	})
	c.expiry = timer
}

// drop ends a lease: with the last one the name is free, and its listener closes. Later calls do
// nothing. reg.mu is held.
func (reg *registry) drop(c *lease) {
	if c.dropped {
		return
	}
	c.dropped = true
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	c.owner.Store(nil)
	reg.unshare(c)
	reg.uncounted(c)
	if c.endpoint.remove(c) {
		reg.shut(c.endpoint)
	}
}

// shut ends an endpoint without leases. reg.mu is held.
func (reg *registry) shut(p *endpoint) {
	if p.listener != nil {
		_ = p.listener.Close()
		if reg.addresses[p.at.Address] == p {
			delete(reg.addresses, p.at.Address)
		}
		delete(reg.addresses, p.where)
	} else {
		reg.table(p.at.Protocol).remove(p)
	}
	p.end()
}

// take gives a session the binding that it asks for, unless another client holds it, or the client
// has given up: an unbind that came behind that has found nothing.
func (reg *registry) take(ctx context.Context, x *session, ask *message.BindAsk, b tunnel.Binding) (*lease, error) {
	reg.mu.Lock()
	defer reg.mu.Unlock()
	if reg.closed || reg.sessions[x.identity] != x {
		return nil, tunnel.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	c, err := reg.lease(x, ask, b)
	if err != nil {
		return nil, err
	}
	switch before := x.leases[ask.ID]; {
	case before == c:
	case before != nil:
		reg.drop(before)
	case len(x.leases) >= message.MaxTunnels:
		if c.owner.Load() == nil && c.expiry == nil { // made just now
			reg.drop(c)
		}
		return nil, fmt.Errorf("%w: %d tunnels", tunnel.ErrOverloaded, message.MaxTunnels)
	}
	x.leases[ask.ID] = c
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	c.last = ask.ID
	c.hold(&owner{session: x, id: ask.ID, auth: ask.Auth, direct: ask.Direct})
	return c, nil
}

// lease finds the lease that x may have, or makes it. reg.mu is held.
func (reg *registry) lease(x *session, ask *message.BindAsk, b tunnel.Binding) (*lease, error) {
	p, err := reg.endpointFor(x.identity, ask, b)
	if err != nil {
		return nil, err
	}
	if p != nil {
		c := p.of(x.identity)
		if c == nil {
			return reg.join(p, x.identity, b), nil
		}
		if h := c.owner.Load(); h != nil && h.session == x && h.id != ask.ID {
			return nil, fmt.Errorf("%w: your tunnel %d", tunnel.ErrNameHeld, h.id)
		}
		if c.at.Group == b.Group {
			return c, nil
		}
		reg.drop(c) // it was alone there: others would not have shared with another group
	}
	if p, err = reg.open(b); err != nil {
		return nil, err
	}
	return reg.join(p, x.identity, b), nil
}

// open makes a new endpoint. reg.mu is held.
func (reg *registry) open(b tunnel.Binding) (*endpoint, error) {
	p := newEndpoint(b, reg.s)
	if b.Protocol != tunnel.TCP {
		reg.table(b.Protocol).add(p)
		return p, nil
	}
	l, err := listenTCP(b.Address)
	if err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	p.listener, p.where = l, l.Addr().String()
	reg.addresses[p.where] = p
	reg.s.tasks.Add(1)
	go reg.s.acceptTCP(p)
	return p, nil
}

// join gives an identity its lease at an endpoint. reg.mu is held.
func (reg *registry) join(p *endpoint, identity string, b tunnel.Binding) *lease {
	c := &lease{endpoint: p, at: b, where: p.where, identity: identity}
	c.lane = reg.lane(c)
	p.add(c)
	reg.counted(c)
	return c
}

// endpoints are all that are held. reg.mu is held.
func (reg *registry) endpoints() iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		for _, p := range reg.addresses {
			if !yield(p) {
				return
			}
		}
		for _, table := range []*routes{&reg.routes, &reg.names} {
			for p := range table.all() {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// leases are those at all endpoints. reg.mu is held.
func (reg *registry) leases() iter.Seq[*lease] {
	return func(yield func(*lease) bool) {
		for p := range reg.endpoints() {
			for _, c := range p.all() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// table returns the routes of HTTP hosts, or of those of SNI.
func (reg *registry) table(p tunnel.Protocol) *routes {
	if p == tunnel.SNI {
		return &reg.names
	}
	return &reg.routes
}

// sameAsked finds the endpoint that the identity was given for the same request before: one at port
// 0 keeps its port, of several each tunnel its own. reg.mu is held.
func (reg *registry) sameAsked(identity string, b tunnel.Binding, id uint16) *endpoint {
	for _, p := range reg.addresses {
		c := p.of(identity)
		if c == nil || c.at != b || c.last != id && strings.HasSuffix(b.Address, ":0") {
			continue
		}
		if h := c.owner.Load(); h == nil || h.session != reg.sessions[identity] || h.id == id {
			return p
		}
	}
	return nil
}
