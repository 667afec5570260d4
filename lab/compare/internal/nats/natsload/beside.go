package natsload

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"paddock/internal/process/lifecycle"
)

// besides is the load beside a stream: subscribers that do not read.
type besides struct {
	running  sync.WaitGroup
	halt     context.CancelFunc
	mu       sync.Mutex
	failures []error
}

func (b *besides) start(w *crew, s Stream) error {
	ctx, cancel := context.WithCancel(w.ctx)
	b.halt = cancel
	for i := range s.Stalled {
		idle, err := newStalled(ctx, w.addr, s.Subject)
		if err != nil {
			return fmt.Errorf("stalled subscriber %d: %w", i, err)
		}
		b.run(func() error { return idle.stay(ctx) })
	}
	return nil
}

func (b *besides) run(f func() error) {
	b.running.Go(func() {
		if err := f(); err != nil {
			b.mu.Lock()
			b.failures = append(b.failures, err)
			b.mu.Unlock()
		}
	})
}

func (b *besides) stop() error {
	if b.halt != nil {
		b.halt()
	}
	b.running.Wait()
	return errors.Join(b.failures...)
}

const (
	// stalledPing is how often a stalled subscriber finds out whether it still has
	// its connection.
	stalledPing = 50 * time.Millisecond
	// reconnectWait is the time that a stalled subscriber stays away when it has lost its
	// connection: the DefaultReconnectWait of nats.go and its kin.
	reconnectWait = 2 * time.Second
)

// stalled is a subscriber that does not read. When the server hangs up, it
// connects again and subscribes again, as clients do and after the same wait, and
// stalls again.
type stalled struct {
	addr, subject string
	away          time.Duration // see reconnectWait
	nc            net.Conn
}

func newStalled(ctx context.Context, addr, subject string) (*stalled, error) {
	s := &stalled{addr: addr, subject: subject, away: reconnectWait}
	return s, s.connect(ctx)
}

func (s *stalled) connect(ctx context.Context) error {
	nc, err := dial(ctx, s.addr)
	if err != nil {
		return err
	}
	s.nc = nc
	_, err = fmt.Fprintf(nc, "SUB %s 1\r\n", s.subject)
	return err
}

func (s *stalled) stay(ctx context.Context) error {
	defer func() { s.nc.Close() }()
	ticks := time.NewTicker(stalledPing)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticks.C:
		}
		if _, err := io.WriteString(s.nc, "PING\r\n"); err == nil {
			continue
		}
		s.nc.Close()
		_ = lifecycle.Sleep(ctx, s.away)
		if err := s.connect(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("a stalled subscriber comes again: %w", err)
		}
	}
}
