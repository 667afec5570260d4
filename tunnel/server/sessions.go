package server

import (
	"cmp"
	"slices"
	"time"

	"paddock/tunnel"
	"paddock/wire"
)

// Session is a client that is connected. Peer, Agent, Since and RTT are of the connection
// that has been there longest.
type Session struct {
	Identity string
	Peer     string // its address
	Agent    string // as the client names its program
	Since    time.Time
	RTT      time.Duration // 0: not measured yet
	Conns    int           // connections
	Requests int           // under way
	Streams  int           // open
	Direct   int           // of these, visitors with a direct channel
	Link     LinkBytes
	Bindings []string // where visitors find it
	Groups   []Membership
}

// Membership is a name that a client shares with others of its group.
type Membership struct {
	At      string // where visitors find it
	Group   string
	Members int // clients that have it
	Here    int // those of them that are not away
}

// LinkBytes counts the bytes of clients' connections, headers included, before TLS, and of their
// direct channels.
type LinkBytes struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
}

func (b *LinkBytes) add(s *wire.Stats) {
	b.Sent += s.Tx.Bytes
	b.Received += s.Rx.Bytes
}

// Sessions lists the clients by identity.
func (s *Server) Sessions() []Session { return s.SessionsAfter("", 0) }

// SessionsAfter lists the clients whose identities come after the given one, by identity: at most n
// of them, or all if n is 0.
func (s *Server) SessionsAfter(identity string, n int) []Session {
	s.init()
	s.registry.mu.Lock()
	names := make([]string, 0, len(s.registry.sessions))
	for name := range s.registry.sessions {
		if name > identity {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	if n > 0 && len(names) > n {
		names = names[:n]
	}
	found, list := make([]*session, len(names)), make([]Session, len(names))
	for i, name := range names {
		found[i] = s.registry.sessions[name]
		for _, c := range found[i].leases {
			list[i].hold(c)
		}
	}
	s.registry.mu.Unlock()
	for i, x := range found {
		holds := list[i]
		list[i] = x.describe()
		list[i].Bindings, list[i].Groups = holds.Bindings, holds.Groups
		slices.Sort(list[i].Bindings)
		slices.SortFunc(list[i].Groups, func(a, b Membership) int { return cmp.Compare(a.At, b.At) })
	}
	return list
}

// hold adds the leases of a client.
func (d *Session) hold(c *lease) {
	d.Bindings = append(d.Bindings, c.where)
	if p := c.endpoint; p.grouped() {
		d.Groups = append(d.Groups, Membership{c.where, p.at.Group, len(p.all()), p.here()})
	}
}

// describe is the session for others, without its bindings.
func (x *session) describe() Session {
	links := x.all()
	lead := links[0]
	d := Session{Identity: x.identity, Peer: lead.RemoteAddr().String(), Since: lead.Since(), Conns: len(links)}
	for _, l := range links {
		stats := l.Stats()
		d.Requests += int(stats.Inflight)
		d.Streams += int(stats.Streams)
		d.Link.add(&stats)
		if l == lead {
			d.RTT = stats.RTT
		}
	}
	d.Direct = int(x.direct.now.Load())
	d.Link.Sent += x.direct.bytes[0].Load()
	d.Link.Received += x.direct.bytes[1].Load()
	if peer := lead.Peer(); peer != nil {
		d.Agent = peer.Agent
	}
	return d
}

// Kick ends the connections of a client, which may come back at once if the policy allows it. It
// reports whether the client was connected.
func (s *Server) Kick(identity string) bool {
	s.init()
	s.registry.mu.Lock()
	x := s.registry.sessions[identity]
	s.registry.mu.Unlock()
	if x == nil {
		return false
	}
	for _, l := range x.all() {
		l.Abort(wire.PermissionDenied)
	}
	return true
}

// Held is a name or an address that a client holds, with its current load; for a group, one
// member's part.
type Held struct {
	At       string          `json:"at"` // where visitors find it
	Protocol tunnel.Protocol `json:"protocol"`
	Identity string          `json:"client"`
	Group    string          `json:"group,omitempty"` // "": the name is exclusive
	Members  int             `json:"members"`         // clients that have it; without a group 1
	Here     int             `json:"here"`            // those of them that are not away
	Away     bool            `json:"away"`            // the client is away, and its lease runs
	Waiting  int             `json:"waiting"`         // visitors that wait for any member
	Requests int             `json:"in_flight"`
	Streams  int             `json:"streams"` // open
	Queued   int             `json:"queued"`  // requests that wait for one of these
	Limit    int             `json:"limit"`   // of Requests, at present; 0 if the Admission does not report it
	Begun    AdmittedCounts  `json:"-"`
	Refused  uint64          `json:"refused"` // visitors that asked for it and were not served by any member
}

// Held lists all names and addresses, by endpoint and protocol.
func (s *Server) Held() []Held {
	s.init()
	s.registry.mu.Lock()
	var list []Held
	for c := range s.registry.leases() {
		lane, p := c.laneStats(), c.endpoint
		list = append(list, Held{
			At: c.where, Protocol: c.at.Protocol, Identity: c.identity, Group: c.at.Group, Members: len(p.all()), Here: p.here(),
			Away: c.owner.Load() == nil, Waiting: p.waitingNow(),
			Requests: lane.Requests, Streams: lane.Streams, Queued: lane.Waiting, Limit: lane.Limit, Begun: AdmittedCounts(lane.Begun),
			Refused: p.refused.Load(),
		})
	}
	s.registry.mu.Unlock()
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Identity, b.Identity))
	})
	return list
}
