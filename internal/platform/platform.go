// Package platform composes the services into one process: which services run, in which order they
// start, and in which they drain. It is the only place where services meet.
//
//	doors (HTTP positions, bus pos.>, wire pos.update)
//	  └─▶ ingest ─┬─▶ event log ─▶ HTTP and wire streams, webhooks, sinks
//	              └─▶ bus fence.>
//
// A drain follows the same way. The doors close first. Ingest then applies the accepted positions
// and publishes their events. Then the log ends, and the streams with it; webhooks end after the
// request under way, or when nothing is kept after all events. Then the bus writes the
// pending bytes of its clients. So the events of every acknowledged position have been delivered to
// all connected subscribers. The tunnel's visitors are finished before all of that, while the
// clients that serve them are still connected.
package platform

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/bus"
	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/busd"
	"paddock/internal/busd/bridge"
	"paddock/internal/manual"
	"paddock/internal/netio/handshake"
	"paddock/internal/netio/listen"
	"paddock/internal/netio/plainhttp"
	"paddock/internal/platform/busapi"
	"paddock/internal/platform/deliver"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/doctor"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/doors/source"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/httpapi"
	"paddock/internal/platform/httpapi/gofence"
	"paddock/internal/platform/httpapi/runs"
	"paddock/internal/platform/httpapi/tiles/basemap"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/ruleapi"
	"paddock/internal/platform/ui"
	"paddock/internal/platform/views"
	"paddock/internal/platform/wireapi"
	"paddock/internal/process/certificate"
	"paddock/internal/process/config"
	"paddock/internal/process/keyring"
	"paddock/internal/process/lifecycle"
	"paddock/internal/process/logging"
	"paddock/internal/process/metrics"
	"paddock/internal/tunneld"
)

// Options configure New.
type Options struct {
	Config  *config.Config
	Logger  *slog.Logger
	Version string

	// Catalog holds the fences. If it is nil, Config.Sets.Dir is loaded at start, or the platform
	// starts without fences.
	Catalog *fence.Catalog
	// Reload makes the platform read the files of Config.Sets.Dir again for each signal. Nil:
	// never.
	Reload <-chan os.Signal
	// Tunnel configures the server side of the tunnel, on the connections of the wire door; the
	// platform sets Agent and Logger. Nil: none.
	Tunnel *tunneld.ServerOptions
	// Bus holds the keys of the section bus that only a file has. Nil: none.
	Bus *busd.Settings
	// Webhooks are the webhooks of the configuration file. Nil: none; others come over the API.
	Webhooks *hooks.Settings
	// Sinks are the sinks of the configuration file. Nil: none.
	Sinks *sinks.Settings
	// Sources are asked for positions.
	Sources []source.Settings
	// AcceptLoss starts from a damaged journal with what can be read of it.
	AcceptLoss bool
	// Drained makes this node of a cluster leave the lead to others for a while, as it has just
	// given it away.
	Drained bool
	// Demo makes the dashboard explain itself.
	Demo bool
	// FirstKey receives the secret of the key of an administrator that is made when none was ever
	// stored in the data directory. Nil: none is made.
	FirstKey func(secret string)
	// Reread reads the configuration file again, for each signal of Rereads. Nil: never.
	Reread  func() (*Reread, error)
	Rereads <-chan os.Signal
	// Log keeps the last lines of Logger, for bug reports. Nil: there are none in them.
	Log *logging.Ring
	// Reloaded is called after each signal of Reload and Rereads that was acted on. Nil:
	// no call.
	Reloaded func()
	// Now is the clock of the system, of a platform on its own. Nil: time.Now.
	Now func() time.Time

	schedule    *deliver.Schedule                            // of webhooks and sinks; nil: theirs
	openJournal func(journal.Options) (*journal.Disk, error) // nil: journal.Open
}

// Platform holds all services of one process. Its fields are assigned while it starts, before their
// readers run.
type Platform struct {
	opts Options
	cfg  *config.Config
	log  *slog.Logger

	registry     *prometheus.Registry
	doors        doors.Doors
	catalog      *fence.Catalog
	journal      *journal.Disk    // nil: the state ends with the process
	shared       journal.Journal  // for values that all nodes have: journal, if there is one node
	member       *member          // of a cluster; nil: there is one node
	sessionKey   []byte           // of all nodes; nil: see sessionSecret
	history      *history.History // in the journal; nil: none
	views        *views.Views     // in the journal; nil: none
	keys         *keyring.Ring
	fileKeys     []keyring.Key // of keys: those of the file
	ownKey       string        // of a demo's traffic, where keys are required; "": none
	audit        *audit.Log
	book         *rulebook.Book
	rules        *rulebook.Follower      // of files; nil: none
	broken       chan error              // why the journal cannot be written
	congested    func() bool             // see ingest.Config
	sets         *directory.Directory    // nil: none
	parents      []geometry.MultiPolygon // of sets.parents
	bus          *bus.Server
	busNow       busSource
	secureBus    bool          // clients of the bus need TLS
	bridges      *bridge.Set   // of the bus
	monitor      *busd.Monitor // of the bus; nil: none
	files        int           // that the process may open; 0: unknown
	events       *events.Log
	hooks        *hooks.Hooks
	sinks        *sinks.Sinks
	pipeline     *ingest.Pipeline
	api          *httpapi.API
	positions    *busapi.Positions
	sources      *source.Sources
	search       *busapi.Search
	ruleRequests *busapi.Rules
	server       *plainhttp.Server
	listener     *listen.Limited
	stopped      chan error // the result of the HTTP server's shutdown
	wire         *wireapi.API
	wireListener net.Listener
	wireTLS      *tls.Config        // nil: none
	httpTLS      *tls.Config        // nil: none
	httpFiles    *certificate.Files // of httpTLS; nil: none
	wireFiles    *certificate.Files // of wireTLS; nil: none
	tickets      *handshake.Tickets // of wireTLS, nil: none
	tunnel       *tunneld.Role      // nil: none

	examined atomic.Pointer[doctor.Facts] // nil until everything has started
	reread   atomic.Pointer[Reread]       // the last one that was taken over; nil: none
	flaps    *doctor.Flaps
	trend    doctor.Trend
	syncs    doctor.Syncs
}

// New returns a platform that has not started.
func New(o Options) *Platform {
	if o.Reloaded == nil {
		o.Reloaded = func() {}
	}
	p := &Platform{
		opts: o, cfg: o.Config, log: o.Logger, catalog: o.Catalog,
		registry: metrics.New(), flaps: doctor.NewFlaps(), stopped: make(chan error, 1), broken: make(chan error, 1),
	}
	p.busNow = busSource{config: o.Config, file: o.Bus}
	open := tunneld.OpenFiles()
	if o.Tunnel != nil {
		open /= 2 // the other half is for visitors, and for the tunnel's clients on wire
		p.tunnel = newTunnel(*o.Tunnel, o.Version, p.log)
	}
	cfg := *p.cfg
	if p.cfg, p.files = &cfg, open; shareFiles(p.cfg, open) {
		level := slog.LevelDebug
		if open < FewFiles {
			level = slog.LevelWarn
		}
		p.log.Log(context.Background(), level, "the limit on open files is low (ulimit -n): the doors share it", "files", open, "http", p.cfg.Limits.Connections,
			"bus", p.cfg.Bus.MaxConnections, "wire", p.cfg.Wire.MaxConnections)
	}
	return p
}

// AddTo adds the platform's services to a group. Sources of its traffic are added after it.
func (p *Platform) AddTo(g *lifecycle.Group) {
	for _, s := range []lifecycle.Service{
		lifecycle.GiveBack("memory", lifecycle.Allocated()),
		{Name: "sets", Start: p.prepareSets},
		{Name: "journal", Start: p.openState, Run: p.watchJournal, Drain: p.closeJournal},
		{Name: "certificates", Start: p.openTLS, Run: p.followCertificates},
		{Name: "keys", Start: p.openKeys, Drain: p.closeKeys},
		{Name: "history", Run: p.followHistory, Drain: p.closeHistory},
		{Name: "sets", Start: p.loadSets, Run: p.followSets},
		{Name: "bus", Start: p.startBus, Drain: func(ctx context.Context) error { return p.bus.Shutdown(ctx) }},
		{Name: "bridges", Drain: p.closeBridges},
		{Name: "bus monitoring", Start: p.openMonitor, Run: p.serveMonitor, Drain: p.closeMonitor},
		{Name: "wire", Drain: p.awaitWire},
		{Name: "http", Drain: p.awaitHTTP},
		{Name: "webhooks", Start: p.startHooks, Drain: func(ctx context.Context) error { return p.hooks.Drain(ctx) }},
		{Name: "sinks", Start: p.startSinks, Drain: func(ctx context.Context) error { return p.sinks.Drain(ctx) }},
		{Name: "cluster", Drain: p.leaveCluster},
		{Name: "events", Drain: func(context.Context) error { p.events.End(); return nil }},
		{Name: "ingest", Start: p.startIngest, Run: p.tendJournal, Drain: p.drainIngest},
		{Name: "node", Start: p.openMember, Run: p.watchMember, Drain: p.stopClaims},
		{Name: "snapshots", Run: p.writeSnapshots},
		{Name: "expiry", Run: p.expireFences},
		{Name: "wire door", Start: p.openWire, Run: p.serveWire, Drain: p.closeWire},
		{Name: "wire tickets", Run: p.rotateTickets},
		{Name: "doors", Start: p.openDoors, Run: p.serveHTTP, Drain: p.closeDoors},
		{Name: "bridges", Start: p.openBridges},
		{Name: "sources", Start: p.openSources, Run: p.runSources, Drain: p.closeSources},
		{Name: "settings", Run: p.followFile}, // of all services above
		{Name: "examination", Start: p.openExamination, Run: p.followTrend},
	} {
		g.Add(s)
	}
	if p.tunnel != nil {
		g.Add(lifecycle.Service{Name: "tunnel", Start: p.openTunnel})
		p.tunnel.AddTo(g)
	}
}

// URL returns the address of the HTTP server once it has started: unix:path for a socket, which
// browsers do not open.
func (p *Platform) URL() string {
	if p.listener == nil {
		return ""
	}
	if p.listener.Addr().Network() == "unix" {
		return "unix:" + p.listener.Addr().String()
	}
	scheme := "http"
	if p.httpTLS != nil {
		scheme = "https"
	}
	return scheme + "://" + p.listener.Addr().String() + "/"
}

// Port returns the port of the HTTP server once it has started, "" for a socket.
func (p *Platform) Port() string {
	_, port, _ := net.SplitHostPort(p.listener.Addr().String()) // a socket has none
	return port
}

// Totals returns the pipeline's counts since the start.
func (p *Platform) Totals() ingest.Totals { return p.pipeline.Metrics.Totals() }

// Objects returns the number of known objects.
func (p *Platform) Objects() int {
	n, _ := p.pipeline.Counts()
	return n
}

// Alive returns once ingest has made a round: see [ingest.Pipeline.Alive].
func (p *Platform) Alive(ctx context.Context) error { return p.pipeline.Alive(ctx) }

// Obstacle returns why /readyz answers 503, or "". It is called once the doors are open.
func (p *Platform) Obstacle() string { return p.api.Obstacle() }

// Summary returns a sentence about the running platform.
func (p *Platform) Summary() string {
	if reason := p.Obstacle(); reason != "" {
		return "not ready: " + reason
	}
	return fmt.Sprintf("ready: %d sets, %d objects, %d positions accepted", p.catalog.Len(), p.Objects(), p.Totals().Accepted)
}

// listenError distinguishes an address that is unavailable now, such as one in use, from an invalid
// one.
func (p *Platform) listenError(key string, err error) error {
	if _, ok := errors.AsType[*os.SyscallError](err); ok {
		return p.cfg.Failure(key, listen.OrElse(err, otherAddress[key]))
	}
	return p.cfg.Fault(key, err)
}

// otherAddress names the way to set another address.
var otherAddress = map[string]string{
	"http.listen": "--listen", "bus.listen": "--bus-listen", "bus.http": "bus.http in the file", "bus.https": "bus.https in the file", "bus.websocket": "bus.websocket in the file", "wire.listen": "--wire-listen", "tunnel.serve": "tunnel.serve in the file",
}

func (p *Platform) startIngest(context.Context) error {
	local := p.bus.Local("events")
	p.congested = local.Congested
	p.pipeline.Start(p.flaps.Publishing(busapi.NewPublisher(p.events, local, p.registry, p.log)))
	registerPipeline(p.registry, p.pipeline, p.events)
	if p.member != nil {
		return nil // the leader settles
	}
	return p.pipeline.Settle()
}

// drainIngest applies the accepted positions within half of the remaining time. The other half is
// for their events, and for refusing the other positions.
func (p *Platform) drainIngest(ctx context.Context) error {
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	p.pipeline.Close(ctx)
	return nil
}

func (p *Platform) openDoors(ctx context.Context) (err error) {
	maxAhead := track.Millis(p.cfg.Track.MaxAhead.Milliseconds())
	backup := p.Backup
	if p.journal == nil {
		backup = nil
	}
	secret, err := p.sessionSecret()
	if err != nil {
		return p.cfg.Failure("data.dir", err)
	}
	ground, err := basemap.Open(p.cfg.Dashboard.Basemap)
	if err != nil {
		return p.cfg.Fault("dashboard.basemap", err)
	}
	lab, err := runs.Open(p.cfg.Dashboard.Runs)
	if err != nil {
		return p.cfg.Fault("dashboard.runs", err)
	}
	var optional []string
	if lab != nil {
		optional = append(optional, ui.RunsPage)
	}
	p.api = httpapi.New(httpapi.Config{
		Basemap: ground.WithAttribution(p.cfg.Dashboard.Attribution), Runs: lab,
		Backup:  backup,
		Catalog: p.catalog, Book: p.book, Files: p.setFiles(), Pipeline: p.pipeline, Log: p.events, History: p.history, Erased: p.tellErased, Hooks: p.hooks, Sinks: p.sinks,
		Gofence: gofence.New(p.catalog, gofence.Options{Logger: p.log, Change: httpapi.ChangeSets(p.pipeline, p.audit), May: httpapi.MayUseSet}), UI: ui.AllowTiles(ui.Handler(optional...), ground.Origin()), Manual: manual.New(),
		Metrics: metrics.Handler(p.registry, p.log),
		Token:   string(p.cfg.HTTP.Token), Keys: p.keys, KeyRequired: p.keyRequired(p.cfg.HTTP.Listen),
		Audit: p.audit, SessionSecret: secret, CORSOrigins: p.cfg.HTTP.Origins(), Profile: p.cfg.HTTP.Profile,
		MaxBody: int64(p.cfg.Limits.Body), MaxPage: p.maxPage(), MaxAhead: maxAhead,
		Doors: &p.doors, Fences: p.fenceOptions(), Version: p.opts.Version, BusURL: p.BusURL(), Demo: p.opts.Demo,
		Tunnel: p.overview(), Leader: p.leader(), ToLeader: p.toLeader(), Cluster: p.clusterStatus(), DrainLeader: p.drainLeader(), Doctor: p.examined.Load, BugReport: p.bugReport, Bus: p.busOverview, Wire: p.wireOverview,
	})
	listener, err := listen.Listen(ctx, p.cfg.HTTP.Listen, p.cfg.HTTP.Authenticated() || p.keys.Len() > 0)
	if err != nil {
		return p.listenError("http.listen", err)
	}
	p.listener = listen.Limit(listener, p.cfg.Limits.Connections)
	p.positions, err = busapi.OpenPositions(p.pipeline, p.bus.Local("positions"), maxAhead, p.doors.Open("bus"))
	if err != nil {
		return errors.Join(err, p.listener.Close())
	}
	p.search, err = busapi.OpenSearch(p.bus.Local("search"), p.catalog, int(p.cfg.Bus.MaxPayload))
	if err != nil {
		return errors.Join(err, p.positions.Close(), p.listener.Close())
	}
	p.ruleRequests, err = busapi.OpenRules(p.bus.Local("rules"), &ruleapi.Rules{
		Book: p.book, Catalog: p.catalog, Refusing: p.pipeline.Refusing, Settle: p.pipeline.Settle, From: "bus", Audit: p.audit,
	}, p.keys, int(p.cfg.Bus.MaxPayload), p.asker())
	if err != nil {
		return errors.Join(err, p.search.Close(), p.positions.Close(), p.listener.Close())
	}
	if p.member != nil {
		answer := func(request []byte, respond func([]byte, error)) {
			p.ruleRequests.Answer(request, func(answer []byte) { respond(answer, nil) })
		}
		if _, err := p.member.node.Answer(rulesKind, p.pipeline, answer); err != nil { // it ends with the connection
			return errors.Join(err, p.ruleRequests.Close(ctx), p.search.Close(), p.positions.Close(), p.listener.Close())
		}
	}
	registerRequests(p.registry, p.search, p.ruleRequests)
	p.server = httpapi.NewServer(p.api, p.log)
	registerHTTP(p.registry, p.listener, p.server, p.api, p.catalog)
	registerSets(p.registry, p.sets)
	p.registry.MustRegister(&p.doors)
	p.log.Info("http listening", "url", p.URL())
	if p.catalog.Len() == 0 {
		p.log.Info("no fences yet: start with --sets DIR, or PUT a GeoJSON file", "example", "curl -T FILE "+p.URL()+"v1/sets/NAME")
	}
	return nil
}

func (p *Platform) serveHTTP(context.Context) error {
	if err := p.server.Serve(p.secured(p.listener)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// closeDoors stops accepting positions. The HTTP server stops accepting connections at once, but
// goes on serving the streams, which end later.
func (p *Platform) closeDoors(ctx context.Context) error {
	p.api.Drain()
	err := errors.Join(p.positions.Close(), p.search.Close(), p.ruleRequests.Close(ctx))
	p.server.Stop()
	go func() { p.stopped <- p.server.Shutdown(ctx) }() // ends with ctx at the latest; awaitHTTP waits for it
	return err
}

// awaitHTTP waits for the requests in progress and for the streams.
func (p *Platform) awaitHTTP(ctx context.Context) error {
	if p.server == nil {
		return nil // the doors never opened
	}
	p.api.Close(ctx)
	if err := <-p.stopped; err != nil {
		return errors.Join(err, p.server.Close())
	}
	return nil
}
