package busd

import (
	"context"
	"errors"
	"fmt"
	"time"

	"paddock/bus"
	"paddock/internal/process/lifecycle"
)

// aliveSubject is the subject of the messages by which the broker proves to be alive. Clients see
// none of them unless they subscribe to it.
const aliveSubject = "_PADDOCK.ALIVE"

// heartbeat restarts the watchdog of the service manager as long as messages are routed.
type heartbeat struct {
	program  *Program
	ticks    <-chan time.Time // nil: there is no watchdog
	ticker   *time.Ticker
	interval time.Duration
	local    *bus.Local
	routes   func(context.Context) error // waits until a message was routed
}

// heartbeat returns the one of a running server. The first beat is immediate.
func (p *Program) heartbeat() *heartbeat {
	b := &heartbeat{program: p, interval: p.Manager.Watchdog() / 2}
	if b.interval <= 0 {
		return b
	}
	b.local = p.server.Local("watchdog")
	b.routes = lifecycle.Answers(func() { _ = b.local.Publish(aliveSubject, "", nil, nil) }) // an error is that of a closed server
	b.ticker = time.NewTicker(b.interval)
	b.ticks = b.ticker.C
	b.check(context.Background())
	return b
}

func (b *heartbeat) stop() {
	if b.local != nil {
		b.ticker.Stop()
		_ = b.local.Close() // the server closes it too
	}
}

// during calls work, which may take long, and beats on until it returns.
func (b *heartbeat) during(ctx context.Context, work func()) {
	done := make(chan struct{})
	b.program.running.Go(func() {
		defer close(done)
		work()
	})
	for {
		select {
		case <-done:
			return
		case <-b.ticks:
			b.check(ctx)
		}
	}
}

// check restarts the watchdog if a message is routed within an interval.
func (b *heartbeat) check(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, b.interval)
	defer cancel()
	switch err := b.routes(ctx); {
	case err == nil:
		b.program.tell(b.program.Manager.Alive(b.program.summary()))
	case errors.Is(err, context.DeadlineExceeded):
		b.program.log.Error("no message is routed: the service manager's watchdog is not restarted")
	}
}

// tell logs a message to the service manager that did not arrive.
func (p *Program) tell(err error) {
	if err != nil {
		p.log.Warn(err.Error())
	}
}

// summary returns a sentence about the running server.
func (p *Program) summary() string {
	s := p.server.Stats()
	return fmt.Sprintf("ready: %d connections, %d subscriptions", s.Connections, s.Subscriptions)
}
