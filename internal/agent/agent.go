// Package agent runs beside the devices of a vehicle or a depot and holds their one connection to
// the platform.
//
//	sources (HTTP, bus, stdin, gpsd) ─▶ spool (disk) ─▶ delivery ─▶ wire ─▶ the platform
//
// A position is accepted once it is on the disk. It leaves the disk once the platform has
// acknowledged it. It is applied exactly once and in order, whatever happens to either process or
// to the link. Over the same connection the agent sends look-ups, receives events, and serves
// visitors of the platform's tunnel from local services.
package agent

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/agent/spool"
	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/metrics"
	"paddock/wire"
)

const (
	// flushTime bounds the wait for undelivered positions at the end.
	flushTime = 5 * time.Second
	// finishTime bounds the wait for visitors of the tunnels at the end.
	finishTime = 5 * time.Second
	// sessionEpoch is the only epoch: the numbers continue after a restart.
	sessionEpoch = 1
	// keyName is the default file of the key, in the buffer's directory.
	keyName = "agent.key"
)

// Options configure New.
type Options struct {
	Settings *Settings
	Agent    string // the program's name in HELLO
	Logger   *slog.Logger
	// Dial replaces the connection to the platform, beneath TLS; nil dials TCP.
	Dial func(ctx context.Context) (net.Conn, error)
	// Stdin has the positions for Settings.Stdin.
	Stdin io.Reader
}

// Agent is the edge side of the platform.
type Agent struct {
	settings *Settings
	identity string // by the key or token, part of the session's id
	log      *slog.Logger
	registry *prometheus.Registry
	spool    *spool.Spool
	config   wire.ClientConfig        // of the present session
	delivery atomic.Pointer[delivery] // of the present session
	renewed  atomic.Uint64            // sessions that another process used too
	http     *http.Server
	streams  *semaphore
	slow     *semaphore // of slow bodies
	httpAt   *listen.Limited
	sources  []*source
	byHTTP   *source
	byStdin  *source
	bus      *localBus   // nil: none
	gpsd     *gpsdSource // nil: none
	tunnels  *tunnels    // nil: none
	feed     *feed
	feeding  sync.Mutex      // held while feed runs
	feedCtx  context.Context // ends the feed on every connection
	stopFeed context.CancelFunc
	stdin    io.Reader
	since    time.Time
	connects atomic.Uint64 // connections that the platform has admitted
	up       atomic.Int64  // of these, open ones
	lastUp   atomic.Int64  // Unix milliseconds of the latest one, 0: none yet
}

// New checks the settings and opens the buffer, so that errors are reported before anything runs.
// The caller either runs the agent or closes it.
func New(o Options) (*Agent, error) {
	a := &Agent{
		settings: o.Settings, log: o.Logger, registry: metrics.New(), since: time.Now(), stdin: o.Stdin,
		streams: newSemaphore(maxStreams), slow: newSemaphore(maxSlowBodies),
	}
	a.feedCtx, a.stopFeed = context.WithCancel(context.Background())
	buffer := &o.Settings.Buffer
	var err error
	a.spool, err = spool.Open(spool.Options{
		Dir: buffer.Dir, MaxBytes: buffer.MaxBytes, MaxAge: buffer.MaxAge, Refuse: buffer.Refuse, Logger: a.log,
	})
	if err != nil {
		return nil, err
	}
	if a.feed, err = newFeed(o.Settings, a.log); err == nil {
		err = a.configure(o)
	}
	if err != nil {
		return nil, errors.Join(err, a.spool.Close())
	}
	a.addSources()
	return a, nil
}

// addSources makes the sources in the settings.
func (a *Agent) addSources() {
	a.byHTTP = a.source("http")
	if a.settings.Bus.Listen != "" {
		a.bus = newLocalBus(a, a.source("bus"))
	}
	if a.settings.Stdin {
		a.byStdin = a.source("stdin")
	}
	if a.settings.GPSD != "" {
		a.gpsd = &gpsdSource{a.source("gpsd"), a.settings.GPSD, a.log}
	}
}

// Close closes the buffer of an agent that was not run.
func (a *Agent) Close() error {
	a.stopFeed()
	return a.spool.Close()
}

// configure makes the link's configuration.
func (a *Agent) configure(o Options) error {
	connect, backoff := &o.Settings.Link.Connect, &o.Settings.Link.Backoff
	config, identity, err := connect.Link(filepath.Join(o.Settings.Buffer.Dir, keyName), a.log)
	if err != nil {
		return err
	}
	config.Agent, a.identity = o.Agent, identity
	config.Mux = wire.NewMux()
	if a.tunnels, err = newTunnels(o.Settings.Link.Tunnels, config.Mux, a.log); err != nil {
		return err
	}
	config.Session = &wire.Session{ID: sessionID(a.spool.ID(), identity), Epoch: sessionEpoch, Base: a.spool.Acked()}
	a.config = wire.ClientConfig{
		Address: connect.Server, Dial: o.Dial, Config: config, SentBefore: a.spool.Last(),
		MinBackoff: backoff.Interval, MaxBackoff: backoff.MaxInterval,
		MaxUnacked: maxUnacked, MaxUnackedBytes: maxUnackedBytes,
		GiveUp: a.failed, OnConnect: a.connected,
	}
	if a.tunnels != nil {
		a.tunnels.client.Reach(&a.config)
	}
	return nil
}

// sessionID returns the session's id for a buffer and an identity. The platform binds a session to
// its client's identity, so another identity needs another id.
func sessionID(spool [16]byte, identity string) (id [16]byte) {
	sum := sha256.Sum256(append(spool[:], identity...))
	copy(id[:], sum[:])
	return id
}

// source makes a source of positions.
func (a *Agent) source(name string) *source {
	s := &source{name: name, spool: a.spool, fleet: a.settings.Fleet, object: a.settings.Object, now: time.Now}
	a.sources = append(a.sources, s)
	return s
}

// AddTo adds the agent's services. At the end the sources close first; then kept positions are
// delivered, within flushTime.
func (a *Agent) AddTo(g *lifecycle.Group) {
	g.Add(lifecycle.Service{Name: "buffer", Drain: func(context.Context) error { return a.spool.Close() }})
	if b := a.bus; b != nil {
		g.Add(lifecycle.Service{Name: "bus", Start: a.openBus, Drain: func(ctx context.Context) error { return b.server.Shutdown(ctx) }})
	}
	g.Add(lifecycle.Service{Name: "link", Start: a.connect, Run: a.deliver, Drain: a.disconnect})
	g.Add(lifecycle.Service{Name: "delivery", Drain: a.flush})
	if b := a.bus; b != nil {
		g.Add(lifecycle.Service{Name: "bus doors", Start: b.subscribe, Run: b.run, Drain: b.close})
	}
	if a.gpsd != nil {
		g.Add(lifecycle.Service{Name: "gpsd", Run: a.gpsd.run})
	}
	if a.byStdin != nil {
		g.Add(lifecycle.Service{Name: "stdin", Run: func(ctx context.Context) error { return a.byStdin.readLines(ctx, a.stdin) }})
	}
	if a.settings.HTTP.Listen != "" {
		g.Add(lifecycle.Service{Name: "http", Start: a.openHTTP, Run: a.serveHTTP, Drain: a.closeHTTP})
	}
}

func (a *Agent) connect(context.Context) error {
	if err := a.begin(); err != nil {
		return err
	}
	a.register()
	return nil
}

// begin starts the session of a.config.
func (a *Agent) begin() error {
	link, err := wire.NewClient(a.config)
	if err != nil {
		return err
	}
	a.delivery.Store(&delivery{spool: a.spool, link: link, base: a.config.Config.Session.Base, log: a.log})
	return nil
}

// link returns the client of the present session.
func (a *Agent) link() *wire.Client { return a.delivery.Load().link }

// deliver sends the buffer's positions to the platform until ctx ends. If another process uses the
// same session, as with a copied buffer, the platform has mistaken positions of one process for the
// other's. deliver then sends everything on the disk again in a new session. The platform drops the
// positions that it has: they are late.
func (a *Agent) deliver(ctx context.Context) error {
	for {
		d := a.delivery.Load()
		err := d.run(ctx)
		if !errors.Is(err, wire.ErrSessionShared) {
			return err
		}
		a.log.Error("another process delivers from a copy of this buffer; everything on the disk is sent again under a new id", "dir", a.settings.Buffer.Dir, "error", err)
		a.renewed.Add(1)
		d.end()
		if err := errors.Join(d.link.Close(), a.spool.Renew()); err != nil {
			return err
		}
		a.configureSession()
		if err := a.begin(); err != nil {
			return err
		}
	}
}

// configureSession sets the session for the buffer's present id.
func (a *Agent) configureSession() {
	config, session := *a.config.Config, *a.config.Config.Session
	session.ID = sessionID(a.spool.ID(), a.identity)
	session.Base = a.spool.Acked()
	config.Session = &session
	a.config.Config, a.config.SentBefore = &config, session.Base
}

// flush delivers as many positions as it can, and logs the number of the rest.
func (a *Agent) flush(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, flushTime)
	defer cancel()
	if left := a.delivery.Load().flush(ctx); left > 0 {
		a.log.Warn("positions are kept on the disk for the next start", "positions", left)
	} else {
		a.log.Info("all positions are delivered")
	}
	return nil
}

// disconnect ends the link. It first waits for visitors, within finishTime.
func (a *Agent) disconnect(ctx context.Context) error {
	a.stopFeed()
	if a.tunnels == nil {
		return a.link().Close()
	}
	defer a.tunnels.client.CloseIdle()
	if len(a.link().Conns()) == 0 {
		return a.link().Close() // there are no visitors
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	if err := a.link().Drain(ctx); err != nil {
		a.log.Info("visitors in progress were cut off at the end", "error", err)
	}
	return nil
}

// connected is called for each connection.
func (a *Agent) connected(ctx context.Context, conn *wire.Conn) {
	var binding sync.WaitGroup
	defer binding.Wait()
	binding.Go(func() { a.admitted(ctx, conn) })
	if a.tunnels != nil {
		binding.Go(func() { a.tunnels.client.Connected(ctx, conn) }) // ends with ctx at the latest
	}
	a.feeding.Lock() // the previous connection's stream ends with it
	defer a.feeding.Unlock()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.feedCtx, cancel)()
	a.feed.run(following, conn)
}

// admitted counts a connection from the platform's admission until ctx ends.
func (a *Agent) admitted(ctx context.Context, conn *wire.Conn) {
	if conn.Admitted(ctx) != nil {
		return
	}
	a.connects.Add(1)
	a.up.Add(1)
	defer a.up.Add(-1)
	a.lastUp.Store(time.Now().UnixMilli())
	a.log.Info("connected", "platform", conn.RemoteAddr().String(), "waiting", a.spool.Stats().Records)
	<-ctx.Done()
}

// failed logs a failed connection or attempt. It returns false: the link keeps trying.
func (a *Agent) failed(err error) bool {
	a.log.Warn("no connection to the platform", "error", err)
	return false
}

// HTTP returns the address of the local endpoint once it has started, or nil if there is none.
func (a *Agent) HTTP() net.Addr {
	if a.httpAt == nil {
		return nil
	}
	return a.httpAt.Addr()
}

// reason returns why there is no connection.
func (a *Agent) reason() string {
	if err := a.link().Err(); err != nil {
		return fmt.Sprintf("no connection to the platform: %v", err)
	}
	return "no connection to the platform yet"
}
