package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// stopGrace is the extra time for a service that ignores its cancelled context, before the drain
// goes on without it.
const stopGrace = time.Second

// member is a started service. err belongs to its Run until ended is closed.
type member struct {
	Service
	cancel context.CancelFunc
	ended  chan struct{}
	err    error
}

// launch starts the service's goroutine. stop is called if the service fails.
func launch(ctx context.Context, s Service, stop context.CancelCauseFunc) *member {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m := &member{Service: s, cancel: cancel, ended: make(chan struct{})}
	go m.run(ctx, stop)
	return m
}

// run is the service's own goroutine. The drain waits for ended.
func (m *member) run(ctx context.Context, stop context.CancelCauseFunc) {
	defer close(m.ended)
	if m.Run == nil {
		return
	}
	err := m.Run(ctx)
	if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return
	}
	m.err = fmt.Errorf("%s: %w", m.Name, err)
	stop(m.err)
}

// stop drains the service, then ends its Run and waits for it. It returns the errors of both.
func (m *member) stop(forced, limit context.Context) (failed []error) {
	if m.Drain != nil {
		if err := await(forced, limit, func() error { return m.Drain(limit) }); err != nil {
			failed = append(failed, fmt.Errorf("drain %s: %w", m.Name, err))
		}
	}
	m.cancel()
	if err := await(forced, limit, func() error { <-m.ended; return nil }); err != nil {
		return append(failed, fmt.Errorf("%s: %w", m.Name, err))
	}
	if m.err != nil {
		failed = append(failed, m.err)
	}
	return failed
}

// await returns the result of fn. If fn does not return, await gives up: stopGrace after limit has
// ended, or at once when the stop is forced.
func await(forced, limit context.Context, fn func() error) error {
	done := make(chan error, 1) // lets fn's goroutine end after await has given up
	go func() { done <- fn() }()
	var stuck <-chan time.Time
	for limited := limit.Done(); ; {
		select {
		case err := <-done:
			return err
		case <-forced.Done():
			return ErrForced
		case <-limited:
			limited, stuck = nil, time.After(stopGrace)
		case <-stuck:
			return ErrStuck
		}
	}
}

// Server is an http.Server, or another server whose Serve returns http.ErrServerClosed after
// Shutdown or Close.
type Server interface {
	Serve(net.Listener) error
	Shutdown(context.Context) error
	Close() error
}

// HTTP returns a Service that serves on an open listener. Its Drain stops accepting, closes idle
// connections and waits for the requests in progress. At the end of the drain's time it closes
// their connections.
//
// A handler that streams without end must end by itself when the server drains: see
// [http.Server.RegisterOnShutdown]. The same holds for hijacked connections.
func HTTP(name string, srv Server, ln net.Listener) Service {
	return Service{
		Name: name,
		Run: func(context.Context) error {
			if err := srv.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
				return err
			}
			return nil
		},
		Drain: func(ctx context.Context) error {
			err := srv.Shutdown(ctx)
			if err != nil {
				err = errors.Join(err, srv.Close())
			}
			return err
		},
	}
}
