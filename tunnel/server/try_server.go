package server

import (
	"context"
	"errors"
	"fmt"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

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

// tryOne says where a tunnel would be bound, or why not.
func (s *Server) tryOne(identity string, ask *message.BindAsk) (where string, code wire.Code, err error) {
	b, err := ask.Binding()
	if err != nil {
		return "", wire.InvalidArgument, err
	}
	if b.Protocol != tunnel.HTTP || b.Host != "" {
		return s.mayBind(identity, ask, b)
	}
	namer, ok := s.Policy.(tunnel.Namer)
	if !ok {
		return "", wire.PermissionDenied, errNoNames
	}
	for try := range maxNames {
		if b.Host, err = chosenName(namer, identity, ask.ID, try); err != nil {
			return "", wire.PermissionDenied, err
		}
		if where, code, err = s.mayBind(identity, ask, b); !errors.Is(err, tunnel.ErrNameHeld) {
			break
		}
	}
	return where, code, err
}

// mayBind says whether an identity would get a binding.
func (s *Server) mayBind(identity string, ask *message.BindAsk, b tunnel.Binding) (where string, code wire.Code, err error) {
	if err := s.allowed(identity, b); err != nil {
		return "", wire.PermissionDenied, err
	}
	s.mu.Lock()
	p, err := s.placeFor(identity, ask, b)
	s.mu.Unlock()
	switch {
	case err != nil:
		return "", codeOf(err), err
	case b.Protocol != tunnel.TCP || p != nil:
		return b.String(), 0, nil
	}
	l, err := listen(b.Address)
	if err != nil {
		return "", wire.Unavailable, fmt.Errorf("tunnel: %w", err)
	}
	_ = l.Close()
	return b.String(), 0, nil
}
