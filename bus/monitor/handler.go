// Package monitor answers the monitoring requests of the protocol's tools over HTTP: the broker's
// state at /varz, connections at /connz, subscriptions at /subsz, and so on, with the paths, names
// and types that those tools know. /metrics is for Prometheus, and /topz lists busy subjects.
//
// State is read on request; nothing runs in between. A list takes the lock of one connection after
// the other, never of two, so publishers are not delayed.
//
// This broker has no clusters, leaf nodes, JetStream and accounts. Requests for these get the
// answer of a single server that uses none.
package monitor

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"paddock/bus"
)

// Options are facts about the program that serves the answers. The zero value is valid.
type Options struct {
	Host     string // of the address at which the answers are served, for /varz
	Port     int    // 0 = not without TLS
	TLSPort  int    // 0 = not with TLS
	BasePath string // prefix of every path; "" = none
	// Config returns the last load of the configuration. nil = only the server's start.
	Config func() Loaded
	// Profile shows the stacks of all goroutines on /stacksz.
	Profile bool
	// Metrics answers /metrics. nil = the figures of the bus alone.
	Metrics http.Handler
}

// Loaded is a configuration that was loaded.
type Loaded struct {
	Time     time.Time
	Digest   string
	Tags     []string
	Metadata map[string]string
}

// monitor holds the common parts of the answers.
type monitor struct {
	srv   *bus.Server
	opts  Options
	usage processUsage

	mu       sync.Mutex // guards requests
	requests map[string]uint64
}

// endpoint is one path and its answer: a value for JSON, unless the query has an error. A counted
// one is in http_req_stats, under its name.
type endpoint struct {
	path, name string
	answer     func(q *query) any
}

// Handler answers monitoring requests about s. The HTTP method makes no difference, as in the
// reference server. The caller guards the handler: it shows the addresses of clients and the names
// of users.
func Handler(s *bus.Server, o Options) http.Handler {
	if o.BasePath = "/" + strings.Trim(o.BasePath, "/"); o.BasePath == "/" {
		o.BasePath = ""
	}
	m := &monitor{srv: s, opts: o, requests: make(map[string]uint64)}
	m.usage.start()
	mux := http.NewServeMux()
	for _, e := range m.endpoints() {
		mux.HandleFunc(o.BasePath+e.path, func(w http.ResponseWriter, r *http.Request) { m.serve(w, r, e) })
	}
	mux.HandleFunc(o.BasePath+"/{$}", m.root)
	mux.HandleFunc(o.BasePath+"/healthz", m.healthz)
	mux.HandleFunc(o.BasePath+"/raftz", raftz)
	if o.Metrics == nil {
		o.Metrics = metrics(s)
	}
	mux.Handle(o.BasePath+"/metrics", o.Metrics)
	mux.HandleFunc(o.BasePath+"/debug/vars", vars)
	if o.Profile {
		mux.HandleFunc(o.BasePath+"/stacksz", stacks)
	}
	return mux
}

func (m *monitor) endpoints() []endpoint {
	return []endpoint{
		{"/varz", "/varz", m.varz},
		{"/connz", "/connz", m.connz},
		{"/subsz", "/subsz", m.subsz},
		{"/subscriptionsz", "/subsz", m.subsz},
		{"/routez", "/routez", m.routez},
		{"/gatewayz", "/gatewayz", m.gatewayz},
		{"/leafz", "/leafz", m.leafz},
		{"/accountz", "/accountz", m.accountz},
		{"/accstatz", "/accstatz", m.accstatz},
		{"/jsz", "/jsz", m.jsz},
		{"/ipqueuesz", "", ipqueuesz},
		{"/topz", "", m.topz},
	}
}

func (m *monitor) serve(w http.ResponseWriter, r *http.Request, e endpoint) {
	m.count(e.name)
	q := &query{Values: r.URL.Query()}
	v := e.answer(q)
	if q.err != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, q.err)
		return
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		panic(err) // numbers, texts and times only
	}
	respond(w, http.StatusOK, b)
}

func respond(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.WriteHeader(code)
	_, _ = w.Write(body)
}

// count adds one to an endpoint's requests.
func (m *monitor) count(name string) {
	if name == "" {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[name]++
}

func (m *monitor) counts() map[string]uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.requests)
}
