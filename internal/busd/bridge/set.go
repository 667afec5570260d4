package bridge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"

	"paddock/bus"
)

// Set holds the bridges of a broker. A nil one has none.
type Set struct {
	server *bus.Server
	log    *slog.Logger
	deny   atomic.Pointer[[]string]

	changing sync.Mutex // serializes Apply and Close
	mu       sync.Mutex // guards list, for moments
	list     []*bridge
}

// New returns a set without bridges.
func New(server *bus.Server, log *slog.Logger) *Set {
	s := &Set{server: server, log: log}
	s.deny.Store(new([]string))
	return s
}

// Apply makes the bridges those of a list. A bridge whose configuration is the same goes on. Others
// end, which takes three seconds at most, and new ones start. Messages on subjects that deny
// matches are not imported. The error names bridges that do not run.
func (s *Set) Apply(list []Config, deny []string) error {
	s.changing.Lock()
	defer s.changing.Unlock()
	deny = slices.Clone(deny)
	s.deny.Store(&deny)
	var kept, ending []*bridge
	for _, b := range s.running() {
		if slices.ContainsFunc(list, func(c Config) bool { return b.same(&c) }) {
			kept = append(kept, b)
		} else {
			ending = append(ending, b)
		}
	}
	s.set(kept)
	stopAll(context.Background(), ending)
	var errs []error
	var next []*bridge
	for _, c := range list {
		if at := slices.IndexFunc(kept, func(b *bridge) bool { return b.same(&c) }); at >= 0 {
			next = append(next, kept[at])
			continue
		}
		b, err := start(s.server, c, s.denied, s.log)
		if err != nil {
			errs = append(errs, fmt.Errorf("bridge %s: %w", c.Name, err))
			continue
		}
		next = append(next, b)
	}
	s.set(next)
	return errors.Join(errs...)
}

func (s *Set) running() []*bridge {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list
}

func (s *Set) set(list []*bridge) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = list
}

func (s *Set) denied() []string { return *s.deny.Load() }

// Close ends all bridges. A connected server still gets the waiting messages until ctx ends, for
// three seconds at most. Messages for other servers are dropped.
func (s *Set) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.changing.Lock()
	defer s.changing.Unlock()
	list := s.running()
	s.set(nil)
	stopAll(ctx, list)
}

func stopAll(ctx context.Context, list []*bridge) {
	var wait sync.WaitGroup
	for _, b := range list {
		wait.Go(func() { b.stop(ctx) })
	}
	wait.Wait()
}

// States returns the states of all bridges, in the order of the configuration.
func (s *Set) States() []State {
	if s == nil {
		return nil
	}
	list := s.running()
	states := make([]State, len(list))
	for i, b := range list {
		states[i] = b.state()
	}
	return states
}
