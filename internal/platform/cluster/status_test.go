package cluster

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/prometheus/client_golang/prometheus"
)

// A lag is counted in messages, and in the time since another node was ahead. A node that is at the
// head has none, however old the head is.
func TestLag(t *testing.T) {
	var s sights
	at := time.Unix(1_000, 0)
	if n, age := s.lag(0, at); n != 0 || age != 0 {
		t.Errorf("before any beat: %d, %v", n, age)
	}
	for i := range 10 {
		s.hear(Beat{ID: "a", Applied: uint64(10 * (i + 1))}, at.Add(time.Duration(i)*time.Second))
		s.hear(Beat{ID: "b", Applied: 25}, at.Add(time.Duration(i)*time.Second))
	}
	now := at.Add(9 * time.Second)
	for _, c := range []struct {
		applied, messages uint64
		seconds           float64
	}{{100, 0, 0}, {120, 0, 0}, {95, 5, 0}, {90, 10, 0}, {89, 11, 1}, {25, 75, 7}, {0, 100, 9}} {
		if n, age := s.lag(c.applied, now); n != c.messages || age != c.seconds {
			t.Errorf("behind %d: %d messages, %v s, want %+v", c.applied, n, age, c)
		}
	}
	if n, age := s.lag(100, now.Add(time.Hour)); n != 0 || age != 0 {
		t.Errorf("an old head: %d, %v", n, age)
	}
}

// Of two nodes of one name a node finds itself, so that its metrics are its own.
func TestSelf(t *testing.T) {
	n := &Node{id: "p2", o: Options{Conn: &nats.Conn{}, Name: "host"}, election: newElection("p2"), role: Follower, journal: &Journal{}}
	n.applied.Store(&Place{Sequence: 7})
	n.hear(&nats.Msg{Data: []byte(`{"id":"p1","node":"host","role":"leader","applied":9}`)})
	if self := n.known().Self(); self != nil {
		t.Errorf("before its first beat: %+v", self)
	}
	n.hear(&nats.Msg{Data: []byte(`{"id":"p2","node":"host","role":"follower","applied":7}`)})
	if self := n.known().Self(); self == nil || self.Process != "p2" || self.Applied != 7 {
		t.Errorf("%+v", self)
	}
}

// What is remembered for a lag is bounded, also of beats of more processes than there are nodes.
func TestSightsAreBounded(t *testing.T) {
	var s sights
	at := time.Unix(1_000, 0)
	for i := range 3 * maxHeads {
		s.hear(Beat{ID: string(rune(i)), Applied: uint64(i)}, at.Add(time.Duration(i)*time.Second))
	}
	if len(s.heads) > maxHeads || len(s.seen) > int(silentFor/time.Second)+2 {
		t.Errorf("%d heads, %d processes", len(s.heads), len(s.seen))
	}
	if n, _ := s.lag(3*maxHeads-11, at); n != 10 {
		t.Errorf("%d messages behind, want 10", n)
	}
}

// A collector describes its metrics without a node.
func TestDescriptions(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	if err := r.Register(NewCollector(nil)); err != nil {
		t.Error(err)
	}
}

// A leader gives its role away only if another node follows, which would take it.
func TestCanHandOver(t *testing.T) {
	n := &Node{id: "me", election: newElection("me")}
	n.election.hear(Beat{ID: "me", Role: Follower})
	if err := n.CanHandOver(); err == nil {
		t.Error("there is no other node")
	}
	n.election.hear(Beat{ID: "other", Role: Starting})
	if err := n.CanHandOver(); err == nil {
		t.Error("the other node has not caught up")
	}
	n.election.hear(Beat{ID: "other", Role: Follower})
	if err := n.CanHandOver(); err != nil {
		t.Error(err)
	}
	for range deadAfter {
		n.election.hear(Beat{ID: "me", Role: Follower})
	}
	if err := n.CanHandOver(); err == nil {
		t.Error("the other node is silent")
	}
}

// A leader does not pass requests to itself.
func TestAskHere(t *testing.T) {
	n := &Node{id: "me", election: newElection("me")}
	n.election.hear(Beat{ID: "me", Role: Leader})
	if _, err := n.Ask(t.Context(), "any", nil); !errors.Is(err, ErrHere) {
		t.Error(err)
	}
}
