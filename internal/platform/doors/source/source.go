// Package source asks others for positions: MQTT brokers, GTFS-realtime feeds, and receivers that
// write lines. Each source has a connection of its own, which is made again after it has failed,
// and a door that counts its positions.
//
// A message is acknowledged to its sender, where the protocol can, once its positions are applied.
// A source that is faster than the platform waits, or drops messages where it cannot make its
// sender wait, and counts them.
package source

import (
	"cmp"
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence/track"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/lifecycle"
)

const (
	// retryMin and retryMax bound the wait before the next attempt.
	retryMin = 500 * time.Millisecond
	retryMax = time.Minute
	// submitTimeout bounds one wait for room in the queues, after which the wait begins again.
	submitTimeout = 5 * time.Second
	// fullRetry is the wait after positions found no room.
	fullRetry = 500 * time.Millisecond
	// maxGathered bounds the messages of one batch.
	maxGathered = 512
)

// Config configures New.
type Config struct {
	Settings []Settings
	Pipeline *ingest.Pipeline
	Doors    *doors.Doors
	MaxAhead track.Millis // see ingest.Decoder
	Logger   *slog.Logger

	retry time.Duration // replaces retryMin in tests; 0: it does not
}

// Sources are all sources of a process. It is a prometheus.Collector.
type Sources struct {
	cfg     Config
	ctx     context.Context // of all sources
	cancel  context.CancelFunc
	running sync.WaitGroup // of sources
	ended   chan struct{}  // closed when Run has returned

	mu    sync.Mutex
	list  []*source
	begun bool // by Run
}

// source is one of them, whatever its kind is.
type source struct {
	settings *Settings
	cfg      *Config
	door     *doors.Door
	log      *slog.Logger
	*counts

	stop  context.CancelFunc // nil: it has not begun
	ended chan struct{}      // closed when it has ended

	connected atomic.Bool
	failure   atomic.Pointer[string] // the last one
	listening atomic.Pointer[string] // the address that is listened on; nil: none
}

// counts are those of a source, which the next one of its name goes on with.
type counts struct{ messages, failures, connects, dropped atomic.Uint64 }

// New returns sources that do not run yet. Nothing is connected.
func New(c Config) *Sources {
	c.retry = cmp.Or(c.retry, retryMin)
	s := &Sources{cfg: c, ended: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for i := range c.Settings {
		s.list = append(s.list, s.open(&c.Settings[i], &counts{}))
	}
	return s
}

// open returns a source that does not run yet, with its door.
func (s *Sources) open(settings *Settings, c *counts) *source {
	one := &source{settings: settings, cfg: &s.cfg, counts: c, log: s.cfg.Logger.With("source", settings.Name), ended: make(chan struct{})}
	one.door = s.cfg.Doors.OpenSource(settings.Name, one.state)
	return one
}

// begin runs a source until it is stopped. The caller has the lock.
func (s *Sources) begin(one *source) {
	ctx, stop := context.WithCancel(s.ctx)
	one.stop = stop
	s.running.Go(func() {
		defer close(one.ended)
		defer stop()
		one.run(ctx)
	})
}

// Run runs all sources until Close, or until ctx ends.
func (s *Sources) Run(ctx context.Context) error {
	defer close(s.ended)
	defer context.AfterFunc(ctx, s.cancel)()
	s.mu.Lock()
	s.begun = true
	for _, one := range s.list {
		s.begin(one)
	}
	s.mu.Unlock()
	<-s.ctx.Done()
	s.all() // a Replace that is under way begins its sources, or sees that it must not
	s.running.Wait()
	return nil
}

// all returns the present sources.
func (s *Sources) all() []*source {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list // it is never changed in place
}

// Close ends all sources and waits for them.
func (s *Sources) Close(ctx context.Context) error {
	s.cancel()
	s.mu.Lock()
	begun := s.begun
	s.mu.Unlock()
	if !begun {
		return nil
	}
	select {
	case <-s.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (s *source) run(ctx context.Context) {
	switch {
	case s.settings.MQTT != nil:
		s.keep(ctx, s.followMQTT)
	case s.settings.GTFS != nil:
		s.poll(ctx)
	case s.settings.Lines != nil:
		s.runLines(ctx)
	}
}

// keep calls follow until ctx ends: again after it has returned, with longer waits while it fails
// at once.
func (s *source) keep(ctx context.Context, follow func(ctx context.Context) error) {
	for wait := s.cfg.retry; ; wait = min(2*wait, retryMax) {
		began := time.Now()
		err := follow(ctx)
		s.connected.Store(false)
		if ctx.Err() != nil {
			return
		}
		s.failed(err)
		if time.Since(began) > retryMax {
			wait = s.cfg.retry
		}
		if lifecycle.Sleep(ctx, jitter(wait)) != nil {
			return
		}
	}
}

// jitter returns a time from half of d to d, so that many sources do not come back at once.
func jitter(d time.Duration) time.Duration { return d/2 + rand.N(d/2+1) }

// failed notes an error, which must not contain credentials.
func (s *source) failed(err error) {
	text := "the connection has ended"
	if err != nil {
		text = err.Error()
	}
	s.failures.Add(1)
	if last := s.failure.Swap(&text); last == nil || *last != text {
		s.log.Warn("the source has failed; it is tried again", "address", s.settings.Address(), "error", text)
	}
}

// up notes that there is a connection.
func (s *source) up() {
	s.connects.Add(1)
	s.failure.Store(nil)
	if !s.connected.Swap(true) {
		s.log.Info("the source is connected", "address", s.settings.Address())
	}
}

// decoder returns a decoder for positions that arrive now.
func (s *source) decoder() *ingest.Decoder {
	d := &ingest.Decoder{Fleet: s.settings.Fleet, MaxAhead: s.cfg.MaxAhead, Door: s.door}
	d.Arrived, d.Present = s.cfg.Pipeline.Times()
	return d
}

// add adds what was found in a message to a batch. The error is one of a message that cannot be
// read.
func (s *source) add(b *ingest.Batch, found *format.Result, input []byte, err error) {
	if err != nil {
		s.messages.Add(1)
		s.cfg.Pipeline.Metrics.RejectBody()
		s.door.Reject("", err.Error(), input)
		return
	}
	s.take(s.decoder(), b, found, input)
}

// take adds what was found in a message to a batch, as a decoder reads it.
func (s *source) take(d *ingest.Decoder, b *ingest.Batch, found *format.Result, input []byte) {
	s.messages.Add(1)
	d.Found(b, found, input)
}

// submit passes a batch in, and returns once its positions are applied. While there is no room it
// waits. It reports false if ctx or the pipeline has ended before.
func (s *source) submit(ctx context.Context, b *ingest.Batch) bool {
	for len(b.Positions)+len(b.Rejected) > 0 {
		waiting, cancel := context.WithTimeout(ctx, submitTimeout)
		res, err := s.cfg.Pipeline.Submit(waiting, b)
		cancel()
		if err != nil {
			return false
		}
		if res.Overloaded == 0 {
			return true
		}
		if lifecycle.Sleep(ctx, jitter(fullRetry)) != nil {
			return false
		}
		b.Rejected, b.Omitted, b.Again = nil, 0, true // counted
	}
	return ctx.Err() == nil
}

// State is the state of a source as GET /v1/doors shows it.
type State struct {
	Address   string `json:"address"` // without credentials
	Connected bool   `json:"connected"`
	Connects  uint64 `json:"connects"`
	Messages  uint64 `json:"messages"`
	Dropped   uint64 `json:"dropped"`
	Failures  uint64 `json:"failures"`
	Error     string `json:"error,omitempty"`
}

// States returns the states of all sources, by their names.
func (s *Sources) States() map[string]State {
	all := map[string]State{}
	for _, one := range s.all() {
		all[one.settings.Name] = one.read()
	}
	return all
}

func (s *source) state() any { return s.read() }

func (s *source) read() State {
	st := State{
		Address: s.settings.Address(), Connected: s.connected.Load(), Connects: s.connects.Load(),
		Messages: s.messages.Load(), Dropped: s.dropped.Load(), Failures: s.failures.Load(),
	}
	if text := s.failure.Load(); text != nil {
		st.Error = *text
	}
	return st
}
