package lifecycle

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"paddock/internal/process/notify"
)

// Managed is what a service manager learns of a group. The zero value tells it nothing.
type Managed struct {
	Manager *notify.Manager // nil: none
	// Obstacle returns why the started group is not ready, or "". The manager learns that the group
	// is ready once there is no obstacle. Nil: there is none.
	Obstacle func() string
	// Alive returns once the group's work goes on, and ctx's error if it does not until ctx ends.
	// The watchdog of the manager is restarted after that alone. Nil: the group counts as alive.
	Alive func(ctx context.Context) error
	// Again reports whether, after a failure, the process goes on with another group. The manager
	// learns of no end then, unless a signal comes meanwhile. Nil: the process ends.
	Again func(failure error) bool
	// Status returns a short sentence about the running group. Nil: "ready".
	Status func() string
}

func (m *Managed) status() string {
	if m.Status == nil {
		return "ready"
	}
	return m.Status()
}

func (m *Managed) again(failure error) bool {
	return failure != nil && m.Again != nil && m.Again(failure)
}

// told logs a message that did not arrive. Nothing else depends on it in this process. After the
// first one it is a matter for debugging.
func (g *Group) told(err error) {
	if err == nil {
		return
	}
	level := slog.LevelDebug
	if !g.untold.Swap(true) {
		level = slog.LevelWarn
	}
	g.Logger.Log(context.Background(), level, "the service manager was not told", "error", err)
}

// lookAgain is the interval at which a group with an obstacle is looked at.
const lookAgain = 500 * time.Millisecond

// manage tells the manager of the started group, until ctx ends.
func (g *Group) manage(ctx context.Context) {
	if g.Managed.Manager == nil {
		return
	}
	var watchdog sync.WaitGroup
	defer watchdog.Wait()
	watchdog.Go(func() { g.watchdog(ctx) }) // before Ready too: the manager knows the group before this one as ready
	if g.Managed.Obstacle != nil {
		told := ""
		for reason := g.Managed.Obstacle(); reason != ""; reason = g.Managed.Obstacle() {
			if reason != told {
				err := g.Managed.Manager.Status("not ready: " + reason)
				if g.told(err); err == nil {
					told = reason
				}
			}
			if Sleep(ctx, lookAgain) != nil {
				return
			}
		}
	}
	g.told(g.Managed.Manager.Ready(g.Managed.status()))
}

// bridge restarts the manager's watchdog until end is called: while a group that starts again is
// drained, and while the next one starts, which may take long. The watchdog of a process that has
// not been ready yet does not run.
func (g *Group) bridge() (end func()) {
	interval := g.Managed.Manager.Watchdog() / 2
	if interval <= 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var beating sync.WaitGroup
	beating.Go(func() {
		for ctx.Err() == nil {
			g.told(g.Managed.Manager.Alive(""))
			_ = Sleep(ctx, interval) // an error is the end
		}
	})
	return func() { cancel(); beating.Wait() }
}

// watchdog restarts the manager's watchdog at half of its time, as long as the group is alive. It
// ends with ctx.
func (g *Group) watchdog(ctx context.Context) {
	interval := g.Managed.Manager.Watchdog() / 2
	if interval <= 0 {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		if err := g.alive(ctx, interval); err == nil {
			g.told(g.Managed.Manager.Alive(g.Managed.status()))
		} else if ctx.Err() == nil {
			g.Logger.Error("no sign of life: the service manager's watchdog is not restarted", "error", err)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
	}
}

// alive asks whether the group is alive, for a time.
func (g *Group) alive(ctx context.Context, limit time.Duration) error {
	if g.Managed.Alive == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return g.Managed.Alive(ctx)
}

// Answers returns a function for [Managed.Alive] that calls f, which takes the locks of the
// service. A call that does not return is waited for again, and no second one is made beside it.
// One goroutine is left behind if f never returns.
func Answers(f func()) func(context.Context) error {
	var running chan struct{} // nil: no call
	return func(ctx context.Context) error {
		if running == nil {
			done := make(chan struct{})
			running = done
			go func() { f(); close(done) }()
		}
		select {
		case <-running:
			running = nil
			return nil
		case <-ctx.Done():
			return fmt.Errorf("no answer: %w", ctx.Err())
		}
	}
}
