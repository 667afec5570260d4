package tunnel

import (
	"context"
	"sync/atomic"
)

// Admission bounds what is under way. The zero Server counts; another one may watch
// response times, or bytes.
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

// Permit is for one exchange. Release is called once, by wire and under its lock: it
// does not wait.
type Permit interface {
	// Promote makes it one of a stream. It fails where there are too many, and
	// remains what it was.
	Promote() error
	Release()
}

// Class tells short work from that which may last for hours: many idle WebSockets
// must not use up what requests need.
type Class uint8

// The classes.
const (
	Request Class = iota
	Stream
)

// counts is the Admission of the zero Server: a bound for each class, of a tunnel and of
// all together.
type counts struct {
	limits [2]struct{ each, all int64 }
	now    [2]atomic.Int64
}

// countedLane is a Lane of counts.
type countedLane struct {
	all *counts
	now [2]atomic.Int64
}

// countedPermit is a Permit of countedLane.
type countedPermit struct {
	lane  *countedLane
	class atomic.Uint32
}

func newCounts(l *Limits) *counts {
	c := &counts{}
	c.limits[Request].each, c.limits[Request].all = int64(l.TunnelRequests), int64(l.Requests)
	c.limits[Stream].each, c.limits[Stream].all = int64(l.TunnelStreams), int64(l.Streams)
	return c
}

func (c *counts) Lane(string) Lane { return &countedLane{all: c} }

func (l *countedLane) Enter(_ context.Context, class Class, _ int) (Permit, error) {
	if !l.take(class) {
		return nil, ErrOverloaded
	}
	p := &countedPermit{lane: l}
	p.class.Store(uint32(class))
	return p, nil
}

func (l *countedLane) take(class Class) bool {
	limit := l.all.limits[class]
	if l.now[class].Add(1) > limit.each {
		l.now[class].Add(-1)
		return false
	}
	if l.all.now[class].Add(1) > limit.all {
		l.all.now[class].Add(-1)
		l.now[class].Add(-1)
		return false
	}
	return true
}

func (l *countedLane) giveBack(class Class) {
	l.now[class].Add(-1)
	l.all.now[class].Add(-1)
}

func (p *countedPermit) Promote() error {
	if Class(p.class.Load()) == Stream {
		return nil
	}
	if !p.lane.take(Stream) {
		return ErrOverloaded
	}
	if !p.class.CompareAndSwap(uint32(Request), uint32(Stream)) { // it was released meanwhile
		p.lane.giveBack(Stream)
		return nil
	}
	p.lane.giveBack(Request)
	return nil
}

// released is what the class of a permit is behind its end.
const released = 255

func (p *countedPermit) Release() {
	if class := p.class.Swap(released); class != released {
		p.lane.giveBack(Class(class))
	}
}
