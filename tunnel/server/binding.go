package server

import (
	"context"
	"errors"
	"fmt"

	"paddock/internal/netio/hostname"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// A group consists of clients that share a name, each of them allowed to have it, and to be in the
// group. A client joins by the group's name; its protocol, and whether visitors need a password,
// must match those of the members.

// endpointFor returns the endpoint where an identity may have its binding, nil if the name is free.
// The error wraps ErrNameHeld, or ErrOverloaded. mu is held.
func (reg *registry) endpointFor(identity string, ask *message.BindAsk, b tunnel.Binding) (p *endpoint, err error) {
	if b.Protocol == tunnel.TCP {
		if p = reg.at(identity, b, ask.ID); p != nil {
			err = p.admits(identity, b)
		}
	} else {
		for _, table := range []*routes{&reg.routes, &reg.names} { // one client, or group, has a host for HTTP and SNI
			for _, other := range table.of(b.Host) {
				if err = other.admits(identity, b); err != nil {
					return nil, err
				}
			}
		}
		p = reg.table(b.Protocol).exactly(b.Host, b.Path)
	}
	if err != nil || p == nil {
		return nil, err
	}
	return p, p.admitsOneMore(identity, ask)
}

// at is the endpoint of an address. reg.mu is held.
func (reg *registry) at(identity string, b tunnel.Binding, id uint16) *endpoint {
	if p := reg.addresses[b.Address]; p != nil {
		return p
	}
	if b.Group != "" {
		for _, p := range reg.addresses {
			if p.at.Address == b.Address { // the same text, such as localhost
				return p
			}
		}
	}
	return reg.sameAsked(identity, b, id)
}

// admits reports whether an identity may have b, which has the same host or address as the
// endpoint: if others hold it, only as a member of their group. registry.mu is held.
func (p *endpoint) admits(identity string, b tunnel.Binding) error {
	for _, c := range p.all() {
		switch {
		case c.identity == identity:
		case c.at.Group == "" && b.Group == "":
			return tunnel.ErrNameHeld
		case c.at.Group == "":
			return fmt.Errorf("%w: it is shared with no group", tunnel.ErrNameHeld)
		case b.Group == "":
			return fmt.Errorf("%w, or several: it is shared by a group", tunnel.ErrNameHeld)
		case c.at.Group != b.Group:
			return fmt.Errorf("%w, of another group", tunnel.ErrNameHeld)
		case c.at.Protocol != b.Protocol:
			return fmt.Errorf("%w, whose group has it for %s", tunnel.ErrNameHeld, c.at.Protocol)
		}
	}
	return nil
}

// admitsOneMore reports whether an identity may join the members of the endpoint. All members must
// require the same of visitors: otherwise one would be a way around it. registry.mu is held.
func (p *endpoint) admitsOneMore(identity string, ask *message.BindAsk) error {
	all := p.all()
	for _, c := range all {
		h := c.owner.Load()
		if c.identity == identity || h == nil || (h.auth == nil) == (ask.Auth == nil) {
			continue
		}
		if h.auth != nil {
			return fmt.Errorf("%w: the others of the group ask visitors for a user and password", tunnel.ErrNameHeld)
		}
		return fmt.Errorf("%w: the others of the group ask visitors for no user and password", tunnel.ErrNameHeld)
	}
	if len(all) >= maxMembers && p.of(identity) == nil {
		return fmt.Errorf("%w: the group has %d members", tunnel.ErrOverloaded, len(all))
	}
	return nil
}

// maxNames is how many names are tried for one tunnel.
const maxNames = 8

// errNoNames is the refusal of a client that has asked for no host.
var errNoNames = fmt.Errorf("%w: this server chooses no names: ask for a host", tunnel.ErrDenied)

// anyName sets the host of b to each of the policy's names in turn, for a tunnel without a host,
// and calls attempt, until the error is not that the name is held.
func (s *Server) anyName(identity string, id uint16, b *tunnel.Binding, attempt func() (wire.Code, error)) (wire.Code, error) {
	if b.Protocol != tunnel.HTTP || b.Host != "" {
		return attempt()
	}
	namer, ok := s.Policy.(tunnel.Namer)
	if !ok {
		return wire.PermissionDenied, errNoNames
	}
	for try := range maxNames {
		var err error
		if b.Host, err = namer.Name(identity, id, try); err == nil {
			b.Host, err = hostname.Normalise(b.Host)
		}
		if err != nil {
			return wire.PermissionDenied, err
		}
		if code, err := attempt(); !errors.Is(err, tunnel.ErrNameHeld) {
			return code, err
		}
	}
	return wire.AlreadyExists, tunnel.ErrNameHeld
}

// try serves tunnel.try.
func (s *Server) try(ctx context.Context, r message.BindRequest) (a message.BindAnswer, err error) {
	if err := r.Check(); err != nil {
		return a, err
	}
	identity := s.identify(wire.ConnFrom(ctx))
	for i := range r.Tunnels {
		ask := &r.Tunnels[i]
		where, code, err := s.tryOne(identity, ask)
		if err != nil {
			a.Results = append(a.Results, message.BindResult{ID: ask.ID, Code: code, Reason: err.Error()})
			continue
		}
		a.Results = append(a.Results, message.BindResult{ID: ask.ID, Where: where, Direct: ask.Direct && s.directs.open.Load()})
	}
	a.Groups = true
	return a, nil
}

// tryOne returns the address where a tunnel would be bound, or the refusal.
func (s *Server) tryOne(identity string, ask *message.BindAsk) (where string, code wire.Code, err error) {
	b, err := ask.Binding()
	if err != nil {
		return "", wire.InvalidArgument, err
	}
	code, err = s.anyName(identity, ask.ID, &b, func() (code wire.Code, err error) {
		where, code, err = s.mayBind(identity, ask, b)
		return code, err
	})
	return where, code, err
}

// mayBind reports whether the policy and other clients permit a binding. It does not look at the
// client's own other tunnels.
func (s *Server) mayBind(identity string, ask *message.BindAsk, b tunnel.Binding) (where string, code wire.Code, err error) {
	if err := s.allowed(identity, b); err != nil {
		return "", wire.PermissionDenied, err
	}
	s.registry.mu.Lock()
	p, err := s.registry.endpointFor(identity, ask, b)
	s.registry.mu.Unlock()
	switch {
	case err != nil:
		return "", codeOf(err), err
	case b.Protocol != tunnel.TCP || p != nil:
		return b.String(), 0, nil
	}
	l, err := listenTCP(b.Address)
	if err != nil {
		return "", wire.Unavailable, fmt.Errorf("tunnel: %w", err)
	}
	_ = l.Close()
	return b.String(), 0, nil
}
