package lifecycle

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"paddock/internal/process/notify"
)

// Reloads passes SIGHUP to the parts of a process that read something again, and tells the service
// manager when the first one begins and when the last one has ended.
type Reloads struct {
	manager *notify.Manager
	signals chan os.Signal
	parts   []chan os.Signal

	mu   sync.Mutex
	open int // signals that were passed on, and not taken over yet
}

// NewReloads takes SIGHUP over from the default action, which ends the process, until Stop.
func NewReloads(m *notify.Manager) *Reloads {
	r := &Reloads{manager: m, signals: make(chan os.Signal, 1)} // the pending reload reads the latest files
	signal.Notify(r.signals, syscall.SIGHUP)
	return r
}

// Manager returns the service manager, nil if there is none.
func (r *Reloads) Manager() *notify.Manager {
	if r == nil {
		return nil
	}
	return r.manager
}

// Part returns the signals for one part, which calls Done after each. It is called before Run.
func (r *Reloads) Part() <-chan os.Signal {
	part := make(chan os.Signal, 1)
	r.parts = append(r.parts, part)
	return part
}

// Run passes signals on until ctx ends. A part that has one waiting gets no second one.
func (r *Reloads) Run(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case s := <-r.signals:
			r.pass(s)
		}
	}
}

func (r *Reloads) pass(s os.Signal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open == 0 {
		_ = r.manager.Reloading("reading the configuration again") // a manager that is gone is no fault of the reload
	}
	for _, part := range r.parts {
		select {
		case part <- s:
			r.open++
		default:
		}
	}
	if r.open == 0 {
		r.ready()
	}
}

// Done says that a part has taken over what a signal made it read, or keeps what it had.
func (r *Reloads) Done() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.open--; r.open == 0 {
		r.ready()
	}
}

func (r *Reloads) ready() { _ = r.manager.Reloaded("ready; the configuration was read again") } // as in pass

// Stop gives SIGHUP back to the default action.
func (r *Reloads) Stop() { signal.Stop(r.signals) }

// NoReloads returns a service that takes SIGHUP over from the default action, for a process that
// reads its settings at the start alone: the signal is logged. It is added before the others.
func NoReloads(log *slog.Logger) Service {
	signals := make(chan os.Signal, 1)
	return Service{
		Name:  "hangups",
		Start: func(context.Context) error { signal.Notify(signals, syscall.SIGHUP); return nil },
		Run: func(ctx context.Context) error {
			defer signal.Stop(signals)
			for {
				select {
				case <-signals:
					log.Warn("SIGHUP: nothing is read again: other settings take a restart")
				case <-ctx.Done():
					return nil
				}
			}
		},
	}
}
