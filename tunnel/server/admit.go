package server

import (
	"context"
	"errors"
	"fmt"

	"paddock/tunnel"
	"paddock/tunnel/internal/admission"
)

// guest is a visitor before a place.
type guest interface {
	// suits returns nil if the holder can serve the visitor.
	suits(h *holder) error
	// class is Stream for work that may last, otherwise Request: members are compared by it.
	class() Class
	// needs returns the size and class for which the holder's lane is asked.
	needs(h *holder) (class Class, size int)
}

// seat is the client that serves a visitor, with the permit for it.
type seat struct {
	claim  *claim
	holder *holder
	permit Permit
	took   Class // the class that the permit was requested for
}

// letIn finds the client that serves a visitor at a place, and takes a permit there: in a group the
// least loaded member. Members that are away, draining or refusing are skipped, and so are those in
// before. With patience it waits a moment for a client to come back. reasonOf maps the error to a
// reason.
func (s *Server) letIn(ctx context.Context, p *place, g guest, before []*claim, patience bool) (seat, error) {
	found, err := s.letInNow(ctx, p, g, before)
	if err != tunnel.ErrAway || !patience || p.served() {
		return found, err
	}
	if err := p.wait(ctx, &s.limits); err != nil {
		return seat{}, err
	}
	return s.letInNow(ctx, p, g, before)
}

// letInNow asks one member after another. The error is the best that one of them has said.
func (s *Server) letInNow(ctx context.Context, p *place, g guest, before []*claim) (seat, error) {
	why, c := tunnel.ErrAway, p.choose(g.class(), before)
	for first := true; ; first = false {
		m, h := c.next()
		if m == nil {
			return seat{}, why
		}
		found, err := s.ask(ctx, m, h, g)
		c.came()
		if err == nil {
			p.leeway.earn()
			return found, nil
		}
		if first || hopeOf(err) > hopeOf(why) {
			why = err
		}
		if ctx.Err() != nil || hasWaited(err) {
			return seat{}, why
		}
	}
}

// ask asks one member.
func (s *Server) ask(ctx context.Context, m *claim, h *holder, g guest) (found seat, err error) {
	if err := s.allowed(m.identity, m.at); err != nil {
		return found, denied(err)
	}
	if h == nil {
		return found, tunnel.ErrAway
	}
	if err := g.suits(h); err != nil {
		return found, err
	}
	if err := h.shed(); err != nil {
		return found, err
	}
	class, size := g.needs(h)
	permit, err := m.lane.Enter(ctx, class, size)
	return seat{m, h, permit, class}, err
}

// denied makes an error of a policy ErrDenied, whatever it wraps.
func denied(err error) error {
	if errors.Is(err, tunnel.ErrDenied) {
		return err
	}
	return fmt.Errorf("%w: %w", tunnel.ErrDenied, err)
}

// hasWaited reports whether a request has been in a queue for as long as it may: it is not for
// it to wait in the next one.
func hasWaited(err error) bool {
	why, ok := err.(noRoom)
	return ok && why.Reason == admission.QueueTime
}

// hope is the rank of a refusal: how much a visitor may still expect.
type hope uint8

// From the least to the most.
const (
	hopeNone  hope = iota // no client may serve the visitor
	hopeAway              // a client may come back
	hopeDown              // a service does not answer
	hopeLater             // there is no room at present
	hopeKnown             // the visitor has to authenticate
)

// hopeOf returns the rank of an error.
func hopeOf(err error) hope {
	switch {
	case errors.Is(err, tunnel.ErrDenied):
		return hopeNone
	case err == tunnel.ErrAway:
		return hopeAway
	case err == errHintDown:
		return hopeDown
	case err == errCredentials:
		return hopeKnown
	}
	return hopeLater
}
