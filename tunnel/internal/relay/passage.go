package relay

import (
	"errors"
	"net"
	"os"
	"sync/atomic"

	"paddock/tunnel"
)

// Passage is what has gone over a connection that was carried as it is, and what cut it
// first. The counts are complete when the connection has ended.
type Passage struct {
	Received, Sent atomic.Int64 // bytes from the visitor, and to him
	first          atomic.Pointer[tunnel.End]
}

// Cut notes what has cut it, if nothing has before.
func (p *Passage) Cut(by tunnel.End) { p.first.CompareAndSwap(nil, &by) }

// Ended is how it ended.
func (p *Passage) Ended() tunnel.End {
	if by := p.first.Load(); by != nil {
		return *by
	}
	return tunnel.Closed
}

// nearEnd is what an error of the visitor's socket means.
func nearEnd(err error) tunnel.End {
	var at *net.OpError
	if errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &at) && at.Op == "read" {
		return tunnel.CutSilent
	}
	return tunnel.CutByVisitor
}

// farEnd is what an error of the stream means.
func farEnd(err error) tunnel.End {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return tunnel.CutSilent
	}
	return tunnel.CutByTarget
}

// weldEnd is what an error between two sockets means, from one of which (0 is the visitor's)
// bytes were carried. Where the system carries them it does not say whose error it was.
func weldEnd(from int, err error) tunnel.End {
	var at *net.OpError
	errors.As(err, &at)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return tunnel.CutSilent
	case at != nil && (at.Op == "read") == (from == 0) && (at.Op == "read" || at.Op == "write"):
		return tunnel.CutByVisitor
	case at != nil && (at.Op == "read" || at.Op == "write"):
		return tunnel.CutByTarget
	}
	return tunnel.CutSomewhere
}
