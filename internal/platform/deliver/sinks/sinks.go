// Package sinks delivers events to the brokers and files that the configuration file names. Each
// sink is a [deliver.Follower] as a webhook is one, with another end.
package sinks

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"sync"
	"time"

	"paddock/fence/track/rule"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/events"
	"paddock/internal/platform/journal"
)

// prefix begins the names of the stored values.
const prefix = "sink/"

// batch is the number of events that a sink gets at once.
const batch = 256

// Schedule is that of sinks: a broker of one's own is tried more often, and never given up.
func Schedule() *deliver.Schedule {
	s := deliver.Default()
	s.Waits = []time.Duration{time.Second, 5 * time.Second, 30 * time.Second, time.Minute}
	s.GiveUp = 1 << 62
	return s
}

// Options configure Open and New.
type Options struct {
	Settings *Settings // nil: none
	Log      *events.Log
	Store    deliver.Store
	Keeps    bool // the store and the log outlive the process
	Logger   *slog.Logger
	Rules    func() *rule.Table // the present rules; nil: none
	Schedule *deliver.Schedule  // nil: that of Schedule
}

// Sinks is the sinks of a platform. It is safe for concurrent use.
type Sinks struct {
	o         Options
	counts    deliver.Counts
	ctx       context.Context // of the followers
	cancel    context.CancelFunc
	followers sync.WaitGroup

	mu    sync.RWMutex
	begun bool
	all   []*running // by id
}

// running is a sink with its follower.
type running struct {
	*Sink
	f       *deliver.Follower
	stop    context.CancelFunc
	stopped chan struct{}
}

// ErrUnknown is wrapped where there is no sink of an id.
var ErrUnknown = errors.New("no such sink")

// Open returns the sinks, which begin to deliver. The error is one of the store.
func Open(o Options) (*Sinks, error) {
	s := New(o)
	return s, s.Begin()
}

// New returns the sinks of a platform that does not deliver yet: there are none until Begin.
func New(o Options) *Sinks {
	if o.Schedule == nil {
		o.Schedule = Schedule()
	}
	s := &Sinks{o: o}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Begin makes the sinks deliver. The error is one of the store; then nothing runs. It is called
// once.
func (s *Sinks) Begin() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.replace(s.o.Settings)
	if s.begun = err == nil; err != nil {
		s.end()
	}
	return err
}

// Replace puts other settings in the place of the present ones; nil is none. A sink with equal
// settings goes on, also with its pause. One whose settings have changed goes on behind what it has
// delivered, at once. One that is gone ends with its state, which cuts an attempt under way. A new
// one begins with the events from now on. The error joins those of the store; the sinks that it is
// not about have changed all the same. Before Begin the settings wait for it.
func (s *Sinks) Replace(settings *Settings) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.begun {
		s.o.Settings = settings
		return nil
	}
	return s.replace(settings)
}

// replace makes settings hold; nil is none. The caller has the lock.
func (s *Sinks) replace(settings *Settings) error {
	if settings == nil {
		settings = &Settings{}
	}
	before := map[string]*running{}
	for _, r := range s.all {
		before[r.ID] = r
		if !slices.ContainsFunc(settings.Sinks, func(sink *Sink) bool { return sink.ID == r.ID }) {
			r.stop()
			<-r.stopped // it stores its state at the end
		}
	}
	faults := []error{forgetOthers(s.o.Store, settings)}
	var all []*running
	for _, sink := range settings.Sinks {
		r, err := s.continued(before[sink.ID], sink)
		if err != nil {
			faults = append(faults, fmt.Errorf("the sink %s: %w", sink.ID, err))
			continue
		}
		all = append(all, r)
	}
	s.all = all
	return errors.Join(faults...)
}

// continued returns a sink with the follower of the one before it, or with a new one. The caller
// has the lock.
func (s *Sinks) continued(before *running, sink *Sink) (*running, error) {
	if before != nil && reflect.DeepEqual(before.Sink, sink) {
		return before, nil
	}
	config := deliver.Config{End: sink.end(), Selector: deliver.NewSelector(&sink.Selection, s.o.Rules), Batch: batch, Enabled: sink.Enabled}
	if before != nil {
		before.f.Configure(config)
		return &running{sink, before.f, before.stop, before.stopped}, nil
	}
	f, err := deliver.New(deliver.Options{
		Name: prefix + sink.ID, Log: s.o.Log, Store: s.o.Store, Keeps: s.o.Keeps, Schedule: s.o.Schedule, Logger: s.o.Logger, Counts: &s.counts,
	}, config)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(s.ctx)
	r := &running{sink, f, stop, make(chan struct{})}
	s.followers.Go(func() {
		defer close(r.stopped)
		f.Run(ctx)
	})
	return r, nil
}

// forgetOthers removes the state of sinks that have gone from the file.
func forgetOthers(store deliver.Store, settings *Settings) error {
	known, gone := map[string]bool{}, map[string]bool{}
	for _, sink := range settings.Sinks {
		known[sink.ID] = true
	}
	err := store.Values(prefix, prefix, func(v journal.Value) error {
		if id := idOf(v.Name); !known[id] {
			gone[id] = true
		}
		return nil
	})
	for id := range gone {
		err = errors.Join(err, deliver.Forget(store, prefix+id))
	}
	return err
}

// Drain ends all deliveries, as [deliver.Follower.Drain] does, in half of the time that is left.
func (s *Sinks) Drain(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	var drains sync.WaitGroup
	for _, r := range s.all {
		drains.Go(func() { _ = r.f.Drain(ctx) }) // what is cut comes again, or is lost with the process
	}
	drains.Wait()
	s.end()
	return nil
}

func (s *Sinks) end() {
	s.cancel()
	s.followers.Wait()
}

// Shown is a sink as it is answered.
type Shown struct {
	ID     string         `json:"id"`
	Kind   string         `json:"kind"`
	To     string         `json:"to"` // without secrets
	Events string         `json:"events"`
	State  deliver.Report `json:"state"`
}

// List lists the sinks by their ids.
func (s *Sinks) List() []Shown {
	s.mu.RLock()
	defer s.mu.RUnlock()
	list := []Shown{}
	for _, r := range s.all {
		list = append(list, r.shown())
	}
	return list
}

func (r *running) shown() Shown {
	return Shown{ID: r.ID, Kind: r.Kind, To: r.to.String(), Events: r.Selection.String(), State: r.f.Report()}
}

// The operations on a sink.
const (
	Retry   = "retry"   // end the pause after a failure
	Enable  = "enable"  // go on after Disable
	Disable = "disable" // stop until it is enabled
)

// Operate does an operation, and returns the sink after it. The error wraps ErrUnknown or
// [deliver.ErrUnstored].
func (s *Sinks) Operate(id, operation string) (Shown, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.all {
		if r.ID != id {
			continue
		}
		var err error
		switch operation {
		case Retry:
			r.f.Retry()
		case Enable:
			err = r.f.Enable()
		case Disable:
			err = r.f.Disable("by request")
		}
		return r.shown(), err
	}
	return Shown{}, fmt.Errorf("%w: %.64q", ErrUnknown, id)
}

// LastAttempts returns the last attempts of a sink since the start of the process, the newest
// first. The error wraps ErrUnknown.
func (s *Sinks) LastAttempts(id string) ([]deliver.Attempt, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, r := range s.all {
		if r.ID == id {
			return r.f.Attempts(), nil
		}
	}
	return nil, fmt.Errorf("%w: %.64q", ErrUnknown, id)
}

// Attempts returns the number of attempts with a verdict since the start.
func (s *Sinks) Attempts(v deliver.Verdict) uint64 { return s.counts.Attempts(v) }
