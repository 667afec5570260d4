package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nkeys"

	"paddock/bus/internal/auth"
	"paddock/bus/internal/subjects"
	"paddock/bus/internal/traffic"
	"paddock/internal/netio/handshake"
	"paddock/internal/process/logbound"
)

// forcedWait is the time for which Shutdown waits for goroutines after its context has ended and
// all connections were closed.
const forcedWait = time.Second

// ErrStarted refuses to start a server twice.
var ErrStarted = errors.New("bus: already started")

// errStopping ends waits when Shutdown begins.
var errStopping = errors.New("bus: stopping")

// Server is a broker. Its methods are safe for concurrent use.
type Server struct {
	live       atomic.Pointer[Config] // read by cfg
	conns      registry
	id         string
	start      time.Time
	subs       *index
	counters   counters
	batches    atomic.Uint64
	closed     closedRing
	traffic    *traffic.Table
	clientIDs  atomic.Uint64
	routers    sync.Pool
	lame       atomic.Bool        // INFO announces lame duck mode
	handshakes *handshake.Limiter // of TLS
	throttle   throttle
	hasher     *auth.Hasher
	penalties  handshake.PenaltyBox
	errorLines logbound.Lines // about connections that were closed for their input

	reloading sync.Mutex // held by Reload alone, so that configurations come one by one

	readers     sync.WaitGroup  // readers that may still route
	running     sync.WaitGroup  // every goroutine
	readersDone chan struct{}   // closed by Shutdown when no reader routes any more
	ctx         context.Context // ends when Shutdown begins: ends pauses
	stop        context.CancelFunc
}

// New checks cfg and returns a server that is not listening yet. In-process
// connections work at once.
func New(cfg Config) (*Server, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	if cfg.ServerName == "" {
		cfg.ServerName = id
	}
	s := &Server{
		id:          id,
		start:       time.Now(),
		subs:        newIndex(),
		hasher:      auth.NewHasher(),
		readersDone: make(chan struct{}),
		handshakes:  handshake.NewLimiter(max(1, runtime.GOMAXPROCS(0)/2), maxHandshake, 0),
		conns:       registry{clients: make(map[*client]struct{}), locals: make(map[*Local]struct{})},
	}
	s.closed.max, s.traffic = cfg.MaxClosed, traffic.New(cfg.Prefixes)
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.live.Store(&cfg)
	return s, nil
}

// cfg returns the configuration in force, which never changes. Code that needs two related fields
// reads it once.
func (s *Server) cfg() *Config { return s.live.Load() }

// newID makes a server id in the form that tools distinguish from a name.
func newID() (string, error) {
	pair, err := nkeys.CreateServer()
	if err != nil {
		return "", fmt.Errorf("bus: server id: %w", err)
	}
	return pair.PublicKey()
}

// ID returns the server's id: 56 characters, new for each Server.
func (s *Server) ID() string { return s.id }

// Shutdown stops accepting and reading, delivers messages published so far, by Local connections
// too, writes the pending bytes of each client, and closes. It waits for every goroutine of the
// server. If ctx ends first, connections are closed with bytes pending and ctx's error is returned.
// Further calls wait in the same way.
func (s *Server) Shutdown(ctx context.Context) error {
	if first := s.conns.stop(func() {
		s.running.Go(func() {
			s.readers.Wait()
			close(s.readersDone)
		})
	}); first {
		s.stop()
		s.conns.closeListeners()
		for _, c := range s.conns.all() {
			c.stopReading()
		}
	}
	err := s.await(ctx)
	s.conns.closeLocals()
	return err
}

// await waits for the goroutines, with force once ctx has ended.
func (s *Server) await(ctx context.Context) error {
	ended := make(chan struct{})
	go func() { // ends with the goroutines that it waits for
		s.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	for _, c := range s.conns.all() {
		c.drop()
	}
	patience := time.NewTimer(forcedWait)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
	return fmt.Errorf("bus: shutdown: %w", ctx.Err())
}

// router lends one for a batch.
func (s *Server) router() *router {
	if r, ok := s.routers.Get().(*router); ok {
		return r
	}
	return newRouter(s)
}

// release takes back a router whose batch has been finished.
func (s *Server) release(r *router) {
	r.msg.reset(nil, nil, nil, nil)
	r.now = 0
	s.routers.Put(r)
}

// denied reports whether network clients must not publish to subject.
func (s *Server) denied(subject []byte) bool {
	for _, pattern := range s.cfg().DenyPublish {
		if subjects.Match(pattern, subject) {
			return true
		}
	}
	return false
}

// logPanic counts and logs a recovered panic.
func (s *Server) logPanic(log *slog.Logger, what string, fault any) {
	s.counters.panics.Add(1)
	log.Error(what, "panic", fmt.Sprint(fault), "stack", string(debug.Stack()))
}
