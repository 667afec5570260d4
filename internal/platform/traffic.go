package platform

import (
	"context"
	"log/slog"
	"time"

	"paddock/internal/city"
	"paddock/internal/process/lifecycle"
)

const (
	// trafficTick is how often the vehicles move. Each tick, a part of them
	// reports, so that the load is even.
	trafficTick = 200 * time.Millisecond
	// trafficTimeout is for one report; a demo that hangs should say so.
	trafficTimeout = 10 * time.Second
	// trafficFleet is that of all vehicles.
	trafficFleet = "city"
)

// Traffic drives a simulated fleet through a front door: its vehicles report like
// anybody else's.
type Traffic struct {
	Fleet  *city.Fleet
	Every  time.Duration // between two reports of a vehicle
	Send   Sender
	Logger *slog.Logger

	stop, done chan struct{}
	fixes, due []city.Fix
}

// Sender is a way for the traffic's positions into a platform. It is used by one
// goroutine.
type Sender interface {
	// Send returns when the positions have been taken.
	Send(ctx context.Context, fixes []city.Fix, at time.Time) error
	Close()
}

// Service returns the traffic as the front-most service of a group.
func (t *Traffic) Service() lifecycle.Service {
	t.stop, t.done = make(chan struct{}), make(chan struct{})
	return lifecycle.Service{
		Name: "traffic",
		Run:  t.run,
		Drain: func(ctx context.Context) error {
			close(t.stop)
			select {
			case <-t.done:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
	}
}

// run moves the fleet until the traffic is drained.
func (t *Traffic) run(ctx context.Context) error {
	defer close(t.done)
	defer t.Send.Close()
	ticker := time.NewTicker(trafficTick)
	defer ticker.Stop()
	groups := max(1, int(t.Every/trafficTick))
	for n := 0; ; n++ {
		select {
		case <-ticker.C:
		case <-t.stop:
			return nil
		case <-ctx.Done():
			return nil
		}
		t.fixes = t.Fleet.Step(trafficTick, t.fixes[:0])
		if err := t.report(ctx, n%groups, groups); err != nil {
			t.Logger.Warn("the traffic's positions were not taken", "error", err)
		}
	}
}

// report sends where one group of the vehicles is.
func (t *Traffic) report(ctx context.Context, group, groups int) error {
	t.due = t.due[:0]
	for _, f := range t.fixes {
		if f.Vehicle%groups == group {
			t.due = append(t.due, f)
		}
	}
	if len(t.due) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, trafficTimeout)
	defer cancel()
	return t.Send.Send(ctx, t.due, time.Now())
}
