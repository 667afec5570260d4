package cluster

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// clockEvery is the time between two looks at the clock of the servers, and clockTimeout bounds
	// one.
	clockEvery   = 10 * time.Second
	clockTimeout = 2 * time.Second
	// clockPatience bounds the wait for the first answer, longer than the servers elect a leader.
	clockPatience = 15 * time.Second
	// clockApart is the difference that is logged.
	clockApart = time.Second
)

// clock is the clock of the server that leads the log, so that the time of records and of arrivals
// does not depend on the node. Between two looks the monotonic clock of this node counts, so a jump
// of its own clock changes nothing.
type clock struct {
	measure func(ctx context.Context) (ahead, within time.Duration, err error)
	logger  *slog.Logger
	last    atomic.Pointer[reading] // nil: the servers have not answered yet
	apart   bool                    // belongs to look
}

// reading is a time of the servers, and that of this node then.
type reading struct{ servers, own time.Time }

// now returns the time of the servers, as far as it is known.
func (c *clock) now() time.Time {
	if r := c.last.Load(); r != nil {
		return r.servers.Add(time.Since(r.own))
	}
	return time.Now()
}

// begin looks at the clock of the servers until they have answered once.
func (c *clock) begin(ctx context.Context) error {
	bounded, cancel := context.WithTimeout(ctx, clockPatience)
	defer cancel()
	for {
		err := c.look(bounded)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(clockTimeout / 10):
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-bounded.Done():
			return fmt.Errorf("%w: %w", ErrClock, err)
		}
	}
}

// ErrClock is the end of a start for which the time of records would be that of this node, which
// may be wrong.
var ErrClock = errors.New("the servers of the cluster do not tell their time: is there a leader of the stream?")

// follow looks at the clock of the servers until ctx ends.
func (c *clock) follow(ctx context.Context) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			_ = c.look(ctx) // the last reading holds
		case <-ctx.Done():
			return
		}
	}
}

// look measures once. A difference within the error of the measurement changes nothing, and without
// an answer the last one holds.
func (c *clock) look(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	ahead, within, err := c.measure(ctx)
	if err != nil {
		return err
	}
	own := time.Now()
	servers := own.Round(0).Add(ahead)
	if servers.Sub(c.now()).Abs() <= within {
		if c.last.Load() != nil {
			return nil
		}
		servers = own.Round(0)
	}
	c.last.Store(&reading{servers, own})
	apart := ahead.Abs() > clockApart
	if apart && !c.apart {
		c.logger.Warn("this node's clock differs from that of the cluster's servers, whose time holds for positions and records", "servers_ahead", ahead.Round(time.Millisecond))
	}
	c.apart = apart
	return nil
}

// AwaitTime waits until the servers have told their time, which Now needs. The error wraps
// ErrClock, or is the cause of the end of ctx.
func (n *Node) AwaitTime(ctx context.Context) error { return n.clock.begin(ctx) }

// Now returns the time by the clock of the server that leads the log.
func (n *Node) Now() time.Time { return n.clock.now() }
