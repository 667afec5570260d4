package tunneld

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"paddock/internal/platform/ui"
	"paddock/tunnel/server"
)

// Overview holds the figures of the tunnel that the dashboard shows, at one moment. Counters count
// from the server's start; the page computes rates from them.
type Overview struct {
	T           int64         `json:"t"` // Unix ms
	Figures     Figures       `json:"figures"`
	Refused     []RefusedLine `json:"refused"`   // one for each reason that has occurred
	Overloads   []CountLine   `json:"overloads"` // refusals for want of capacity, by bound; in a group one for each member that refused
	Sessions    []SessionLine `json:"sessions"`
	SessionsAll int           `json:"sessions_all"` // that match, of which Sessions are the first
	Tunnels     []TunnelLine  `json:"tunnels"`
	TunnelsAll  int           `json:"tunnels_all"`
}

// Figures holds the counts of the whole server, and the bounds of the bounded ones.
type Figures struct {
	Sessions      int    `json:"sessions"`
	SessionsLimit int    `json:"sessions_limit"`
	Names         int    `json:"names"`
	Away          int    `json:"away"`    // names without a connected client
	Waiting       int    `json:"waiting"` // visitors that wait for one of these
	Visitors      int    `json:"visitors"`
	VisitorsLimit int    `json:"visitors_limit"`
	Requests      int    `json:"requests"`
	RequestsLimit int    `json:"requests_limit"`
	Streams       int    `json:"streams"`
	StreamsLimit  int    `json:"streams_limit"`
	Queued        int    `json:"queued"` // requests that wait for capacity
	Bytes         int64  `json:"bytes"`  // accounted to current work
	BytesLimit    int64  `json:"bytes_limit"`
	Begun         uint64 `json:"begun"` // exchanges that were let in
	Served        uint64 `json:"served"`
	Cancelled     uint64 `json:"cancelled"`
	Takeovers     uint64 `json:"takeovers"`
	Resent        uint64 `json:"resent"`   // exchanges, to another member of a group or over another connection
	Received      int64  `json:"received"` // bytes from clients
	Sent          int64  `json:"sent"`
}

// RefusedLine counts the visitors that were refused for one reason.
type RefusedLine struct {
	Stage  string `json:"stage"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// CountLine is a number with its name.
type CountLine struct {
	Of    string `json:"of"`
	Count uint64 `json:"count"`
}

// TunnelLine is a name or an address that a client holds.
type TunnelLine struct {
	server.Held
	Begun uint64 `json:"begun"` // exchanges that were let in
}

// lookEvery is how often the server is looked at, however many pages are open: a look goes
// over all clients.
const lookEvery = 500 * time.Millisecond

// look is the result of one evaluation. It is immutable.
type look struct {
	at       time.Time
	stats    server.Stats
	sessions []server.Session
	held     []server.Held
}

// looks caches the last look for concurrent requests.
type looks struct {
	mu   sync.Mutex
	last *look // guarded by mu
}

// get returns a look that is younger than lookEvery.
func (l *looks) get(s *server.Server) *look {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.last == nil || now.Sub(l.last.at) >= lookEvery {
		l.last = &look{now, s.Stats(), s.Sessions(), s.Held()}
	}
	return l.last
}

// Overview shows the clients and tunnels of which a name contains find, at most so many of
// each.
func (r *Role) Overview(find string, most int) Overview {
	now := r.looks.get(r.tunnel)
	find = strings.ToLower(find)
	found := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return strings.Contains(strings.ToLower(name), find) })
	}
	o := Overview{
		T: now.at.UnixMilli(), Figures: figuresOf(&now.stats), Refused: refusedLines(&now.stats), Overloads: overloadLines(&now.stats),
		Sessions: []SessionLine{}, Tunnels: []TunnelLine{},
	}
	for i := range now.sessions {
		x := &now.sessions[i]
		if !found(x.Identity) && !found(x.Bindings...) {
			continue
		}
		if o.SessionsAll++; len(o.Sessions) < most {
			line := r.roster.line(x)
			line.Names = append([]string{}, line.Names...) // never null
			o.Sessions = append(o.Sessions, line)
		}
	}
	for i := range now.held {
		x := &now.held[i]
		if !found(x.Identity, x.At, x.Group) {
			continue
		}
		if o.TunnelsAll++; len(o.Tunnels) < most {
			o.Tunnels = append(o.Tunnels, TunnelLine{*x, x.Begun.Requests + x.Begun.Streams})
		}
	}
	return o
}

// Overloads returns the number of refusals for want of capacity since the start.
func (r *Role) Overloads() (n uint64) {
	for _, count := range r.tunnel.Stats().Overloads {
		n += count
	}
	return n
}

func figuresOf(s *server.Stats) Figures {
	l := &s.Limits
	return Figures{
		Sessions: s.Sessions, SessionsLimit: l.Sessions, Names: s.Names, Away: s.Away, Waiting: s.Waiting,
		Visitors: s.Visitors, VisitorsLimit: l.Visitors, Requests: s.Requests, RequestsLimit: l.Requests,
		Streams: s.Streams, StreamsLimit: l.Streams, Queued: s.Queued, Bytes: s.Bytes, BytesLimit: l.Bytes,
		Begun: s.Begun.Requests + s.Begun.Streams, Served: s.Served, Cancelled: s.Cancelled, Takeovers: s.Takeovers, Resent: s.Resent,
		Received: s.Link.Received, Sent: s.Link.Sent,
	}
}

// refusedLines are in the order of a visitor's way.
func refusedLines(s *server.Stats) []RefusedLine {
	lines := []RefusedLine{}
	for _, reason := range server.Reasons() {
		if n := s.Refused[reason.String()]; n > 0 {
			lines = append(lines, RefusedLine{reason.Stage(), reason.String(), n})
		}
	}
	return lines
}

func overloadLines(s *server.Stats) []CountLine {
	lines := []CountLine{}
	for _, of := range slices.Sorted(maps.Keys(s.Overloads)) {
		if n := s.Overloads[of]; n > 0 {
			lines = append(lines, CountLine{of, n})
		}
	}
	return lines
}

// maxShown bounds the clients, and the tunnels, of one answer: with 32 names of 253 bytes a
// client it stays below 2 MB.
const defaultShown, maxShown = 100, 200

// show serves the dashboard's page of the tunnel on m, and GET /v1/tunnel, from which the page
// reads. The paths are those of the platform.
func (r *Role) show(m *http.ServeMux) {
	m.HandleFunc("GET /v1/tunnel", func(w http.ResponseWriter, ask *http.Request) {
		most, query := defaultShown, ask.URL.Query()
		if s := query.Get("limit"); s != "" {
			var err error
			if most, err = strconv.Atoi(s); err != nil || most < 1 || most > maxShown {
				http.Error(w, fmt.Sprintf("limit is 1 to %d", maxShown), http.StatusBadRequest)
				return
			}
		}
		tell(w, r.Overview(query.Get("find"), most))
	})
	m.Handle("/", ui.TunnelHandler())
}
