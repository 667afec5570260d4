package server

import (
	"cmp"
	"paddock/tunnel"
	"slices"
)

// Held is a name or an address that a client holds, with what goes on there; of what a group
// has, each member's part.
type Held struct {
	At       string // where visitors find it
	Protocol tunnel.Protocol
	Identity string // of the client
	Group    string // "": nobody else can have it
	Members  int    // clients who have it; without a group 1
	Here     int    // those of them who are not away
	Away     bool   // the client is away, and its lease runs
	Waiting  int    // visitors who wait for anybody who has it
	Requests int    // under way
	Streams  int    // open
	Queued   int    // requests that wait for one of these
	Limit    int    // of Requests, as it is now; 0 where the Admission does not tell
	Begun    Begun
	Refused  uint64 // visitors who asked for it, whoever was to serve them, and were not served
}

// Held lists all names and addresses, by place and protocol.
func (s *Server) Held() []Held {
	s.init()
	s.mu.Lock()
	var list []Held
	for c := range s.claims() {
		lane, p := c.laneStats(), c.place
		list = append(list, Held{
			At: c.where, Protocol: c.at.Protocol, Identity: c.identity, Group: c.at.Group, Members: len(p.all()), Here: p.here(),
			Away: c.holder.Load() == nil, Waiting: p.waitingNow(),
			Requests: lane.Requests, Streams: lane.Streams, Queued: lane.Waiting, Limit: lane.Limit, Begun: lane.Begun,
			Refused: p.refused.Load(),
		})
	}
	s.mu.Unlock()
	slices.SortFunc(list, func(a, b Held) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Protocol, b.Protocol), cmp.Compare(a.Identity, b.Identity))
	})
	return list
}
