package server

import (
	"context"
	"fmt"
	"paddock/tunnel"
	"sync/atomic"
)

// share is what one identity has under way, of all its tunnels, where the server bounds
// that.
type share struct {
	claims int          // guarded by Server.mu; of the identity, not dropped
	used   atomic.Int64 // permits that are out
}

// lane is where visitors of a claim, one member's, take their permits. s.mu is held.
func (s *Server) lane(c *claim) Lane {
	lane := s.admission.Lane(c.where)
	if s.MaxInflight == nil {
		return lane
	}
	of := s.shares[c.identity]
	if of == nil {
		of = &share{}
		s.shares[c.identity] = of
	}
	of.claims++
	return &sharedLane{Lane: lane, share: of, most: func() int { return s.MaxInflight(c.identity) }}
}

// unshare ends what lane has begun. s.mu is held.
func (s *Server) unshare(c *claim) {
	if l, ok := c.lane.(*sharedLane); ok {
		if l.share.claims--; l.share.claims == 0 {
			delete(s.shares, c.identity)
		}
	}
}

// sharedLane admits to one tunnel what its identity may have under way in all.
type sharedLane struct {
	Lane
	share *share
	most  func() int // 0: no bound
}

// Enter implements Lane. What is over the share is refused at once: to wait would take
// the places of those whose tunnel has room.
func (l *sharedLane) Enter(ctx context.Context, class Class, size int) (Permit, error) {
	if n := l.share.used.Add(1); l.most() > 0 && n > int64(l.most()) {
		l.share.used.Add(-1)
		return nil, fmt.Errorf("%w: of all tunnels of the client", tunnel.ErrOverloaded)
	}
	p, err := l.Lane.Enter(ctx, class, size)
	if err != nil {
		l.share.used.Add(-1)
		return nil, err
	}
	return &sharedPermit{p, l.share}, nil
}

// sharedPermit gives its part of the share back.
type sharedPermit struct {
	Permit
	share *share
}

// Begin leaves its part of the share with the request.
func (p *sharedPermit) Begin(ctx context.Context) (Permit, error) {
	request, err := p.Permit.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &sharedPermit{request, p.share}, nil
}

func (p *sharedPermit) Release() {
	p.share.used.Add(-1)
	p.Permit.Release()
}
