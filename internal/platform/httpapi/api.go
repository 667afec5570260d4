// Package httpapi serves Paddock over HTTP: the original gofence API, /v1, the live feed of the
// dashboard, health and metrics.
//
// Handlers hold no state: positions go to the ingest pipeline, look-ups read a snapshot of the
// fences, events are read from the log. Client errors are answered as application/problem+json (RFC
// 9457), with the field or the position.
package httpapi

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/cluster"
	"paddock/internal/platform/deliver/hooks"
	"paddock/internal/platform/deliver/sinks"
	"paddock/internal/platform/directory"
	"paddock/internal/platform/doctor"
	"paddock/internal/platform/doors"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/httpapi/gofence"
	"paddock/internal/platform/httpapi/runs"
	"paddock/internal/platform/httpapi/tiles"
	"paddock/internal/platform/httpapi/tiles/basemap"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal/audit"
	"paddock/internal/platform/rulebook"
	"paddock/internal/platform/rulebook/ruleapi"
	"paddock/internal/process/keyring"
)

// DefaultMaxBody bounds the body of a request, in bytes.
const DefaultMaxBody = 64 << 20

// Config configures New. All fields of the first group are required.
type Config struct {
	Catalog  *fence.Catalog
	Pipeline *ingest.Pipeline
	Log      *events.Log

	Doors   *doors.Doors     // counts positions by interface; nil: none are counted
	Book    *rulebook.Book   // policies and rules; nil: none, and none can be added
	History *history.History // past positions and visits; nil: none
	// Erased is called after the past of an object was removed here. Nil: no call.
	Erased  func(fleet, id string) error
	Hooks   *hooks.Hooks            // nil: none
	Sinks   *sinks.Sinks            // nil: none
	Files   func() directory.Status // state of the sets' files; nil: none
	Gofence *gofence.Handler        // the original API; nil: none
	UI      http.Handler            // the dashboard; nil: none
	Manual  http.Handler            // the documents, below /docs/; nil: none
	Metrics http.Handler            // nil: none
	Basemap *basemap.Basemap        // below the fences of the dashboard; nil: none
	Runs    *runs.Directory         // of the lab; nil: none

	Token         string        // required of clients, as that of an administrator; "": none
	Keys          *keyring.Ring // nil: none
	KeyRequired   bool          // of every request; else only keys that are given are checked
	SessionSecret []byte        // under which browsers hold sessions; nil: they end with the process
	CORSOrigins   []string      // whose pages may read answers, such as https://example.org
	Audit         *audit.Log    // of changes; nil: none

	Profile  bool          // serve /debug/pprof
	MaxBody  int64         // bytes; 0 means DefaultMaxBody. All large bodies and answers together: four times that
	MaxPage  int           // bytes of fences that are stored together, see fence.StoredSize; 0: no bound
	MaxAhead track.Millis  // see ingest.Decoder
	Fences   fence.Options // of sets that are created at run time
	Version  string
	BusURL   string // sent to the dashboard; "": none
	Demo     bool   // tells the dashboard to explain itself

	// Tunnel returns the state of the tunnel's server: clients and tunnels whose names contain
	// find, at most most of each; nil: there is no tunnel.
	Tunnel func(find string, most int) any

	// Doctor returns what examines the platform, or nil while it starts. Nil: there is none.
	Doctor func() *doctor.Facts

	// Bus and Wire return the state of the bus and of the wire door likewise: all counters, and at
	// most most of the connections in whose names, users or addresses find occurs; nil: none.
	Bus, Wire func(find string, most int) any

	// BugReport writes an archive for a bug report, with coordinates or without; nil: none.
	BugReport func(ctx context.Context, w io.Writer, positions bool) error

	// Leader returns the URL of the node that makes changes, if that is another one; "": no node
	// does at present. Nil: this one does.
	Leader func() (url string, here bool)
	// ToLeader makes the requests to it. Nil: http.DefaultTransport.
	ToLeader http.RoundTripper

	// Cluster returns what this node knows of its cluster. Nil: there is one node.
	Cluster func(ctx context.Context) *cluster.Status

	// DrainLeader gives the role of the leader, which this node has, to another one, after it has
	// called note with its name. The name of another node is refused; "" is this one. Nil: there is
	// one node.
	DrainLeader func(node string, note func(own string) error) error

	// Backup writes a backup of the present state, with secrets or without; nil: nothing is kept.
	Backup func(ctx context.Context, w io.Writer, secrets bool) error

	// Zeros stand for the defaults given here.
	MaxSets      int           // bound for the creation of sets; 1,000
	MaxLive      int           // dashboards at once; 1,000
	BodyTimeout  time.Duration // for a request's body; 1 minute
	WriteTimeout time.Duration // for a write to a subscriber; 10 s
	Heartbeat    time.Duration // of a quiet stream of events; 15 s
}

// withDefaults returns c with the defaults for zeros.
func (c Config) withDefaults() Config {
	c.MaxBody = cmp.Or(c.MaxBody, DefaultMaxBody)
	c.MaxSets = cmp.Or(c.MaxSets, 1000)
	c.MaxLive = cmp.Or(c.MaxLive, 1000)
	c.BodyTimeout = cmp.Or(c.BodyTimeout, time.Minute)
	c.WriteTimeout = cmp.Or(c.WriteTimeout, 10*time.Second)
	c.Heartbeat = cmp.Or(c.Heartbeat, 15*time.Second)
	return c
}

// API is the HTTP API. Close it after its server has stopped accepting.
type API struct {
	cfg     Config
	gate    *gate
	handler http.Handler
	live    *liveHub
	memory  *budget.Budget
	etags   etags
	tiles   *tiles.Cache
	refused refusals
	rules   ruleapi.Rules
	door    *doors.Door // of POST /v1/positions

	making sync.Mutex // held while a set is created or removed, or its policy is changed
	backup sync.Mutex // held while a backup is written

	mu       sync.Mutex
	draining bool
	viewers  int            // open live feeds
	streams  sync.WaitGroup // hijacked connections, for which no http.Server waits
	ctx      context.Context
	cancel   context.CancelFunc
}

// New returns the API.
func New(cfg Config) *API {
	cfg = cfg.withDefaults()
	if cfg.Book == nil {
		cfg.Book = rulebook.New(track.Policy{})
	}
	a := &API{cfg: cfg, gate: newGate(&cfg), memory: budget.New(bodiesAtOnce * cfg.MaxBody), etags: newETags(cfg.Leader != nil), tiles: tiles.NewCache()}
	a.rules = ruleapi.Rules{Audit: cfg.Audit, Book: cfg.Book, Catalog: cfg.Catalog, Refusing: cfg.Pipeline.Refusing, Settle: cfg.Pipeline.Settle}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.live = newLiveHub(&a.cfg)
	a.door = cfg.Doors.Open("http")
	a.handler = a.protect(a.routes())
	return a
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.limitBody(w, r)
	a.handler.ServeHTTP(w, cutKey(r))
}

// Drain makes /readyz answer 503, so that load balancers choose another server.
func (a *API) Drain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.draining = true
}

// Close waits for the end of the live feeds, which end with the event log. When ctx ends first,
// Close cuts them.
func (a *API) Close(ctx context.Context) {
	stop := context.AfterFunc(ctx, a.cancel)
	defer stop()
	a.mu.Lock()
	a.draining = true
	a.mu.Unlock()
	a.streams.Wait()
	a.cancel()
}

func (a *API) isDraining() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.draining
}

// refusals counts requests refused at a bound.
type refusals struct{ sets, live atomic.Uint64 }

// Stats holds the state and counts of the API.
type Stats struct {
	Live int // connected dashboards

	// Requests refused since the start: to create a set, to open a live feed, to use more memory
	// for large bodies and answers.
	RefusedSets, RefusedLive, RefusedLarge uint64
	Paused                                 uint64 // because of wrong tokens from their address

	Tiles tiles.Stats
}

// Stats returns the state and the counts.
func (a *API) Stats() Stats {
	a.mu.Lock()
	live := a.viewers
	a.mu.Unlock()
	return Stats{
		Live: live, RefusedSets: a.refused.sets.Load(),
		RefusedLive: a.refused.live.Load(), RefusedLarge: a.memory.Refused(),
		Paused: a.gate.guard.Paused(), Tiles: a.tiles.Stats(),
	}
}

// plain returns h for requests without parameters.
func plain(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := params(r); err != nil {
			return err
		}
		return h(w, r)
	}
}

// inSet returns h for requests about the set in the path, with the known parameters.
func (a *API) inSet(h func(w http.ResponseWriter, r *http.Request, s *fence.Set) error, known ...string) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := params(r, known...); err != nil {
			return err
		}
		s, err := a.set(r)
		if err != nil {
			return err
		}
		return h(w, r, s)
	}
}

// v1 returns the handlers of /v1, which openapi.json describes.
func (a *API) v1() map[string]handler {
	const readSets = keyring.Lookup | keyring.SetsWrite
	return map[string]handler{
		"GET /v1/sets":                         permit(readSets, plain(a.getSets)),
		"GET /v1/sets/{set}":                   permit(readSets, a.inSet(a.getSet, "findings")),
		"PUT /v1/sets/{set}":                   permit(keyring.SetsWrite, plain(a.putSet)),
		"POST /v1/sets/{set}":                  permit(keyring.SetsWrite, plain(a.postSet)),
		"DELETE /v1/sets/{set}":                permit(keyring.SetsWrite, a.inSet(a.deleteSet)),
		"GET /v1/sets/{set}/fences":            permit(readSets, a.getFences),
		"GET /v1/sets/{set}/fences/{id}":       permit(readSets, a.inSet(a.getFence)),
		"PUT /v1/sets/{set}/fences/{id}":       permit(keyring.SetsWrite, a.putFence),
		"DELETE /v1/sets/{set}/fences/{id}":    permit(keyring.SetsWrite, a.inSet(a.deleteFence)),
		"GET /v1/sets/{set}/tiles/{z}/{x}/{y}": permit(readSets, a.inSet(a.getTile, "v")),
		"GET /v1/sets/{set}/policy":            permit(readSets, a.inSet(a.getPolicy)),
		"PUT /v1/sets/{set}/policy":            permit(keyring.SetsWrite, a.inSet(a.putPolicy)),
		"DELETE /v1/sets/{set}/policy":         permit(keyring.SetsWrite, a.inSet(a.deletePolicy)),
		"GET /v1/rules":                        permit(keyring.RulesWrite, a.getRules),
		"POST " + dryRunPath:                   permit(keyring.RulesWrite, plain(a.postDryRun)),
		"GET /v1/rules/{id}":                   permit(keyring.RulesWrite, a.getRule),
		"PUT /v1/rules/{id}":                   permit(keyring.RulesWrite, plain(a.putRule)),
		"PATCH /v1/rules/{id}":                 permit(keyring.RulesWrite, plain(a.patchRule)),
		"DELETE /v1/rules/{id}":                permit(keyring.RulesWrite, plain(a.deleteRule)),
		"GET /v1/webhooks":                     permit(keyring.Admin, a.withHooks(a.getWebhooks, "after", "limit")),
		"GET /v1/webhooks/{id}":                permit(keyring.Admin, a.withHooks(a.getWebhook)),
		"PUT /v1/webhooks/{id}":                permit(keyring.Admin, a.changeHook(putWebhook)),
		"PATCH /v1/webhooks/{id}":              permit(keyring.Admin, a.changeHook(patchWebhook)),
		"DELETE /v1/webhooks/{id}":             permit(keyring.Admin, a.changeHook(deleteWebhook)),
		"POST /v1/webhooks/{id}/retry":         permit(keyring.Admin, a.changeHook(operate((*hooks.Hooks).Retry))),
		"POST /v1/webhooks/{id}/enable":        permit(keyring.Admin, a.changeHook(operate((*hooks.Hooks).Enable))),
		"POST /v1/webhooks/{id}/disable":       permit(keyring.Admin, a.changeHook(operate((*hooks.Hooks).Disable))),
		"POST /v1/webhooks/{id}/replay":        permit(keyring.Admin, a.changeHook(replayWebhook)),
		"GET /v1/webhooks/{id}/deadletters":    permit(keyring.Admin, a.withHooks(a.getDeadLetters, "after", "limit")),
		"GET /v1/webhooks/{id}/attempts":       permit(keyring.Admin, a.withHooks(a.getAttempts)),
		"GET /v1/sinks":                        permit(keyring.Admin, plain(a.getSinks)),
		"GET /v1/sinks/{id}/attempts":          permit(keyring.Admin, plain(a.getSinkAttempts)),
		"POST /v1/sinks/{id}/retry":            permit(keyring.Admin, plain(a.operateSink(sinks.Retry))),
		"POST /v1/sinks/{id}/enable":           permit(keyring.Admin, plain(a.operateSink(sinks.Enable))),
		"POST /v1/sinks/{id}/disable":          permit(keyring.Admin, plain(a.operateSink(sinks.Disable))),
		"GET /v1/search":                       permit(keyring.Lookup, a.getSearch),
		"POST /v1/search":                      permit(keyring.Lookup, a.postSearch),
		"POST /v1/positions":                   permit(keyring.PositionsWrite, a.postPositions),
		"GET /v1/positions":                    permit(keyring.ObjectsRead, a.getPositions),
		"GET /v1/objects":                      permit(keyring.ObjectsRead, a.getObjects),
		"GET /v1/objects/{id}":                 permit(keyring.ObjectsRead, a.getObject),
		"DELETE /v1/objects/{id}":              permit(keyring.Admin, a.deleteObject),
		"GET /v1/objects/{id}/track":           permit(keyring.ObjectsRead, a.getTrack),
		"GET /v1/objects/{id}/forecast":        permit(keyring.ObjectsRead, a.getForecast),
		"GET /v1/visits":                       permit(keyring.ObjectsRead, a.getVisits),
		"GET /v1/events":                       permit(keyring.EventsRead, a.getEvents),
		"GET /v1/live":                         permit(keyring.EventsRead|keyring.ObjectsRead, plain(a.getLive)),
		"GET /v1/basemap":                      permit(keyring.EventsRead|keyring.ObjectsRead, plain(a.getBasemap)),
		"GET /v1/doctor":                       permit(keyring.Admin, a.getDoctor),
		"GET /v1/bugreport":                    permit(keyring.Admin, a.getBugReport),
		"GET /v1/doors":                        permit(keyring.Admin, plain(a.getDoors)),
		"GET /v1/tunnel":                       permit(keyring.Admin, a.overview(a.cfg.Tunnel, "there is no tunnel here: the file that paddock up was given has no section tunnel")),
		"GET /v1/bus":                          permit(keyring.Admin, a.overview(a.cfg.Bus, "there is no bus here")),
		"GET /v1/wire":                         permit(keyring.Admin, a.overview(a.cfg.Wire, "there is no wire door here")),
		"GET /v1/runs":                         permit(keyring.Admin, plain(a.getRuns)),
		"GET /v1/runs/{name}/report":           permit(keyring.Admin, plain(a.getRunReport)),
		"GET /v1/cluster":                      permit(keyring.Admin, plain(a.getCluster)),
		"POST /v1/cluster/drain":               permit(keyring.Admin, plain(a.postDrain)),
		"POST /v1/qr":                          permit(keyring.Admin, plain(a.postQR)),
		"POST /v1/backup":                      permit(keyring.Admin, a.postBackup),
		"DELETE " + sessionPath:                plain(a.deleteSession),
		"POST " + sessionPath:                  plain(a.postSession),
		"GET " + sessionPath:                   plain(a.getSession),
		"GET /v1/audit":                        permit(keyring.Admin, a.getAudit),
		"GET /v1/keys":                         permit(keyring.Admin, plain(a.getKeys)),
		"POST /v1/keys":                        permit(keyring.Admin, plain(a.postKey)),
		"GET /v1/keys/{name}":                  permit(keyring.Admin, plain(a.getKey)),
		"PATCH /v1/keys/{name}":                permit(keyring.Admin, plain(a.patchKey)),
		"DELETE /v1/keys/{name}":               permit(keyring.Admin, plain(a.deleteKey)),
		"POST /v1/keys/{name}/secret":          permit(keyring.Admin, plain(a.postSecret)),
		"GET /v1/openapi.json":                 plain(getOpenAPI),

		"POST /v1/webhooks/{id}/deadletters/{cursor}/replay": permit(keyring.Admin, a.changeHook(replayDeadLetter)),
	}
}

func (a *API) routes() http.Handler {
	mux := http.NewServeMux()
	allowed := map[string][]string{} // methods by path
	for pattern, h := range a.v1() {
		method, path, _ := strings.Cut(pattern, " ")
		if method != http.MethodGet && strings.HasPrefix(path, "/v1/sets") {
			h = a.whileStored(h)
		}
		mux.Handle(pattern, h)
		if allowed[path] = append(allowed[path], method); method == http.MethodGet {
			allowed[path] = append(allowed[path], http.MethodHead)
		}
	}
	for path, methods := range allowed {
		if path != dryRunPath { // other methods there are about a rule of that id
			mux.Handle(path, otherMethods(methods))
		}
	}
	mux.Handle("/v1/", handler(a.notInV1))
	mux.Handle("GET /healthz", getHealth)
	mux.Handle("GET /readyz", handler(a.getReady))
	if a.cfg.Metrics != nil {
		mux.Handle("GET /metrics", permit(keyring.Admin, plainly(a.cfg.Metrics)))
		mux.Handle("/metrics", otherMethods([]string{http.MethodGet, http.MethodHead}))
	}
	mux.Handle("/healthz", otherMethods([]string{http.MethodGet, http.MethodHead}))
	mux.Handle("/readyz", otherMethods([]string{http.MethodGet, http.MethodHead}))
	if a.cfg.Profile {
		profile(mux)
	}
	if a.cfg.Manual != nil {
		mux.Handle("/docs/", http.StripPrefix("/docs", a.cfg.Manual))
	}
	if a.cfg.UI != nil {
		mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
			a.cfg.UI.ServeHTTP(&problemWriter{ResponseWriter: w}, r)
		})
	}
	return a.dispatch(mux)
}

// dispatch chooses a router before another router could clean the path in its own way.
func (a *API) dispatch(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r = a.fromClient(r)
		_, fromDevice := device(r)
		switch {
		case a.isForLeader(r) && a.toLeader(w, r):
		case fromDevice:
			permit(keyring.PositionsWrite, a.takeReport).ServeHTTP(w, r)
		case a.cfg.Gofence != nil && gofence.Owns(r.URL.Path):
			a.cfg.Gofence.ServeHTTP(w, r)
		case strings.HasPrefix(r.URL.Path, "/v1/"):
			mux.ServeHTTP(&problemWriter{ResponseWriter: w}, r)
		default:
			mux.ServeHTTP(w, r)
		}
	})
}

// plainly returns h as a handler that does not fail.
func plainly(h http.Handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		h.ServeHTTP(w, r)
		return nil
	}
}

// otherMethods refuses the methods that a path does not have. The mux itself does not, because of
// the pattern for all of /v1.
func otherMethods(allowed []string) handler {
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return func(w http.ResponseWriter, _ *http.Request) error {
		w.Header().Set("Allow", allow)
		return fail(http.StatusMethodNotAllowed, "this path takes %s", allow)
	}
}

func (a *API) notInV1(_ http.ResponseWriter, r *http.Request) error {
	return fail(http.StatusNotFound, "no endpoint %.256s; GET /v1/openapi.json lists them", r.URL.Path)
}
