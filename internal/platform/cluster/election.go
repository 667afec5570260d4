package cluster

import (
	"cmp"
	"hash/fnv"
	"slices"
	"strconv"
)

// Beat is what a node tells the others, each quarter of a second.
type Beat struct {
	ID      string `json:"id"` // of this process
	Node    string `json:"node"`
	Role    Role   `json:"role"`
	Term    uint64 `json:"term"`    // of the leader that it is or knows
	Applied uint64 `json:"applied"` // sequence of the log
	URL     string `json:"url"`     // of its HTTP interface
	Version string `json:"version"`
	// Events is the newest window of events of this process; nil: none is whole.
	Events *Window `json:"events,omitempty"`
}

// Role is what a node does.
type Role string

// The roles of a node.
const (
	Starting Role = "starting" // it has not caught up with the log yet
	Follower Role = "follower"
	Leader   Role = "leader"
	Leaving  Role = "leaving" // it ends, and leads no more
	// Unfit is a follower that would refuse positions as a leader, as its disk is full, or that has
	// just given its role away.
	Unfit Role = "unfit"
)

// deadAfter is the number of a node's own beats that come back to it without one of another node,
// after which the other one counts as dead. Time is measured by beats that went through the servers
// alone, so nothing dies by a stalled server or a stalled process. An entry of the log is a sign of
// life of its leader too.
const deadAfter = 4

// farBehind is the number of messages of the log by which a node is behind another one, and should
// not become the leader in its place. Beats are older than the log by fewer.
const farBehind = 256

// election decides when a node makes a claim. It knows no clock and no network.
type election struct {
	id    string
	own   uint64 // of its own beats that have come back
	peers map[string]*peer
	term  uint64 // the highest that was heard of
	alone uint64 // own, from which on there is no leader
}

type peer struct {
	Beat
	seen uint64 // own, when it was heard of last
}

func newElection(id string) *election { return &election{id: id, peers: map[string]*peer{}} }

// hear takes a beat.
func (e *election) hear(b Beat) {
	e.peers[b.ID] = &peer{b, e.own}
	e.term = max(e.term, b.Term)
	if b.ID != e.id {
		return
	}
	e.own++
	e.peers[b.ID].seen = e.own
	for id, p := range e.peers {
		if e.own-p.seen > 40*deadAfter {
			delete(e.peers, id)
		}
	}
	switch {
	case e.leader() != nil:
		e.alone = e.own
	case e.own <= deadAfter: // it may not have heard of the leader yet
		e.alone = max(e.alone, e.own)
	}
}

// wrote notes that an entry of a term has come: its leader is alive, even where beats are late.
func (e *election) wrote(term uint64) {
	for _, p := range e.peers {
		if p.Role == Leader && p.Term == term {
			p.seen = e.own
		}
	}
}

// claimed notes that the log has a claim. Its node needs some time until it leads and tells so.
func (e *election) claimed() { e.alone = e.own + deadAfter }

func (e *election) alive(p *peer) bool { return e.own-p.seen < deadAfter }

// leader returns the node that leads, or nil.
func (e *election) leader() *peer {
	var found *peer
	for _, p := range e.peers {
		if p.Role == Leader && e.alive(p) && p.Term >= e.term && (found == nil || p.Term > found.Term) {
			found = p
		}
	}
	return found
}

// mayClaim reports whether this node should become the leader now: there is none, and the nodes
// with a better rank have not become it in their time. The rank depends on the term, so that not
// always the same node comes first. Nodes that are behind the others come later, as they would have
// to catch up before they lead, and unfit ones and those of the role starting come last.
func (e *election) mayClaim() bool {
	me := e.peers[e.id]
	if me == nil || me.Role == Leaving || me.Role == Leader || e.own <= deadAfter || e.leader() != nil {
		return false
	}
	var candidates []*peer
	newest := uint64(0)
	for _, p := range e.peers {
		if e.alive(p) && p.Role != Leaving {
			candidates, newest = append(candidates, p), max(newest, p.Applied)
		}
	}
	behind := func(p *peer) int {
		if p.Applied+farBehind < newest {
			return 1
		}
		return 0
	}
	slices.SortFunc(candidates, func(a, b *peer) int {
		return cmp.Or(
			cmp.Compare(rankOf(a.Role), rankOf(b.Role)), cmp.Compare(behind(a), behind(b)),
			cmp.Compare(e.weight(a.ID), e.weight(b.ID)), cmp.Compare(a.ID, b.ID),
		)
	})
	rank := uint64(slices.Index(candidates, me))
	return e.own >= e.alone+rank*deadAfter
}

func rankOf(r Role) int {
	switch r {
	case Follower:
		return 0
	case Unfit:
		return 1
	}
	return 2
}

// hasFollower reports whether another node is a follower, and can become the leader.
func (e *election) hasFollower() bool {
	for id, p := range e.peers {
		if id != e.id && p.Role == Follower && e.alive(p) {
			return true
		}
	}
	return false
}

// weight orders the nodes of a term.
func (e *election) weight(id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id + "/" + strconv.FormatUint(e.term, 10))) // never fails
	return h.Sum64()
}
