// Package wireapi is what the platform serves over the wire protocol: positions
// as posts, look-ups as requests, events as a stream. docs/reference/wire-kinds.md
// specifies the three kinds.
//
// It is a door like the others: positions go to the ingest pipeline, look-ups
// read a snapshot of the fences, events are read from the log.
package wireapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/events"
	"paddock/internal/platform/ingest"
	"paddock/wire"
)

// The kinds that are served.
const (
	KindUpdate = "pos.update"
	KindSkip   = "pos.skip"
	KindSearch = "fence.search"
	KindEvents = "fence.events"
)

const (
	// LargeAtOnce bounds the memory of all large answers together, as a multiple of
	// the largest body: the same as over HTTP.
	LargeAtOnce = 4
	// hangUpTime is how long peers have to read the last bytes, to end their halves
	// and to hang up, once all handlers have returned in a drain. A socket that is
	// closed while its peer still sends may take what that has not read yet with it.
	hangUpTime = time.Second
)

// Config is what the API is made from. All of the first group is needed.
type Config struct {
	Catalog  *fence.Catalog
	Pipeline *ingest.Pipeline
	Log      *events.Log
	Logger   *slog.Logger

	Token    string        // whose secret clients must prove to know; "": none
	TLS      *tls.Config   // nil: none
	Guest    Guest         // nil: none
	MaxAhead track.Millis  // see ingest.Decoder
	MaxLarge int64         // bytes, of all large answers together; 0: 256 MiB
	MaxConns int           // connections at once; 0: that of package wire
	Pauses   bool          // see wire.Server
	Budget   uint32        // bytes of streams that wait on a connection; 0: that of package wire
	Version  string        // told to clients
	Drain    time.Duration // in which a drain must be over; 0: that of package wire

	// CursorEvery is how often a quiet stream of events is told its cursor, since
	// behind a narrow filter the log moves on without it; 0: 15 s.
	CursorEvery time.Duration
}

// API serves connections. Serve takes them until Drain; Close waits for their
// end.
type API struct {
	cfg    Config
	large  *budget.Budget
	token  func(*wire.Conn, *wire.Hello) error // whether a peer knows the token; nil: there is none
	server wire.Server
	counts counts

	handlers  crowd // of requests and streams, which a drain waits for
	followers crowd // of them, streams of events

	cut     context.CancelFunc // ends the drain of the connections; set by Drain
	stopped chan error         // what the server's shutdown returned
}

// counts are read by Stats.
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
		Sessions: new(wire.Sessions), ConnBudget: cfg.Budget,
	}
	a.admit(mux)
	return a
}

// Serve takes connections from l until Drain.
func (a *API) Serve(l net.Listener) error { return a.server.Serve(l) }

// Drain takes no more connections, and tells the peers to begin nothing new.
// Streams of events go on until the log ends. It is called once; Close waits for
// all of it, and ctx ends what has not ended by then.
func (a *API) Drain(ctx context.Context) {
	ctx, a.cut = context.WithCancel(ctx)
	go func() { a.stopped <- a.server.Shutdown(ctx) }() // ends with ctx at the latest; Close waits for it
}

// Close waits until all handlers have returned, which those of events do by
// themselves when the log has ended, and then for the connections. It follows
// Drain.
func (a *API) Close(ctx context.Context) error {
	err := a.handlers.wait(ctx)
	hangUp := time.AfterFunc(hangUpTime, a.cut)
	defer hangUp.Stop()
	// Who was cut off now had everything, and did not hang up.
	if cut := <-a.stopped; cut != nil {
		a.cfg.Logger.Info("wire: peers did not hang up", "error", cut)
	}
	a.cut()
	return err
}

// Transport is the server beneath, for what its connections count.
func (a *API) Transport() *wire.Server { return &a.server }

// Stats is a reading of the API's figures.
type Stats struct {
	wire.ServerStats
	Subscribers int // streams of events that are open

	// Since the start: connections without the token, posts of positions, those that
	// their senders gave up, look-ups, and answers that found no memory.
	Denied, Positions, Skipped, Searches, RefusedLarge uint64
}

// Stats reads the figures.
func (a *API) Stats() Stats {
	c := &a.counts
	return Stats{
		ServerStats: a.server.Stats(), Subscribers: a.followers.count(), Denied: c.denied.Load(),
		Positions: c.positions.Load(), Skipped: c.skipped.Load(), Searches: c.searches.Load(), RefusedLarge: a.large.Refused(),
	}
}
