package relay

import (
	"errors"
	"net"
	"os"
	"sync/atomic"

	"paddock/tunnel"
)

// Transfer counts the bytes of a relayed connection, and records the first cause of its end. The
// counts are complete when the connection has ended.
type Transfer struct {
	Received, Sent atomic.Int64 // bytes from the visitor, and to it
	first          atomic.Pointer[tunnel.End]
}

// Cut records the cause of the end, unless there is an earlier one.
func (p *Transfer) Cut(by tunnel.End) { p.first.CompareAndSwap(nil, &by) }

// Ended is how it ended.
func (p *Transfer) Ended() tunnel.End {
	if by := p.first.Load(); by != nil {
		return *by
	}
	return tunnel.Closed
}

// visitorEnd returns the end that an error of the visitor's socket means.
func visitorEnd(err error) tunnel.End {
	var at *net.OpError
	if errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &at) && at.Op == "read" {
		return tunnel.CutSilent
	}
	return tunnel.CutByVisitor
}

// streamEnd returns the end that an error of the stream means.
func streamEnd(err error) tunnel.End {
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return tunnel.CutSilent
	}
	return tunnel.CutByTarget
}

// socketsEnd returns the end that an error between two sockets means, while bytes were copied from
// one of them (0 is the visitor's). When the kernel copies, it does not report which of the two
// failed.
func socketsEnd(from int, err error) tunnel.End {
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
