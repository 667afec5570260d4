package cluster

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"
)

const (
	// clockEvery is the time between two looks at the clock of the servers, and clockTimeout bounds
	// one.
	clockEvery   = 10 * time.Second
	clockTimeout = 2 * time.Second
	// clockApart is the difference that is logged.
	clockApart = time.Second
)

// clock is the clock of the server that leads the log, so that the time of the records does not
// depend on the node that makes them.
type clock struct {
	measure func(ctx context.Context) (ahead, within time.Duration, err error)
	logger  *slog.Logger
	ahead   atomic.Int64 // of the system's clock, in nanoseconds
	apart   bool         // belongs to look
}

// now returns the time of the servers, as far as it is known.
func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// follow looks at the clock of the servers until ctx ends.
func (c *clock) follow(ctx context.Context) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look measures once. A difference within the error of the measurement changes nothing, and without
// an answer the last one holds.
func (c *clock) look(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	ahead, within, err := c.measure(ctx)
	if err != nil || (ahead-time.Duration(c.ahead.Load())).Abs() <= within {
		return
	}
	c.ahead.Store(int64(ahead))
	apart := ahead.Abs() > clockApart
	if apart && !c.apart {
		c.logger.Warn("this node's clock differs from that of the cluster's servers, which holds for records: positions without a time get the one here", "servers_ahead", ahead.Round(time.Millisecond))
	}
	c.apart = apart
}

// Now returns the time by the clock of the server that leads the log.
func (n *Node) Now() time.Time { return n.clock.now() }
