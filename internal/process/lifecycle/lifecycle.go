// Package lifecycle starts the services of a process in order, keeps them running, and drains them
// in the opposite order.
//
// Services are added from the back to the front: a service that others depend on comes first, the
// listeners through which work enters come last. The Group starts them in that order. A signal, a
// cancelled context or a failing service ends the run. Then each service in turn, front to back,
// finishes its work before the next one is drained. So a service that still has work can always
// hand it to the services behind it.
//
//	signal 1 ──▶ drain http ──▶ drain ingest ──▶ drain bus ──▶ exit 0
//	signal 2 at any point of it ──────────────────────────────▶ exit 130
package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// DefaultTimeout bounds a whole drain. It is below the 30 s that Kubernetes leaves between SIGTERM
// and SIGKILL.
const DefaultTimeout = 25 * time.Second

// echo is the time within which a repeated signal counts as the first one: timeout(1) and terminals
// signal a process and then its group.
const echo = 200 * time.Millisecond

// ErrStuck is wrapped by the error about a service that did not return in time. Its goroutine is
// abandoned; the process is expected to exit.
var ErrStuck = errors.New("did not stop in time")

// ErrForced is returned by Run after a second signal. The process is expected
// to exit at once, with the code that ExitCode gives.
var ErrForced error = forcedError{}

type forcedError struct{}

func (forcedError) Error() string { return "forced to stop by a second signal" }

// ExitCode returns 128 + SIGINT, which shells report as "interrupted".
func (forcedError) ExitCode() int { return 130 }

// A Service is one part of the process. Every function may be nil. Each is called at most once, and
// none concurrently with Start.
type Service struct {
	Name string

	// Start makes the service ready and returns. Its context ends if the process is stopped
	// meanwhile. If Start fails, it has cleaned up, and neither Run nor Drain is called.
	Start func(ctx context.Context) error

	// Run works until its context ends, which is after Drain has returned. An error ends the whole
	// group; nil means that this service has no more work, and leaves the others running.
	Run func(ctx context.Context) error

	// Drain stops accepting work, finishes the accepted work and returns. When its context ends,
	// Drain drops the rest and reports that in its error.
	Drain func(ctx context.Context) error
}

// Group runs services together. Its fields and services are set before Run; it
// is used once.
type Group struct {
	Logger  *slog.Logger     // nil drops the log
	Timeout time.Duration    // of the whole drain, 0 is DefaultTimeout
	Signals <-chan os.Signal // stop the group; nil is SIGINT and SIGTERM
	Managed Managed          // the zero value: no service manager

	services []Service
	untold   atomic.Bool // a message did not reach the manager
	stopped  bool        // see Stopped
}

// Add appends a service, in front of the earlier ones: see the package comment.
func (g *Group) Add(s Service) { g.services = append(g.services, s) }

// Run starts the services, waits for a reason to stop, and drains them. It returns nil after a
// clean drain that a signal or ctx requested, ErrForced after a second signal, or the failures, the
// cause before its consequences. All goroutines have ended by then, except those of ErrForced and
// ErrStuck.
func (g *Group) Run(ctx context.Context) error {
	if g.Logger == nil {
		g.Logger = slog.New(slog.DiscardHandler)
	}
	if g.Timeout == 0 {
		g.Timeout = DefaultTimeout
	}
	stopping, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	forced, force := context.WithCancel(context.WithoutCancel(ctx))
	defer force()
	if g.Signals == nil {
		c := make(chan os.Signal, 2) // room for both signals while no goroutine receives
		signal.Notify(c, os.Interrupt, syscall.SIGTERM)
		defer signal.Stop(c)
		g.Signals = c
	}
	again := false
	defer func() {
		if again && g.Stopped() { // by a signal that came during the drain
			g.told(g.Managed.Manager.Stopping("stopping"))
		}
	}()
	var watch sync.WaitGroup
	defer watch.Wait()
	done := make(chan struct{})
	defer close(done)
	watch.Go(func() { g.react(done, stop, force) })

	end := g.bridge()
	started, err := g.start(stopping, forced, stop)
	end()
	if err == nil {
		g.Logger.Info("ready")
		watch.Go(func() { g.manage(stopping) })
		<-stopping.Done()
		err = cause(stopping)
	}
	if again = g.Managed.again(err); again {
		g.told(g.Managed.Manager.Status("starting again: " + err.Error()))
		defer g.bridge()()
		return g.drain(forced, started, err)
	}
	reason := "stopping"
	if err != nil {
		reason = "stopping because of a failure: " + err.Error()
	}
	g.told(g.Managed.Manager.Stopping(reason))
	return g.drain(forced, started, err)
}

// Stopped reports, after Run, whether a signal came: it may have come while a failure was drained.
func (g *Group) Stopped() bool { return g.stopped || len(g.Signals) > 0 }

// A stopSignal is the cause of a stopping context that did not fail.
type stopSignal struct{ os.Signal }

func (s stopSignal) Error() string { return s.String() }

// cause returns the failure that stops a running group, or nil if the stop was requested.
func cause(stopping context.Context) error {
	err := context.Cause(stopping)
	if errors.As(err, new(stopSignal)) || errors.Is(err, stopping.Err()) {
		return nil
	}
	return err
}

// react stops at the first signal and forces at the next one that is not an echo of it. It ends
// with done.
func (g *Group) react(done <-chan struct{}, stop context.CancelCauseFunc, force context.CancelFunc) {
	var first time.Time
	for {
		select {
		case s := <-g.Signals:
			switch {
			case first.IsZero():
				first = time.Now()
				g.stopped = true
				g.Logger.Info("stopping; a second signal forces", "signal", s.String())
				stop(stopSignal{s})
			case time.Since(first) >= echo:
				g.Logger.Warn("forced", "signal", s.String())
				force()
				return
			}
		case <-done:
			return
		}
	}
}

// start starts the services in order and returns the started ones.
func (g *Group) start(stopping, forced context.Context, stop context.CancelCauseFunc) (started []*member, err error) {
	for _, s := range g.services {
		if stopping.Err() != nil {
			return started, cause(stopping)
		}
		begun := time.Now()
		if s.Start != nil {
			g.told(g.Managed.Manager.Status("starting " + s.Name))
			// Bounded by the stop signal, not by time: loading may take long.
			err := await(forced, stopping, func() error { return s.Start(stopping) })
			if why := context.Cause(stopping); why != nil && (errors.Is(err, why) || errors.Is(err, stopping.Err())) {
				return started, cause(stopping) // not a failure: a stop has interrupted it
			}
			if err != nil {
				return started, fmt.Errorf("start %s: %w", s.Name, err)
			}
		}
		g.Logger.Debug("started", "service", s.Name, "took", time.Since(begun))
		started = append(started, launch(stopping, s, stop))
	}
	return started, nil
}

// drain drains the started services, the last one first, and continues after errors. It returns the
// given reason joined with these errors.
func (g *Group) drain(forced context.Context, started []*member, reason error) error {
	if reason != nil {
		g.Logger.Error("stopping because of a failure", "error", reason)
	}
	limit, cancel := context.WithTimeout(forced, g.Timeout)
	defer cancel()
	errs := []error{reason}
	for _, m := range slices.Backward(started) {
		begun := time.Now()
		failed := m.stop(forced, limit)
		if forced.Err() != nil {
			for _, m := range started {
				m.cancel()
			}
			return ErrForced
		}
		log := g.Logger.With("service", m.Name, "took", time.Since(begun))
		if len(failed) == 0 {
			log.Info("drained")
		}
		for _, err := range failed {
			if err != reason { // which has been logged
				log.Error("drained with an error", "error", err)
				errs = append(errs, err)
			}
		}
	}
	g.Logger.Info("stopped")
	return errors.Join(errs...)
}

// Sleep waits for d. It returns the context's error if that ends first.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
