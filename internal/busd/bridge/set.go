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

	mu   sync.Mutex // guards list, and serializes Apply and Close
	list []*bridge
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
	s.mu.Lock()
	defer s.mu.Unlock()
	deny = slices.Clone(deny)
	s.deny.Store(&deny)
	kept := s.list[:0:0]
	var ending []*bridge
	for _, b := range s.list {
		if slices.ContainsFunc(list, func(c Config) bool { return b.same(&c) }) {
			kept = append(kept, b)
		} else {
			ending = append(ending, b)
		}
	}
	stopAll(context.Background(), ending)
	var errs []error
	s.list = nil
	for _, c := range list {
		if at := slices.IndexFunc(kept, func(b *bridge) bool { return b.same(&c) }); at >= 0 {
			s.list = append(s.list, kept[at])
			continue
		}
		b, err := start(s.server, c, s.denied, s.log)
		if err != nil {
			errs = append(errs, fmt.Errorf("bridge %s: %w", c.Name, err))
			continue
		}
		s.list = append(s.list, b)
	}
	return errors.Join(errs...)
}

func (s *Set) denied() []string { return *s.deny.Load() }

// Close ends all bridges. What waits for other servers goes there until ctx ends, for three seconds
// at most.
func (s *Set) Close(ctx context.Context) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	stopAll(ctx, s.list)
	s.list = nil
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
	s.mu.Lock()
	defer s.mu.Unlock()
	states := make([]State, len(s.list))
	for i, b := range s.list {
		states[i] = b.state()
	}
	return states
}
