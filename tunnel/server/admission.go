package server

import (
	"context"
	"fmt"
	"sync/atomic"

	"paddock/tunnel"
	"paddock/tunnel/internal/admission"
)

// Admission bounds the work in progress. Without one a Server uses an admission.Gate with the
// bounds of its Limits.
type Admission interface {
	// Lane is called once for each tunnel that is bound, under the name that visitors
	// know. Its permits survive the client's connection.
	Lane(tunnel string) Lane
}

// Lane admits to one tunnel. Its methods are called by any number of goroutines.
type Lane interface {
	// Enter takes a permit, or waits for one until ctx ends, or fails at once; the error
	// is ErrOverloaded or wraps it. size is how many bytes the exchange holds at most
	// while it is under way, as far as that is known.
	Enter(ctx context.Context, class Class, size int) (Permit, error)
}

// Permit is for one exchange.
type Permit interface {
	// Promote turns the permit into one of a stream. It fails if there are too many streams, and
	// the permit remains as it was.
	Promote() error
	// Begin exchanges the permit of a Body that has arrived for that of a Request, as Enter returns
	// one. On an error it remains as it was.
	Begin(ctx context.Context) (Permit, error)
	// Answered reports the target's answer, once enough of it has arrived to measure its speed, or
	// it is known not to come; failed means that there was none, or that the target reports an
	// overload. It may be called after Release.
	Answered(failed bool)
	// Release is called once, by wire and under its lock: it does not wait.
	Release()
}

// Class separates short work from work that may last for hours: idle WebSockets, and visitors that
// are slow to send a body, must not use up the capacity for requests.
type Class uint8

// The classes.
const (
	Request Class = iota
	Stream
	// Body is for a request whose body is still to come. It is bounded as streams are. Once the
	// body is here, the permit is exchanged for one of a Request, or is promoted.
	Body
)

// gate is the Admission of the zero Server.
type gate struct{ *admission.Gate }

// gateLane is a Lane of gate.
type gateLane struct{ *admission.Lane }

// gatePermit is a Permit of gate.
type gatePermit struct{ *admission.Permit }

func newGate(l *tunnel.Limits) gate {
	return gate{admission.New(admission.Limits{
		Requests: l.Requests, LaneRequests: l.TunnelRequests, Streams: l.Streams, LaneStreams: l.TunnelStreams,
		Bytes: l.Bytes, LaneQueue: l.Queue,
	})}
}

func (g gate) Lane(string) Lane { return gateLane{g.Gate.Lane()} }

func (l gateLane) Enter(ctx context.Context, class Class, size int) (Permit, error) {
	var p *admission.Permit
	var err error
	switch class {
	case Stream:
		p, err = l.Stream(int64(size))
	case Body:
		p, err = l.Body(int64(size))
	default:
		p, err = l.Request(ctx, int64(size))
	}
	if err != nil {
		return nil, overloaded(err)
	}
	return gatePermit{p}, nil
}

func (p gatePermit) Promote() error { return overloaded(p.Permit.Promote()) }

func (p gatePermit) Begin(ctx context.Context) (Permit, error) {
	request, err := p.Permit.Begin(ctx)
	if err != nil {
		return nil, overloaded(err)
	}
	return gatePermit{request}, nil
}

// gateRefusal is ErrOverloaded for a reason of the gate's. There are many of them when there is
// little time, so nothing is made for each.
type gateRefusal struct{ *admission.Refusal }

func (e gateRefusal) Error() string { return tunnel.ErrOverloaded.Error() + ": " + e.Reason.String() }

func (gateRefusal) Unwrap() error { return tunnel.ErrOverloaded }

// overloaded makes a refusal ErrOverloaded; other errors are those of a context.
func overloaded(err error) error {
	if refusal, ok := err.(*admission.Refusal); ok {
		return gateRefusal{refusal}
	}
	return err
}

// share counts the current work of one identity over all of its tunnels, if the server bounds it.
type share struct {
	leases int          // guarded by registry.mu; of the identity, not dropped
	used   atomic.Int64 // permits that are out
}

// lane is where visitors of a lease, one member's, take their permits. mu is held.
func (reg *registry) lane(c *lease) Lane {
	lane := reg.s.admission.Lane(c.where)
	if reg.s.MaxInflight == nil {
		return lane
	}
	of := reg.shares[c.identity]
	if of == nil {
		of = &share{}
		reg.shares[c.identity] = of
	}
	of.leases++
	return &sharedLane{Lane: lane, share: of, most: func() int { return reg.s.MaxInflight(c.identity) }}
}

// unshare undoes lane. reg.mu is held.
func (reg *registry) unshare(c *lease) {
	if l, ok := c.lane.(*sharedLane); ok {
		if l.share.leases--; l.share.leases == 0 {
			delete(reg.shares, c.identity)
		}
	}
}

// sharedLane admits work to one tunnel within the bound of its identity.
type sharedLane struct {
	Lane
	share *share
	most  func() int // 0: no bound
}

// Enter implements Lane. Work beyond the share is refused at once: a waiting request would take the
// place of another whose tunnel has capacity.
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
