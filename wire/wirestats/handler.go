// Package wirestats shows the counters of connections of package wire: over HTTP, through expvar,
// and to Prometheus. It is a package of its own, so that programs without it do not link these.
//
// The counters are read on request; nothing runs in between. A request takes the lock of each
// connection for a moment.
package wirestats

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"paddock/internal/process/metrics"
	"paddock/wire"
)

// Transport is one connection in the answer of /transports.
type Transport struct {
	Name     string    `json:"name"` // what /statistics?name= takes
	Role     string    `json:"role"` // dialer or acceptor: what this side is
	Local    string    `json:"local"`
	Peer     string    `json:"peer"`               // its address
	Since    time.Time `json:"since"`              // UTC
	Agent    string    `json:"agent,omitempty"`    // what the peer's HELLO says it is
	Identity string    `json:"identity,omitempty"` // what Verify found it to be
}

// Handler answers, in JSON:
//
//	GET /transports               the connections that are open, as []Transport, the oldest first
//	GET /statistics               the counters of all of them together
//	GET /statistics?name=NAME     those of one
//	GET /statistics?keys=A,B      some counters only, by the names of wire.StatNames
//
// An unknown name or key is answered 404 with a line of text that names it. The caller mounts the
// handler on a mux, behind http.StripPrefix if it is not at the root, and guards it: it shows the
// addresses of the peers.
func Handler(s Source) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /transports", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, transports(s))
	})
	mux.HandleFunc("GET /statistics", func(w http.ResponseWriter, r *http.Request) {
		counters, err := statistics(s, r)
		if err != nil {
			http.Error(w, err.Error(), http.StatusNotFound)
			return
		}
		answer(w, counters)
	})
	return mux
}

func answer(w http.ResponseWriter, v any) {
	b, err := json.Marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(append(b, '\n'))
}

func transports(s Source) []Transport {
	list := []Transport{}
	for c := range s.All() {
		t := Transport{
			Name: c.Name(), Role: "acceptor",
			Local: c.LocalAddr().String(), Peer: c.RemoteAddr().String(), Since: c.Since().UTC(),
		}
		if c.Dialed() {
			t.Role = "dialer"
		}
		if peer := c.Peer(); peer != nil {
			t.Agent = peer.Agent
		}
		if who, ok := c.Identity().(fmt.Stringer); ok {
			t.Identity = who.String()
		}
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b Transport) int {
		return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// statistics returns the counters that a request asks for. The error names a connection or a
// counter that does not exist.
func statistics(s Source, r *http.Request) (map[string]int64, error) {
	query := r.URL.Query()
	stats, err := find(s, query["name"])
	if err != nil {
		return nil, err
	}
	all := stats.Map()
	if !query.Has("keys") {
		return all, nil
	}
	some := map[string]int64{}
	for _, key := range strings.Split(strings.Join(query["keys"], ","), ",") {
		n, ok := all[key]
		if !ok {
			return nil, fmt.Errorf("no counter has the name %q; there are %s", key, strings.Join(wire.StatNames(), " "))
		}
		some[key] = n
	}
	return some, nil
}

// find returns the counters of the connections with the given names together, and
// without names those of all.
func find(s Source, names []string) (sum wire.Stats, err error) {
	if len(names) == 0 {
		return Total(s), nil
	}
	found := map[string]*wire.Conn{}
	for c := range s.All() {
		if name := c.Name(); slices.Contains(names, name) {
			found[name] = c
		}
	}
	for _, name := range names {
		c := found[name]
		if c == nil {
			return sum, fmt.Errorf("no open connection has the name %q", name)
		}
		sum.Add(c.Stats())
	}
	return sum, nil
}

// Server exports a server's counts of new connections, as paddock_wire_*. It is registered once for
// a registry, beside Collector.
func Server(s *wire.Server) prometheus.Collector { return serverFigures.Of(s.Stats) }

var serverFigures = metrics.Figures[wire.ServerStats]{
	metrics.Gauge("paddock_wire_connections", "Open wire connections.", func(s *wire.ServerStats) int { return s.Conns }),
	metrics.Gauge("paddock_wire_opening", "Wire connections that have not said who they are yet.", func(s *wire.ServerStats) int { return s.Opening }),
	metrics.Gauge("paddock_wire_waiting", "Wire connections that wait until they may begin with that.", func(s *wire.ServerStats) int { return s.Waiting }),
	metrics.Counter("paddock_wire_accepted_total", "Wire connections that were opened.", func(s *wire.ServerStats) uint64 { return s.Accepted }),
	metrics.Counter("paddock_wire_refused_total", "Wire connections refused because too many were open, or waited.", func(s *wire.ServerStats) uint64 { return s.Refused }),
	metrics.Counter("paddock_wire_failed_total", "Wire connections that were not wire, too late, or not let in.", func(s *wire.ServerStats) uint64 { return s.Failed }),
	metrics.Counter("paddock_wire_crowded_total", "Of those that failed: had kept the server waiting when there was no room to open others.", func(s *wire.ServerStats) uint64 { return s.Crowded }),
	metrics.Counter("paddock_wire_paused_total", "Wire connections hung up on, since others from their address had failed.", func(s *wire.ServerStats) uint64 { return s.Paused }),
}
