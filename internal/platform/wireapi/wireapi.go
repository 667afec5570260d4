// Package wireapi serves the platform's API over the wire protocol: positions as posts, look-ups as
// requests, events as a stream. docs/reference/wire-kinds.md specifies the kinds.
//
// It is a door like the others: positions go to the ingest pipeline, look-ups read a snapshot of
// the fences, events are read from the log.
package wireapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/internal/process/keyring"
	"paddock/wire"
)

// The served kinds.
const (
	KindUpdate = "pos.update"
	KindSkip   = "pos.skip"
	KindSearch = "fence.search"
	KindEvents = "fence.events"
)

const (
	// LargeAtOnce bounds the memory of all large answers together, as a multiple of the largest
	// body, as over HTTP.
	LargeAtOnce = 4
	// hangUpTime is the time for peers to read the last bytes, to end their halves and to hang up,
	// once all handlers have returned in a drain. Closing a socket while its peer still sends could
	// destroy bytes that the peer has not read yet.
	hangUpTime = time.Second
)

// Config configures New. All fields of the first group are required.
type Config struct {
	Catalog  *fence.Catalog
	Pipeline *ingest.Pipeline
	Log      *events.Log
	Logger   *slog.Logger
	Door     *doors.Door // counts the positions; nil: none does

	Token       string        // clients prove that they know it, as an administrator; "": none
	Keys        *keyring.Ring // whose secrets clients prove; nil: none
	KeyRequired bool          // of every client; else only a key that is given is checked
	TLS         *tls.Config   // nil: none
	Extension   Extension     // nil: none
	MaxAhead    track.Millis  // see ingest.Decoder
	MaxLarge    int64         // bytes, of all large answers together; 0: 256 MiB
	MaxConns    int           // connections at once; 0: the default of package wire
	Pauses      bool          // see wire.Server
	Budget      uint32        // bytes of streams that wait on a connection; 0: the default of package wire
	Version     string        // sent to clients
	Drain       time.Duration // bounds a drain; 0: the default of package wire

	// CursorEvery is the interval of cursors on a quiet stream of events, because with a narrow
	// filter the log grows without events for the stream; 0: 15 s.
	CursorEvery time.Duration
}

// API serves connections. Serve accepts them until Drain; Close waits for their end.
type API struct {
	cfg              Config
	large            *budget.Budget
	anyone, operator *keyring.Grant
	secret           keyring.Digest // of Config.Token
	proofs           sync.Map       // *wire.Conn: keyring.Digest, of the secret that it has proved
	server           wire.Server
	counts           counts

	handlers  activeCount // of requests and streams; a drain waits for them
	followers activeCount // of streams of events

	draining atomic.Bool
	cut      context.CancelFunc // ends the drain of the connections; set by Drain
	stopped  chan error         // the result of the server's shutdown
}

// counts holds the counters of Stats.
type counts struct{ denied, positions, skipped, searches atomic.Uint64 }

// New returns the API.
func New(cfg Config) *API {
	cfg.MaxLarge = cmp.Or(cfg.MaxLarge, 256<<20)
	cfg.CursorEvery = cmp.Or(cfg.CursorEvery, 15*time.Second)
	a := &API{cfg: cfg, large: budget.New(cfg.MaxLarge), stopped: make(chan error, 1)}
	mux := wire.NewMux()
	mux.HandlePosts(KindUpdate, a.update)
	mux.HandlePosts(KindSkip, a.skip)
	mux.HandleRequest(KindSearch, a.search)
	mux.HandleStream(KindEvents, a.follow)
	a.server.MaxConns, a.server.Pauses = cfg.MaxConns, cfg.Pauses
	a.server.Config = &wire.Config{
		Agent: "paddock/" + cfg.Version, Mux: mux, TLS: cfg.TLS, Logger: cfg.Logger, DrainTimeout: cfg.Drain,
		Sessions: &wire.Sessions{Known: func(s wire.Session) uint64 { return cfg.Pipeline.Handled(s.ID, s.Epoch, s.Index) }}, ConnBudget: cfg.Budget,
	}
	a.admit(mux)
	return a
}

// Serve accepts connections from l until Drain.
func (a *API) Serve(l net.Listener) error { return a.server.Serve(l) }

// Drain stops accepting connections, and asks the peers to begin nothing new. Streams of events
// continue until the log ends. It is called once. Close waits for the end, which ctx bounds.
func (a *API) Drain(ctx context.Context) {
	a.draining.Store(true)
	ctx, a.cut = context.WithCancel(ctx)
	go func() { a.stopped <- a.server.Shutdown(ctx) }() // ends with ctx at the latest; Close waits for it
}

// Close waits until all handlers have returned, which those of events do once the log has ended,
// and then for the connections. It is called after Drain.
func (a *API) Close(ctx context.Context) error {
	err := a.handlers.wait(ctx)
	hangUp := time.AfterFunc(hangUpTime, a.cut)
	defer hangUp.Stop()
	// Peers that are cut off now have received everything, but did not hang up.
	if cut := <-a.stopped; cut != nil {
		a.cfg.Logger.Info("wire: peers did not hang up", "error", cut)
	}
	a.cut()
	return err
}

// Transport returns the wire server, for its counters.
func (a *API) Transport() *wire.Server { return &a.server }

// Stats holds the state and counts of the API.
type Stats struct {
	wire.ServerStats
	Subscribers int // open streams of events

	// Since the start: connections without a valid key, posts of positions, skipped positions,
	// look-ups, and answers for which there was no memory.
	Denied, Positions, Skipped, Searches, RefusedLarge uint64
}

// Stats returns the state and the counts.
func (a *API) Stats() Stats {
	c := &a.counts
	return Stats{
		ServerStats: a.server.Stats(), Subscribers: a.followers.count(), Denied: c.denied.Load(),
		Positions: c.positions.Load(), Skipped: c.skipped.Load(), Searches: c.searches.Load(), RefusedLarge: a.large.Refused(),
	}
}

// activeCount counts running handlers, and wakes a waiter when there are none.
type activeCount struct {
	mu    sync.Mutex
	n     int
	empty chan struct{} // made by wait
}

func (c *activeCount) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
	if c.n == 0 && c.empty != nil {
		close(c.empty)
		c.empty = nil
	}
}

// wait waits until the count is zero. Only one goroutine may call it.
func (c *activeCount) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return nil
	}
	empty := make(chan struct{})
	c.empty = empty
	c.mu.Unlock()
	select {
	case <-empty:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *activeCount) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}
