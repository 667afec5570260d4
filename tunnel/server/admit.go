package server

import (
	"context"
	"errors"
	"fmt"

	"paddock/tunnel"
	"paddock/tunnel/internal/admission"
)

// admissionRequest is a visitor before an endpoint.
type admissionRequest interface {
	// suits returns nil if the owner can serve the visitor.
	suits(h *owner) error
	// class is Stream for work that may last, otherwise Request: members are compared by it.
	class() Class
	// needs returns the size and class for which the owner's lane is asked.
	needs(h *owner) (class Class, size int)
}

// assignment is the client that serves a visitor, with the permit for it.
type assignment struct {
	lease  *lease
	owner  *owner
	permit Permit
	took   Class // the class that the permit was requested for
}

// admit finds the client that serves a visitor at an endpoint, and takes a permit there: in a group
// the least loaded member. Members that are away, draining or refusing are skipped, and so are
// those in before. With patience it waits a moment for a client to come back. reasonOf maps the
// error to a reason.
func (s *Server) admit(ctx context.Context, p *endpoint, g admissionRequest, before []*lease, patience bool) (assignment, error) {
	found, err := s.admitNow(ctx, p, g, before)
	if err != tunnel.ErrAway || !patience || p.served() {
		return found, err
	}
	if err := p.wait(ctx, &s.limits); err != nil {
		return assignment{}, err
	}
	return s.admitNow(ctx, p, g, before)
}

// admitNow asks one member after another. The error is the highest ranked of theirs.
func (s *Server) admitNow(ctx context.Context, p *endpoint, g admissionRequest, before []*lease) (assignment, error) {
	why, c := tunnel.ErrAway, p.choose(g.class(), before)
	for first := true; ; first = false {
		m, h := c.next()
		if m == nil {
			return assignment{}, why
		}
		found, err := s.askMember(ctx, m, h, g)
		c.came()
		if err == nil {
			p.retries.earn()
			return found, nil
		}
		if first || rankOf(err) > rankOf(why) {
			why = err
		}
		if ctx.Err() != nil || hasWaited(err) {
			return assignment{}, why
		}
	}
}

// ask asks one member.
func (s *Server) askMember(ctx context.Context, m *lease, h *owner, g admissionRequest) (found assignment, err error) {
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
	return assignment{m, h, permit, class}, err
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
	why, ok := err.(gateRefusal)
	return ok && why.Reason == admission.QueueTime
}

// refusalRank is the rank of a refusal: how much a visitor may still expect.
type refusalRank uint8

// From the least to the most.
const (
	rankNone        refusalRank = iota // no client may serve the visitor
	rankAway                           // a client may come back
	rankDown                           // a service does not answer
	rankLater                          // there is no room at present
	rankCredentials                    // the visitor has to authenticate
)

// rankOf returns the rank of an error.
func rankOf(err error) refusalRank {
	switch {
	case errors.Is(err, tunnel.ErrDenied):
		return rankNone
	case err == tunnel.ErrAway:
		return rankAway
	case err == errHintDown:
		return rankDown
	case err == errCredentials:
		return rankCredentials
	}
	return rankLater
}
