// Package cluster makes several platforms one: they apply the same records in the same order, so
// all have the same state, events and cursors. The order is a log in JetStream (see
// [streamlog]), which the leader writes and the others follow.
//
// There is one order for all objects, and not one for each partition: the fold of a record costs
// far less than its replication, so one writer uses up the log, and everything that holds on one
// machine holds here: cursors are numbers, counts and pairs are exact, a change of a set has one
// place in the order.
package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"

	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/journal/streamlog"
)

const (
	// beatEvery is the time between two beats of a node.
	beatEvery = 250 * time.Millisecond
	// claimTimeout bounds the attempt to become the leader.
	claimTimeout = 5 * time.Second
	// waitEvery is the time between two log lines of a node that has not caught up.
	waitEvery = 10 * time.Second
)

// ErrReplaced is the end of a leader that another node has replaced, or that does not reach the
// servers. It has to start again, as a follower.
var ErrReplaced = fmt.Errorf("%w any more", ingest.ErrReplica)

// ErrBehind is the end of a node whose next entries the log has no more. It has to start again,
// from a snapshot.
var ErrBehind = errors.New("the state of this node is older than the log")

// Options configure Join.
type Options struct {
	Conn   *nats.Conn
	Log    *streamlog.Log
	Own    journal.Journal // of this node
	Prefix string          // of subjects between nodes, without a dot at its end

	Cluster            string // its name
	Name, URL, Version string // of this node, for the others
	Logger             *slog.Logger

	// Apply applies a record that Own has by now. Changed is told the names of values that the
	// leader has changed in Own. Lead makes this node the leader: all records are applied.
	Apply   func(number uint64, record []byte) error
	Changed func(names []string)
	Lead    func() error
	// Unfit returns why this node would refuse positions as the leader, or "". Nil: it never would.
	Unfit func() string
	// Aside is the time after Join in which this node becomes the leader only if no other one can.
	Aside time.Duration
}

// Node is this process as a member of a cluster.
type Node struct {
	o       Options
	begun   time.Time
	id      string
	journal *Journal
	applied atomic.Pointer[Place]
	clock   clock
	digests digests
	differs atomic.Pointer[error] // see differ
	failed  chan error            // why the leader is one no longer: ErrReplaced, or its own journal
	wanted  chan struct{}         // holds a signal: a claim is due
	soon    chan struct{}         // holds a signal: see beatNow
	caught  chan struct{}         // see CaughtUp
	claims  struct{ won, lost atomic.Uint64 }

	mu       sync.Mutex // guards the fields below
	sights   sights
	election *election
	role     Role
	term     uint64
	leaving  bool // it makes no claim any more
}

// Join returns a member that does not run yet. Until ctx ends, its journal may write.
func Join(ctx context.Context, o Options) (*Node, error) {
	n := &Node{o: o, begun: time.Now(), id: nuid.Next(), failed: make(chan error, 1), wanted: make(chan struct{}, 1), soon: make(chan struct{}, 1), caught: make(chan struct{}), role: Starting}
	n.election = newElection(n.id)
	n.clock.measure, n.clock.logger = o.Log.Clock, o.Logger
	n.journal = NewJournal(ctx, o.Own, o.Log, n.fail)
	place, err := PlaceOf(o.Own)
	n.applied.Store(&place)
	return n, err
}

// CaughtUp is closed once this node has applied all that the log held when Run began.
func (n *Node) CaughtUp() <-chan struct{} { return n.caught }

// Journal returns the journal of the leader.
func (n *Node) Journal() *Journal { return n.journal }

// fail ends the role of the leader.
func (n *Node) fail(err error) {
	select {
	case n.failed <- err:
	default:
	}
}

// Run takes part in the cluster until ctx ends, which is no error. The error is ErrReplaced,
// ErrBehind, or that of applying an entry.
func (n *Node) Run(ctx context.Context) error {
	sub, err := n.o.Conn.Subscribe(n.o.Prefix+".beat", n.hear)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Unsubscribe() }() // the connection may be gone
	var beating sync.WaitGroup
	ended := make(chan struct{})
	beating.Go(func() { n.beat(ended) })
	looking, stop := context.WithCancel(ctx)
	beating.Go(func() { n.clock.follow(looking) })
	defer beating.Wait()
	defer close(ended)
	defer stop()
	err = n.take(ctx)
	if ctx.Err() != nil {
		n.become(Leaving)
		n.tell()
		return nil
	}
	if errors.Is(err, streamlog.ErrTrimmed) {
		err = fmt.Errorf("%w: %w", ErrBehind, err)
	}
	return err
}

// take follows the log until this node is the leader, and then waits for the end of that.
func (n *Node) take(ctx context.Context) error {
	if err := n.catchUp(ctx); err != nil {
		return err
	}
	n.become(Follower)
	close(n.caught)
	for {
		select {
		case <-n.wanted: // since the last claim; if one is due still, the next beat says so
		default:
		}
		following, stop := context.WithCancelCause(ctx)
		var waiting sync.WaitGroup
		waiting.Go(func() {
			select {
			case <-n.wanted:
				stop(errClaim)
			case <-following.Done():
			}
		})
		err := n.o.Log.Follow(following, n.applied.Load().Sequence, n.apply)
		stop(nil)
		waiting.Wait()
		if !errors.Is(err, errClaim) {
			return err
		}
		bounded, cancel := context.WithTimeout(ctx, claimTimeout)
		sequence, err := n.o.Log.Claim(bounded, n.o.Name)
		cancel()
		if err != nil {
			n.claims.lost.Add(1)
			n.o.Logger.Warn("this node did not become the leader", "error", err)
			continue
		}
		n.claims.won.Add(1)
		if err := n.follow(ctx, sequence); err != nil {
			return err
		}
		return n.lead(ctx)
	}
}

// catchUp applies what the log holds now. While that takes long, the reason is logged.
func (n *Node) catchUp(ctx context.Context) error {
	waiting, stop := context.WithCancel(ctx)
	var to atomic.Uint64
	var telling sync.WaitGroup
	telling.Go(func() {
		ticker := time.NewTicker(waitEvery)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				n.o.Logger.Warn("this node has not caught up with the log of the cluster yet", "applied", n.applied.Load().Sequence, "newest", to.Load(), "trouble", n.o.Log.Trouble())
			case <-waiting.Done():
				return
			}
		}
	})
	defer telling.Wait()
	defer stop()
	head, err := n.o.Log.Head(ctx)
	if err != nil {
		return err
	}
	to.Store(head.Whole)
	return n.follow(ctx, head.Whole)
}

var (
	errClaim   = errors.New("a claim is due")
	errReached = errors.New("reached")
)

// follow applies the log up to a sequence.
func (n *Node) follow(ctx context.Context, to uint64) error {
	if n.applied.Load().Sequence >= to {
		return nil
	}
	err := n.o.Log.Follow(ctx, n.applied.Load().Sequence, func(e *streamlog.Entry) error {
		if err := n.apply(e); err != nil {
			return err
		}
		if e.Sequence >= to {
			return errReached
		}
		return nil
	})
	if errors.Is(err, errReached) {
		return nil
	}
	return err
}

// apply applies an entry to the journal and the state of this node.
func (n *Node) apply(e *streamlog.Entry) error {
	if err := n.same(); err != nil {
		return err
	}
	if e.Base {
		return fmt.Errorf("%w: the log goes on from a snapshot", ErrBehind)
	}
	claim := e.Node != ""
	n.mu.Lock()
	if n.election.wrote(e.Term); claim {
		n.term = e.Term
		n.election.claimed()
	}
	n.mu.Unlock()
	if !claim {
		if err := n.applySteps(e.Data); err != nil {
			return fmt.Errorf("entry %d of the log: %w", e.Number, err)
		}
	}
	place := n.applied.Load().next(e.Sequence, e.Data)
	if err := n.o.Own.Change(nil, place.Value()); err != nil {
		return err
	}
	n.applied.Store(&place)
	return nil
}

func (n *Node) applySteps(data []byte) error {
	steps, err := parseSteps(data)
	if err != nil {
		return err
	}
	for i := range steps {
		s := &steps[i]
		if _, newest := n.o.Own.Bounds(); s.kind == stepRecord && s.number <= newest {
			continue // it was applied, and the process ended before it was noted
		}
		if err := applyStep(n.o.Own, s); err != nil {
			return err
		}
		if s.kind == stepRecord {
			if err := n.o.Apply(s.number, s.record); err != nil {
				return err
			}
			continue
		}
		n.o.Changed(s.names())
	}
	return nil
}

// names returns the names of the changed values, and the beginnings of removed spans.
func (s *step) names() (all []string) {
	for _, v := range s.put {
		all = append(all, v.Name)
	}
	for _, span := range s.remove {
		all = append(all, span.From)
	}
	return all
}

// lead makes this node the leader, and returns when it is one no longer.
func (n *Node) lead(ctx context.Context) error {
	begun := time.Now()
	n.become(Leader)
	n.journal.lead(*n.applied.Load())
	if err := n.o.Lead(); err != nil {
		select {
		case replaced := <-n.failed: // already
			return errors.Join(replaced, err)
		default:
		}
		if n.isLeaving() {
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return err
	}
	n.tell()
	n.o.Logger.Info("this node is the leader", "term", n.Term(), "applied", n.applied.Load().Sequence, "took", time.Since(begun))
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case err := <-n.failed:
		return err
	}
}

// Leave lets this node make no claim any more, as it is about to end. A leader stays the leader
// until Run ends, so that it can apply what it has accepted.
func (n *Node) Leave() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.leaving = true
}

func (n *Node) isLeaving() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.leaving
}

// become changes the role.
func (n *Node) become(r Role) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.role = r
}

// beatNow sends the next beat at once.
func (n *Node) beatNow() {
	select {
	case n.soon <- struct{}{}:
	default:
	}
}

// beat tells the others of this node until ended is closed.
func (n *Node) beat(ended <-chan struct{}) {
	ticker := time.NewTicker(beatEvery)
	defer ticker.Stop()
	for {
		n.tell()
		select {
		case <-ticker.C:
		case <-n.soon:
		case <-ended:
			return
		}
	}
}

// tell sends a beat. While the servers are away it is lost, as it should be.
func (n *Node) tell() {
	n.mu.Lock()
	b := n.now()
	n.mu.Unlock()
	text, _ := json.Marshal(b) // texts and numbers always encode
	if n.o.Conn.IsConnected() {
		_ = n.o.Conn.Publish(n.o.Prefix+".beat", text) // the next one comes soon
	}
}

// now returns the present beat. The caller holds mu.
func (n *Node) now() Beat {
	role := n.role
	if n.leaving && role != Leader {
		role = Leaving
	}
	if role == Follower && (n.unfit() != "" || time.Since(n.begun) < n.o.Aside) {
		role = Unfit
	}
	return Beat{ID: n.id, Node: n.o.Name, Role: role, Term: n.term, Applied: n.Place().Sequence, URL: n.o.URL, Version: n.o.Version, Events: n.digests.last()}
}

func (n *Node) unfit() string {
	if n.o.Unfit == nil {
		return ""
	}
	return n.o.Unfit()
}

// hear takes a beat of a node, also of this one.
func (n *Node) hear(msg *nats.Msg) {
	var b Beat
	if json.Unmarshal(msg.Data, &b) != nil || b.ID == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.election.hear(b)
	n.sights.hear(b, time.Now())
	if leader := n.election.leader(); b.Events != nil && b.ID != n.id && leader != nil && leader.ID == b.ID {
		if err := n.digests.hear(b.Events); err != nil {
			n.differ(err)
		}
	}
	switch {
	case b.Role == Leaving && n.role == Follower:
		n.beatNow()
	case n.role == Leader && b.Role == Leader && b.Term > n.term:
		n.fail(fmt.Errorf("%w: node %s leads in term %d", ErrReplaced, b.Node, b.Term))
	case n.role == Leader && n.unfit() != "" && n.election.hasFollower():
		n.fail(fmt.Errorf("%w: %s", ErrReplaced, n.unfit()))
	case b.ID == n.id && !n.leaving && n.election.mayClaim():
		select {
		case n.wanted <- struct{}{}:
		default:
		}
	}
}

// Term returns the term of the newest leader that this node knows from the log.
func (n *Node) Term() uint64 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.term
}

// Place returns the place in the log up to which this node has applied the entries.
func (n *Node) Place() Place {
	place := *n.applied.Load()
	if p := n.journal.place.Load(); p != nil && p.Sequence > place.Sequence {
		place = *p
	}
	return place
}

// WritesSnapshots reports whether it is this node that writes snapshots: the first follower by
// name, so that the leader has no more to do, or a leader without followers. For a moment it may
// hold of two nodes.
func (n *Node) WritesSnapshots() bool {
	for _, b := range n.members() {
		if b.Role == Follower {
			return b.ID == n.id
		}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.role == Leader
}

// Leader returns the last beat of the leader, if there is one.
func (n *Node) Leader() (b Beat, ok bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if p := n.election.leader(); p != nil {
		return p.Beat, true
	}
	return b, false
}

// members returns the nodes that are alive, by their names.
func (n *Node) members() (all []Beat) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, p := range n.election.peers {
		if n.election.alive(p) {
			all = append(all, p.Beat)
		}
	}
	slices.SortFunc(all, func(a, b Beat) int { return strings.Compare(a.Node+a.ID, b.Node+b.ID) })
	return all
}
