// Package agent is the agent: what stands beside a vehicle's or a depot's devices and
// holds their one connection to the platform.
//
//	sources (HTTP, bus, stdin, gpsd) ─▶ intake ─▶ spool (disk) ─▶ delivery ─▶ wire ─▶ the platform
//
// A position is taken when it is on the disk. It leaves the disk when the platform
// has acknowledged it; whatever happens to either process or to the link, it is
// applied once, in its order. Over the same connection look-ups go up, events come down,
// and visitors of the platform's tunnel come to local services.
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

	"paddock/bus"
	"paddock/internal/agent/spool"
	"paddock/internal/netio/listen"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/metrics"
	"paddock/wire"
)

const (
	// flushTime bounds how long the end waits for what is not delivered.
	flushTime = 5 * time.Second
	// finishTime bounds how long it waits for visitors of the tunnels.
	finishTime = 5 * time.Second
	// sessionEpoch is the one that there is: numbers go on from life to life.
	sessionEpoch = 1
	// keyName is the file of the key in the buffer's directory if none is named.
	keyName = "agent.key"
)

// Options are what an Agent is made of.
type Options struct {
	Settings *Settings
	Agent    string // what the program calls itself
	Logger   *slog.Logger
	// Dial replaces how the platform is reached, beneath TLS; nil is by TCP.
	Dial func(ctx context.Context) (net.Conn, error)
	// Stdin is where Settings.Stdin has positions read.
	Stdin io.Reader
}

// Agent is the edge side of the platform, as a program.
type Agent struct {
	settings *Settings
	who      string // by the key or token, for the session
	log      *slog.Logger
	registry *prometheus.Registry
	spool    *spool.Spool
	config   wire.ClientConfig        // of the present session
	delivery atomic.Pointer[delivery] // in the present session
	renewed  atomic.Uint64            // sessions that another process had too
	http     *http.Server
	streams  *places
	slow     *places // bodies
	httpAt   *listen.Limited
	sources  []*source
	byHTTP   *source
	byStdin  *source
	bus      *localBus   // nil: none
	gpsd     *gpsdSource // nil: none
	tunnels  *tunnels    // nil: none
	feed     *feed
	feeding  sync.Mutex      // held by who runs feed
	feedable context.Context // of feed, beside that of its connection
	unfeed   context.CancelFunc
	stdin    io.Reader
	since    time.Time
	connects atomic.Uint64 // connections on which the platform has let us in
	up       atomic.Int64  // those of them that are there
	lastUp   atomic.Int64  // Unix milliseconds of the latest one, 0: none yet
}

// New checks the settings and opens the buffer, so that whatever is wrong is told
// before anything runs. What it returns is run, or closed.
func New(o Options) (*Agent, error) {
	a := &Agent{
		settings: o.Settings, log: o.Logger, registry: metrics.New(), since: time.Now(), stdin: o.Stdin,
		streams: newPlaces(maxStreams), slow: newPlaces(maxSlowBodies),
	}
	a.feedable, a.unfeed = context.WithCancel(context.Background())
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

// addSources makes those that the settings name.
func (a *Agent) addSources() {
	a.byHTTP = a.source("http")
	if a.settings.Bus.Listen != "" {
		a.bus = &localBus{agent: a, source: a.source("bus"), queue: make(chan bus.Msg, busQueue), asking: make(chan struct{}, busSearches)}
	}
	if a.settings.Stdin {
		a.byStdin = a.source("stdin")
	}
	if a.settings.GPSD != "" {
		a.gpsd = &gpsdSource{a.source("gpsd"), a.settings.GPSD, a.log}
	}
}

// Close lets go of the buffer of an agent that was not run.
func (a *Agent) Close() error {
	a.unfeed()
	return a.spool.Close()
}

// configure makes the link's configuration.
func (a *Agent) configure(o Options) error {
	connect, backoff := &o.Settings.Link.Connect, &o.Settings.Link.Backoff
	config, who, err := connect.Link(filepath.Join(o.Settings.Buffer.Dir, keyName), a.log)
	if err != nil {
		return err
	}
	config.Agent, a.who = o.Agent, who
	config.Mux = wire.NewMux()
	if a.tunnels, err = newTunnels(o.Settings.Link.Tunnels, config.Mux, a.log); err != nil {
		return err
	}
	config.Session = &wire.Session{ID: sessionID(a.spool.ID(), who), Epoch: sessionEpoch, Base: a.spool.Acked()}
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

// sessionID is that of the buffer's numbers. The platform binds a session to who comes
// with it, so another identity has another one.
func sessionID(spool [16]byte, who string) (id [16]byte) {
	sum := sha256.Sum256(append(spool[:], who...))
	copy(id[:], sum[:])
	return id
}

// source makes a door for positions.
func (a *Agent) source(name string) *source {
	s := &source{name: name, spool: a.spool, fleet: a.settings.Fleet, object: a.settings.Object}
	a.sources = append(a.sources, s)
	return s
}

// AddTo adds the agent's services. In the end the sources close first; then what is
// kept is delivered, if that takes no longer than flushTime.
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

// begin begins the session of a.config.
func (a *Agent) begin() error {
	link, err := wire.NewClient(a.config)
	if err != nil {
		return err
	}
	a.delivery.Store(&delivery{spool: a.spool, link: link, base: a.config.Config.Session.Base, log: a.log})
	return nil
}

// link is the client of the present session.
func (a *Agent) link() *wire.Client { return a.delivery.Load().link }

// deliver brings what is in the buffer to the platform until ctx ends. Where another
// process has the same session, as with a copy of the buffer's directory, it goes on in
// a new one with everything that is still on the disk: the platform has taken positions
// of one of the two for the other's. What it knows already is late there, and dropped.
func (a *Agent) deliver(ctx context.Context) error {
	for {
		err := a.delivery.Load().run(ctx)
		if !errors.Is(err, wire.ErrSessionShared) {
			return err
		}
		a.log.Error("another process delivers from a copy of this buffer; everything on the disk is sent again under a new id", "dir", a.settings.Buffer.Dir, "error", err)
		a.renewed.Add(1)
		if err := errors.Join(a.link().Close(), a.spool.Renew()); err != nil {
			return err
		}
		a.configureSession()
		if err := a.begin(); err != nil {
			return err
		}
	}
}

// configureSession makes the session one of the buffer's present id.
func (a *Agent) configureSession() {
	config, session := *a.config.Config, *a.config.Config.Session
	session.ID = sessionID(a.spool.ID(), a.who)
	session.Base = a.spool.First() - 1
	config.Session = &session
	a.config.Config, a.config.SentBefore = &config, session.Base
}

// flush delivers what it can, and says how much is left.
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

// disconnect ends the link. Visitors who are under way are finished first, within
// finishTime.
func (a *Agent) disconnect(ctx context.Context) error {
	a.unfeed()
	if a.tunnels == nil {
		return a.link().Close()
	}
	defer a.tunnels.client.CloseIdle()
	if len(a.link().Conns()) == 0 {
		return a.link().Close() // nobody is under way
	}
	ctx, cancel := context.WithTimeout(ctx, finishTime)
	defer cancel()
	if err := a.link().Drain(ctx); err != nil {
		a.log.Info("what was under way at the end was cut off", "error", err)
	}
	return nil
}

// connected runs for each connection.
func (a *Agent) connected(ctx context.Context, conn *wire.Conn) {
	var binding sync.WaitGroup
	defer binding.Wait()
	binding.Go(func() { a.admitted(ctx, conn) })
	if a.tunnels != nil {
		binding.Go(func() { a.tunnels.client.Connected(ctx, conn) }) // ends with ctx at the latest
	}
	a.feeding.Lock() // the stream of the connection before ends with that
	defer a.feeding.Unlock()
	following, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(a.feedable, cancel)()
	a.feed.run(following, conn)
}

// admitted counts a connection on which the platform has let us in, until ctx ends.
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

// failed is told of each connection or attempt that has failed; there is no last one.
func (a *Agent) failed(err error) bool {
	a.log.Warn("no connection to the platform", "error", err)
	return false
}

// HTTP is where the local endpoint is, once it has started; nil if there is none.
func (a *Agent) HTTP() net.Addr {
	if a.httpAt == nil {
		return nil
	}
	return a.httpAt.Addr()
}

// reason says why there is no connection.
func (a *Agent) reason() string {
	if err := a.link().Err(); err != nil {
		return fmt.Sprintf("no connection to the platform: %v", err)
	}
	return "no connection to the platform yet"
}
