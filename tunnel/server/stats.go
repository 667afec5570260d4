package server

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/admission"
)

// Stats holds the current figures and the totals of a Server. Without work and visitors the current
// figures return to their idle values: Sessions and Names count the connected clients, all others
// are zero.
type Stats struct {
	Sessions   int   `json:"sessions"`   // clients that are connected
	Names      int   `json:"names"`      // hosts and addresses that are held
	Away       int   `json:"away"`       // of these, those whose clients are away, all of them; their leases run
	Waiting    int   `json:"waiting"`    // visitors that wait for one of these
	Visitors   int   `json:"visitors"`   // connections of visitors to the fronts
	Raw        int   `json:"raw"`        // connections of visitors to TCP tunnels
	Handshakes int   `json:"handshakes"` // of TLS, of visitors
	Requests   int   `json:"requests"`   // under way
	Streams    int   `json:"streams"`
	Queued     int   `json:"queued"` // requests that wait for one of these
	Bytes      int64 `json:"bytes"`  // accounted to all of these

	Served    uint64 `json:"served"`    // exchanges that got the target's answer
	Cancelled uint64 `json:"cancelled"` // exchanges that the visitor has left
	Takeovers uint64 `json:"takeovers"` // sessions that their own identity has replaced
	Hints     uint64 `json:"hints"`     // of clients: full, down, or no longer so
	Resent    uint64 `json:"resent"`    // exchanges, to another member of a group, or over the client's next connection
	// AcceptErrors are the times that no visitor could be accepted, for want of descriptors
	// above all; each is followed by a pause.
	AcceptErrors uint64 `json:"accept_errors"`

	Refused    map[string]uint64 `json:"refused"`   // visitors, by reason
	Overloads  map[string]uint64 `json:"overloads"` // refusals for want of capacity, by the exhausted resource
	Waits      uint64            `json:"waits"`     // of requests in queues that have ended
	Waited     time.Duration     `json:"waited_ns"` // all these waits together
	Direct     DirectStats       `json:"direct"`
	Begun      AdmittedCounts    `json:"begun"` // of all clients, past ones included
	Link       LinkBytes         `json:"link"`
	Identities []IdentityStats   `json:"identities"` // by name
	Groups     []GroupStats      `json:"groups"`     // by name
	RTTs       []time.Duration   `json:"rtts_ns"`    // of the sessions of which one was measured
	Limits     tunnel.Limits     `json:"-"`          // that hold
}

// DirectStats are the visitors of direct tunnels.
type DirectStats struct {
	Now       int               `json:"now"`       // carried by channels, or waiting for one
	Carried   uint64            `json:"carried"`   // by channels, in all
	Sent      int64             `json:"sent"`      // bytes to clients by channels
	Received  int64             `json:"received"`  // and from them
	Fallbacks map[string]uint64 `json:"fallbacks"` // visitors that the link has carried, by reason
	Refused   uint64            `json:"refused"`   // connections that were no channel
}

// IdentityStats holds the current figures and the totals of one identity. The totals restart when
// the identity holds no name for a while.
type IdentityStats struct {
	Identity string         `json:"identity"`
	Names    int            `json:"names"`
	Requests int            `json:"requests"`
	Streams  int            `json:"streams"`
	Queued   int            `json:"queued"`
	Begun    AdmittedCounts `json:"begun"`
}

// GroupStats are the clients of one group. It may have several names at the server.
type GroupStats struct {
	Group string `json:"group"`
	Names int    `json:"names"`
	// Here is the number of members of a name that are not away, and Members the number of its
	// members. Both are of the name with the lowest Here.
	Members int `json:"members"`
	Here    int `json:"here"`
}

// AdmittedCounts counts admitted exchanges. A promoted one counts as a request, as which it began.
type AdmittedCounts struct {
	Requests uint64 `json:"requests"`
	Streams  uint64 `json:"streams"`
	Promoted uint64 `json:"promoted"`
}

func (t *AdmittedCounts) add(o AdmittedCounts) {
	t.Requests += o.Requests
	t.Streams += o.Streams
	t.Promoted += o.Promoted
}

// identityTotals holds the counts of an identity that outlive its present leases.
type identityTotals struct {
	leases int
	past   AdmittedCounts // of leases that are no more
}

// laneStats returns the figures of a built-in lane; other lanes have none.
func (c *lease) laneStats() (stats admission.LaneStats) {
	lane := c.lane
	if shared, ok := lane.(*sharedLane); ok {
		lane = shared.Lane
	}
	if l, ok := lane.(gateLane); ok {
		stats = l.Stats()
	}
	return stats
}

// counted makes a lease one of its identity. mu is held.
func (reg *registry) counted(c *lease) {
	t := reg.clients[c.identity]
	if t == nil {
		t = &identityTotals{}
		reg.clients[c.identity] = t
	}
	t.leases++
}

// uncounted ends that. reg.mu is held.
func (reg *registry) uncounted(c *lease) {
	t, begun := reg.clients[c.identity], AdmittedCounts(c.laneStats().Begun)
	t.past.add(begun)
	reg.begun.add(begun)
	if t.leases--; t.leases == 0 {
		delete(reg.clients, c.identity)
	}
}

// Stats returns the present figures and the totals.
func (s *Server) Stats() Stats {
	s.init()
	stats := Stats{
		Visitors: s.visitorConns.now(), Raw: s.rawConns.now(), Handshakes: s.handshakes.UnderWay(),
		Served: s.served.Load(), Cancelled: s.cancelled.Load(), Takeovers: s.takeovers.Load(), Hints: s.hints.Load(), Resent: s.resent.Load(), AcceptErrors: s.acceptErrors.Load(),
		Refused: map[string]uint64{}, Overloads: map[string]uint64{}, Limits: s.limits,
	}
	for r := range reasons {
		if n := s.refusals[r].Load(); n > 0 {
			stats.Refused[r.String()] = n
		}
	}
	stats.Direct = s.directs.stats()
	if g, ok := s.admission.(gate); ok {
		held := g.Stats()
		stats.Requests, stats.Streams, stats.Queued, stats.Bytes = held.Requests, held.Streams, held.Waiting, held.Bytes
		stats.Overloads, stats.Waits, stats.Waited = held.Refused, held.Waits, held.Waited
	}
	stats.Overloads["visitors"], stats.Overloads["visitors each"] = s.visitorConns.refused.Load(), s.visitorConns.refusedEach.Load()
	stats.Overloads["raw visitors"] = s.rawConns.refused.Load()
	s.registry.mu.Lock()
	sessions := slices.Collect(maps.Values(s.registry.sessions))
	stats.Sessions, stats.Link = len(sessions), s.registry.past
	s.registry.countLeases(&stats)
	s.registry.mu.Unlock()
	for _, x := range sessions {
		for _, l := range x.all() {
			link := l.Stats()
			stats.Link.add(&link)
			if link.RTT > 0 {
				stats.RTTs = append(stats.RTTs, link.RTT)
			}
		}
	}
	return stats
}

// UnderWay returns the number of current requests and streams: the part of Stats that is read
// often.
func (s *Server) UnderWay() int {
	s.init()
	g, ok := s.admission.(gate)
	if !ok {
		return 0
	}
	held := g.Stats()
	return held.Requests + held.Streams
}

// countLeases fills in the figures of the leases. mu is held.
func (reg *registry) countLeases(stats *Stats) {
	of := make(map[string]*IdentityStats, len(reg.clients))
	for identity, t := range reg.clients {
		of[identity] = &IdentityStats{Identity: identity, Names: t.leases, Begun: t.past}
	}
	stats.Begun = reg.begun
	for p := range reg.endpoints() {
		stats.Names++
		if !p.served() {
			stats.Away++
		}
		stats.Waiting += p.waitingNow()
		stats.countGroup(p)
	}
	for c := range reg.leases() {
		lane, client := c.laneStats(), of[c.identity]
		client.Requests += lane.Requests
		client.Streams += lane.Streams
		client.Queued += lane.Waiting
		client.Begun.add(AdmittedCounts(lane.Begun))
		stats.Begun.add(AdmittedCounts(lane.Begun))
	}
	for _, client := range of {
		stats.Identities = append(stats.Identities, *client)
	}
	slices.SortFunc(stats.Identities, func(a, b IdentityStats) int { return cmp.Compare(a.Identity, b.Identity) })
}

// countGroup counts an endpoint, if a group has it.
func (s *Stats) countGroup(p *endpoint) {
	if !p.grouped() {
		return
	}
	at, known := slices.BinarySearchFunc(s.Groups, p.at.Group, func(g GroupStats, name string) int { return cmp.Compare(g.Group, name) })
	if !known {
		s.Groups = slices.Insert(s.Groups, at, GroupStats{Group: p.at.Group, Members: len(p.all()), Here: p.here()})
	}
	g := &s.Groups[at]
	g.Names++
	if here := p.here(); here < g.Here {
		g.Members, g.Here = len(p.all()), here
	}
}
