package cluster

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"paddock/internal/platform/journal/streamlog"
)

// Status is what a node knows of its cluster: GET /v1/cluster answers with it.
type Status struct {
	At        time.Time       `json:"t"`
	Name      string          `json:"name"`
	Node      string          `json:"node"`      // that answers
	Process   string          `json:"process"`   // of it
	Connected bool            `json:"connected"` // to the servers; if not, the other fields are old
	Leader    string          `json:"leader"`    // node; "": there is none
	Term      uint64          `json:"term"`
	Nodes     []NodeStatus    `json:"nodes"`         // by their names
	Log       *streamlog.Info `json:"log,omitempty"` // nil: see LogError
	LogError  string          `json:"log_error,omitempty"`
	Counters  Counters        `json:"counters"`
}

// NodeStatus is what is known of a node.
type NodeStatus struct {
	Name    string `json:"name"`
	Process string `json:"process"` // another one for each start
	Role    Role   `json:"role"`
	Alive   bool   `json:"alive"` // it has been heard of in the last beats
	Version string `json:"version"`
	URL     string `json:"url"`
	Applied uint64 `json:"applied"` // sequence of the log
	// Lag is the number of the log's messages, and LagSeconds the age of the oldest one of them,
	// that other nodes have applied and this one has not.
	Lag        uint64    `json:"lag"`
	LagSeconds float64   `json:"lag_seconds"`
	Since      time.Time `json:"since"` // the first and the last beat
	Seen       time.Time `json:"seen"`
}

// Counters are counts of a node since its start, and since it was the leader last.
type Counters struct {
	ClaimsWon          uint64            `json:"claims_won"`
	ClaimsLost         uint64            `json:"claims_lost"`
	LogGaps            uint64            `json:"log_gaps"`
	AppendRetries      map[string]uint64 `json:"append_retries"` // by kind of error
	ForwardedBatches   uint64            `json:"forwarded_batches"`
	ForwardedPositions uint64            `json:"forwarded_positions"`
	ForwardRetries     uint64            `json:"forward_retries"`
	Refused            map[string]uint64 `json:"refused_positions"` // by reason
	Reconnects         uint64            `json:"reconnects"`        // to the servers
}

// Status returns what the node knows, and asks the servers for the state of the log.
func (n *Node) Status(ctx context.Context, f *Forwarder) *Status {
	s := n.known()
	s.Counters = n.counters(f)
	s.addLog(ctx, n.o.Log)
	return s
}

// known returns what the node has heard of.
func (n *Node) known() *Status {
	s := &Status{
		At: time.Now().UTC().Truncate(time.Millisecond), Name: n.o.Cluster, Node: n.o.Name, Process: n.id,
		Connected: n.o.Conn.IsConnected(), Nodes: n.nodes(), Term: n.Term(),
		Counters: Counters{AppendRetries: map[string]uint64{}, Refused: map[string]uint64{}},
	}
	if b, ok := n.Leader(); ok {
		s.Leader = b.Node
	}
	return s
}

func (s *Status) addLog(ctx context.Context, log *streamlog.Log) {
	info, err := log.Info(ctx)
	if s.Log = info; err != nil {
		s.LogError = err.Error()
	}
}

// Self returns the node that answers; nil before its first beat has come back.
func (s *Status) Self() *NodeStatus {
	for i := range s.Nodes {
		if s.Nodes[i].Process == s.Process && s.Nodes[i].Alive {
			return &s.Nodes[i]
		}
	}
	return nil
}

// Observe returns what a client of the servers that is no node hears of a cluster within a time,
// which is that of some beats. prefix is that of [Options]. Without a log logErr is the reason.
func Observe(ctx context.Context, conn *nats.Conn, prefix, name string, log *streamlog.Log, logErr error, listen time.Duration) (*Status, error) {
	n := &Node{o: Options{Conn: conn, Log: log, Prefix: prefix, Cluster: name}, election: newElection("")}
	sub, err := conn.Subscribe(prefix+".beat", n.hear)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	select {
	case <-time.After(listen):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	s := n.known()
	n.mu.Lock()
	s.Term = n.election.term
	n.mu.Unlock()
	if log == nil {
		s.LogError = logErr.Error()
		return s, nil
	}
	s.addLog(ctx, log)
	return s, nil
}

// CanHandOver returns why another node cannot take the role of the leader over from this one, which
// leads; nil: one can.
func (n *Node) CanHandOver() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.election.hasFollower() {
		return nil
	}
	return errors.New("no other node follows: none would take over")
}

func (n *Node) counters(f *Forwarder) Counters {
	log := n.o.Log.Stats()
	return Counters{
		ClaimsWon: n.claims.won.Load(), ClaimsLost: n.claims.lost.Load(), LogGaps: log.Gaps, AppendRetries: log.Retries,
		ForwardedBatches: f.passed.batches.Load(), ForwardedPositions: f.passed.positions.Load(), ForwardRetries: f.passed.retries.Load(),
		Refused:    map[string]uint64{"full": f.refused.full.Load(), "no_leader": f.refused.noLeader.Load()},
		Reconnects: n.o.Conn.Stats().Reconnects,
	}
}

// nodes returns the nodes of which beats have told, also if they are silent by now. A node that
// left, or whose process was replaced, is none.
func (n *Node) nodes() []NodeStatus {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	all := []NodeStatus{}
	alive := map[string]bool{}
	for id, p := range n.election.peers {
		seen := n.sights.seen[id]
		s := NodeStatus{
			Name: p.Node, Process: id, Role: p.Role, Alive: n.election.alive(p), Version: p.Version, URL: p.URL,
			Applied: p.Applied, Since: seen.first.UTC(), Seen: seen.last.UTC(),
		}
		if id == n.id {
			s.Role, s.Applied = n.role, n.now().Applied
		}
		s.Lag, s.LagSeconds = n.sights.lag(s.Applied, now)
		alive[s.Name] = alive[s.Name] || s.Alive
		all = append(all, s)
	}
	all = slices.DeleteFunc(all, func(s NodeStatus) bool { return !s.Alive && (s.Role == Leaving || alive[s.Name]) })
	slices.SortFunc(all, func(a, b NodeStatus) int { return strings.Compare(a.Name+a.Process, b.Name+b.Process) })
	return all
}

const (
	// headEvery is the resolution of a lag in time, and maxHeads bounds what is remembered for it.
	headEvery = 100 * time.Millisecond
	maxHeads  = 1200
)

// sights is what a node remembers of beats, with the times of its clock, to tell people. The
// election does not use it.
type sights struct {
	seen  map[string]sight // by process
	heads []headAt         // the oldest first
}

type sight struct{ first, last time.Time }

// headAt is a sequence of the log that a node had applied at a time.
type headAt struct {
	sequence uint64
	at       time.Time
}

// silentFor is the time after which a node without beats is forgotten.
const silentFor = 2 * time.Minute

func (s *sights) hear(b Beat, now time.Time) {
	if s.seen == nil {
		s.seen = map[string]sight{}
	}
	known, ok := s.seen[b.ID]
	if !ok {
		known.first = now
		for id, o := range s.seen {
			if now.Sub(o.last) > silentFor {
				delete(s.seen, id)
			}
		}
	}
	known.last = now
	s.seen[b.ID] = known
	newest := len(s.heads) - 1
	switch {
	case newest >= 0 && b.Applied <= s.heads[newest].sequence:
	case newest >= 0 && now.Sub(s.heads[newest].at) < headEvery:
		s.heads[newest].sequence = b.Applied
	default:
		if len(s.heads) == maxHeads {
			s.heads = append(s.heads[:0], s.heads[1:]...)
		}
		s.heads = append(s.heads, headAt{b.Applied, now})
	}
}

// lag returns how far a node that has applied a sequence is behind the others.
func (s *sights) lag(applied uint64, now time.Time) (messages uint64, seconds float64) {
	if len(s.heads) == 0 || s.heads[len(s.heads)-1].sequence <= applied {
		return 0, 0
	}
	first := slices.IndexFunc(s.heads, func(h headAt) bool { return h.sequence > applied })
	age := max(now.Sub(s.heads[first].at), 0).Truncate(time.Millisecond)
	return s.heads[len(s.heads)-1].sequence - applied, age.Seconds()
}
