package server

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// session is a client that is connected, by one connection or several. Of an identity
// there is one.
type session struct {
	server   *Server
	identity string
	links    atomic.Pointer[[]*link] // stored under Server.mu
	small    int                     // head and body of a small exchange have at most so many bytes

	direct directCounts
	hinted hintStatus // of all its tunnels

	leases  map[uint16]*lease // guarded by Server.mu
	old     []*lease          // guarded by Server.mu; of the session before, not bound again yet
	changes []time.Time       // guarded by Server.mu; when other instances took over
}

const (
	// maxChanges within changeSpan is how often an identity may move between
	// instances: two machines with a copied key would throw each other out for ever.
	maxChanges = 3
	changeSpan = time.Minute
)

// session is that of a connection. A new one of the same life of the client is one more;
// any other replaces the session of its identity.
func (s *Server) session(conn *wire.Conn, r *message.BindRequest) (*session, error) {
	identity := s.identify(conn)
	s.mu.Lock()
	before := s.sessions[identity]
	if before != nil && before.has(conn) {
		s.mu.Unlock()
		return before, nil
	}
	if before != nil && before.admits(conn) {
		replaced, err := before.join(conn)
		if err == nil {
			s.watch(before, conn)
		}
		s.mu.Unlock()
		if replaced != nil {
			s.parted(replaced)
			replaced.Abort(wire.StaleEpoch)
		}
		return before, err
	}
	x := &session{server: s, identity: identity, small: r.SmallMax, leases: map[uint16]*lease{}}
	x.links.Store(newLinks(conn))
	if x.small == 0 {
		x.small = message.MaxSmall
	}
	err := s.enter(x, before)
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if before != nil {
		s.takeovers.Add(1)
		for _, l := range before.all() {
			l.Abort(wire.StaleEpoch)
		}
		s.disconnected(before)
	}
	if s.Hooks.Connected != nil {
		s.Hooks.Connected(x.describe())
	}
	return x, nil
}

// enter makes x the session of its identity. s.mu is held.
func (s *Server) enter(x, before *session) error {
	switch {
	case s.closed:
		return message.Refused(wire.Unavailable, "closing")
	case before == nil && len(s.sessions) >= s.limits.Sessions:
		e := message.Refused(wire.ResourceExhausted, "too many clients")
		e.RetryAfter = 5 * time.Second
		return e
	}
	if before != nil {
		now := time.Now()
		x.changes = slices.DeleteFunc(slices.Clone(before.changes), func(at time.Time) bool { return now.Sub(at) >= changeSpan })
		if before.lead().Err() == nil && !sameInstance(before.lead(), x.lead()) {
			if len(x.changes) >= maxChanges {
				return message.Refused(wire.AlreadyExists, "identity in use by another instance: each process needs an identity of its own")
			}
			x.changes = append(x.changes, now)
		}
		x.old = slices.AppendSeq(before.old, maps.Values(before.leases))
		before.leases, before.old = nil, nil
	}
	s.sessions[x.identity] = x
	s.watch(x, x.lead())
	return nil
}

// sameInstance reports whether two connections are of one process, or of one that was
// started again with its session.
func sameInstance(a, b *wire.Conn) bool {
	x, y := a.Peer(), b.Peer()
	return x != nil && y != nil && x.Session != nil && y.Session != nil && x.Session.ID == y.Session.ID
}

// watch waits for the end of a connection, or of the server.
func (s *Server) watch(x *session, conn *wire.Conn) {
	s.tasks.Go(func() {
		select {
		case <-conn.Done():
			s.lost(x, conn)
		case <-s.ctx.Done():
		}
	})
}

// lost takes a connection that has ended from its session, which ends with the last one;
// once is enough.
func (s *Server) lost(x *session, conn *wire.Conn) {
	s.mu.Lock()
	if s.sessions[x.identity] != x || !x.has(conn) {
		s.mu.Unlock()
		return
	}
	last := x.part(conn)
	if last {
		delete(s.sessions, x.identity)
		for _, c := range x.leases {
			s.rest(c)
		}
		for _, c := range x.old {
			s.rest(c)
		}
		x.leases, x.old = nil, nil
	}
	s.mu.Unlock()
	if last {
		s.disconnected(x)
	} else {
		s.parted(conn)
	}
}

// parted keeps the counts of a connection that is no session's any more.
func (s *Server) parted(conn *wire.Conn) {
	stats := conn.Stats()
	s.mu.Lock()
	s.past.add(&stats)
	s.mu.Unlock()
}

// disconnected calls the hook for a session that has left s.sessions.
func (s *Server) disconnected(x *session) {
	for _, l := range x.all() {
		s.parted(l.Conn)
	}
	if s.Hooks.Disconnected != nil {
		s.Hooks.Disconnected(x.describe())
	}
}

// settle starts the leases of leases that the previous session had and this one has not bound
// again.
func (s *Server) settle(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range x.old {
		if h := c.owner.Load(); h == nil || h.session != x {
			s.rest(c)
		}
	}
	x.old = nil
}

// rest lets the lease of a lease begin. s.mu is held.
func (s *Server) rest(c *lease) {
	c.owner.Store(nil)
	if c.expiry != nil || c.dropped {
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(s.limits.Lease, func() {
		s.mu.Lock()
		due := c.expiry == timer
		if due {
			s.drop(c)
		}
		s.mu.Unlock()
		if due {
			s.unbound([]*lease{c})
		}
	})
	c.expiry = timer
}

// drop ends a lease: with the last one the name is free, and its listener closes. Later calls do
// nothing. s.mu is held.
func (s *Server) drop(c *lease) {
	if c.dropped {
		return
	}
	c.dropped = true
	if c.expiry != nil {
		c.expiry.Stop()
		c.expiry = nil
	}
	c.owner.Store(nil)
	s.unshare(c)
	s.uncounted(c)
	if c.endpoint.remove(c) {
		s.shut(c.endpoint)
	}
}

// shut ends an endpoint without leases. s.mu is held.
func (s *Server) shut(p *endpoint) {
	if p.listener != nil {
		_ = p.listener.Close()
		if s.addresses[p.at.Address] == p {
			delete(s.addresses, p.at.Address)
		}
		delete(s.addresses, p.where)
	} else {
		s.table(p.at.Protocol).remove(p)
	}
	p.end()
}

// take gives a session the binding that it asks for, unless another client holds it.
func (s *Server) take(x *session, ask *message.BindAsk, b tunnel.Binding) (*lease, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.sessions[x.identity] != x {
		return nil, tunnel.ErrClosed
	}
	c, err := s.lease(x, ask, b)
	if err != nil {
		return nil, err
	}
	switch before := x.leases[ask.ID]; {
	case before == c:
	case before != nil:
		s.drop(before)
	case len(x.leases) >= message.MaxTunnels:
		if c.owner.Load() == nil && c.expiry == nil { // made just now
			s.drop(c)
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

// lease finds the lease that x may have, or makes it. s.mu is held.
func (s *Server) lease(x *session, ask *message.BindAsk, b tunnel.Binding) (*lease, error) {
	p, err := s.endpointFor(x.identity, ask, b)
	if err != nil {
		return nil, err
	}
	if p != nil {
		c := p.of(x.identity)
		if c == nil {
			return s.join(p, x.identity, b), nil
		}
		if h := c.owner.Load(); h != nil && h.session == x && h.id != ask.ID {
			return nil, fmt.Errorf("%w: your tunnel %d", tunnel.ErrNameHeld, h.id)
		}
		if c.at.Group == b.Group {
			return c, nil
		}
		s.drop(c) // it was alone there: others would not have shared with another group
	}
	if p, err = s.open(b); err != nil {
		return nil, err
	}
	return s.join(p, x.identity, b), nil
}

// open makes a new endpoint. s.mu is held.
func (s *Server) open(b tunnel.Binding) (*endpoint, error) {
	p := newEndpoint(b, s)
	if b.Protocol != tunnel.TCP {
		s.table(b.Protocol).add(p)
		return p, nil
	}
	l, err := listenTCP(b.Address)
	if err != nil {
		return nil, fmt.Errorf("tunnel: %w", err)
	}
	p.listener, p.where = l, l.Addr().String()
	s.addresses[p.where] = p
	s.tasks.Add(1)
	go s.acceptTCP(p)
	return p, nil
}

// join gives an identity its lease at an endpoint. s.mu is held.
func (s *Server) join(p *endpoint, identity string, b tunnel.Binding) *lease {
	c := &lease{endpoint: p, at: b, where: p.where, identity: identity}
	c.lane = s.lane(c)
	p.add(c)
	s.counted(c)
	return c
}

// endpoints are all that are held. s.mu is held.
func (s *Server) endpoints() iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		for _, p := range s.addresses {
			if !yield(p) {
				return
			}
		}
		for _, table := range []*routes{&s.routes, &s.names} {
			for p := range table.all() {
				if !yield(p) {
					return
				}
			}
		}
	}
}

// leases are those at all endpoints. s.mu is held.
func (s *Server) leases() iter.Seq[*lease] {
	return func(yield func(*lease) bool) {
		for p := range s.endpoints() {
			for _, c := range p.all() {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// table returns the routes of HTTP hosts, or of those of SNI.
func (s *Server) table(p tunnel.Protocol) *routes {
	if p == tunnel.SNI {
		return &s.names
	}
	return &s.routes
}

// sameAsked finds the endpoint that the identity was given for the same request before: one at port
// 0 keeps its port, of several each tunnel its own. s.mu is held.
func (s *Server) sameAsked(identity string, b tunnel.Binding, id uint16) *endpoint {
	for _, p := range s.addresses {
		c := p.of(identity)
		if c == nil || c.at != b || c.last != id && strings.HasSuffix(b.Address, ":0") {
			continue
		}
		if h := c.owner.Load(); h == nil || h.session != s.sessions[identity] || h.id == id {
			return p
		}
	}
	return nil
}
