package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// nodes is a cluster in which beats reach all nodes that are up, in one order.
type nodes struct {
	all     []*election
	role    []Role
	term    uint64
	up      []bool
	applied []uint64
}

func newNodes(n int) *nodes {
	c := &nodes{}
	for i := range n {
		c.all = append(c.all, newElection(fmt.Sprint("n", i)))
		c.role, c.up, c.applied = append(c.role, Follower), append(c.up, true), append(c.applied, 0)
	}
	return c
}

// beat sends a beat of a node, which claims if it may. It reports whether it has become the leader.
func (c *nodes) beat(i int) (claimed bool) {
	if !c.up[i] {
		return false
	}
	b := Beat{ID: c.all[i].id, Role: c.role[i], Term: c.term, Applied: c.applied[i]}
	for j, e := range c.all {
		if c.up[j] {
			e.hear(b)
		}
	}
	if c.all[i].mayClaim() {
		c.term++
		c.role[i] = Leader
		return true
	}
	return false
}

// rounds sends beats of all nodes in random order, and returns the claims.
func (c *nodes) rounds(r *rand.Rand, n int) (claims int) {
	for range n {
		for _, i := range r.Perm(len(c.all)) {
			if c.beat(i) {
				claims++
			}
		}
	}
	return claims
}

func (c *nodes) leaders() (all []int) {
	for i, r := range c.role {
		if c.up[i] && r == Leader {
			all = append(all, i)
		}
	}
	return all
}

// One node becomes the leader, another one soon after it has died or left, and none while it lives.
func TestElection(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newNodes(2 + r.IntN(4))
		if c.rounds(r, deadAfter); len(c.leaders()) != 0 {
			t.Fatalf("seed %d: a leader before the others could have been heard", seed)
		}
		if claims := c.rounds(r, 3); claims != 1 || len(c.leaders()) != 1 {
			t.Fatalf("seed %d: %d claims, leaders %v", seed, claims, c.leaders())
		}
		if claims := c.rounds(r, 50); claims != 0 {
			t.Fatalf("seed %d: %d claims beside a leader", seed, claims)
		}
		leader := c.leaders()[0]
		within := deadAfter + 2
		if seed%2 == 0 {
			c.up[leader] = false
		} else {
			c.role[leader] = Leaving
			c.beat(leader)
			c.up[leader], within = false, 2
		}
		if claims := c.rounds(r, within); claims != 1 || len(c.leaders()) != 1 {
			t.Fatalf("seed %d: %d claims within %d beats after the leader has gone, leaders %v", seed, claims, within, c.leaders())
		}
	}
}

// A leader whose beats do not come leads as long as its entries do; those of a leader before it say
// nothing.
func TestElectionByEntries(t *testing.T) {
	for _, of := range []struct {
		term   uint64 // of the entries, less than the leader's by so much
		claims int
	}{{0, 0}, {1, 1}} {
		c := newNodes(3)
		r := rand.New(rand.NewPCG(1, 1))
		c.rounds(r, deadAfter+3)
		leader, claims := c.leaders()[0], 0
		c.up[leader] = false
		for range 10 * deadAfter {
			for i, e := range c.all {
				if i != leader && claims == 0 {
					e.wrote(c.term - of.term)
				}
			}
			claims += c.rounds(r, 1)
		}
		if claims != of.claims {
			t.Errorf("%d claims beside entries of a term %d earlier, want %d", claims, of.term, of.claims)
		}
	}
}

// Of two nodes the one that is behind gives way, and leads all the same where it is alone.
func TestElectionOfTheNewest(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		c := newNodes(3)
		c.rounds(r, deadAfter+3)
		leader := c.leaders()[0]
		c.up[leader] = false
		late := (leader + 1 + int(seed%2)) % 3
		c.applied[3-leader-late] = farBehind + 1
		c.rounds(r, deadAfter+2)
		if now := c.leaders(); len(now) != 1 || now[0] == late {
			t.Fatalf("seed %d: leaders %v, and %d is behind", seed, now, late)
		}
		c.up[c.leaders()[0]] = false
		if c.rounds(r, 2*deadAfter+2); len(c.leaders()) != 1 {
			t.Fatalf("seed %d: the node that is left does not lead", seed)
		}
	}
}

// A node that was stopped hears its own beats no more, so for it no other node dies. A node whose
// claim fails gives way to the next one.
func TestElectionWithoutBeats(t *testing.T) {
	c := newNodes(3)
	r := rand.New(rand.NewPCG(1, 1))
	c.rounds(r, deadAfter+3)
	leader := c.leaders()[0]
	for i, e := range c.all { // each hears the others alone, and much of them
		for j := range c.all {
			for range 100 {
				if j != i && j != leader {
					e.hear(Beat{ID: c.all[j].id, Role: Follower, Term: c.term})
				}
			}
		}
		if i != leader && e.mayClaim() {
			t.Errorf("node %d would claim without a beat of its own", i)
		}
	}
	c.up[leader] = false
	tried := map[int]bool{}
	for range 4 * deadAfter {
		for i := range c.all {
			if c.beat(i) {
				tried[i] = true
				c.role[i] = Follower // it did not succeed
				c.term--
			}
		}
	}
	if len(tried) != 2 {
		t.Errorf("of two nodes that are left, %d have tried", len(tried))
	}
}

// A node that has not caught up with the log comes after all others.
func TestElectionOfOneThatStarts(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 2))
		c := newNodes(3)
		c.term = seed
		late := r.IntN(3)
		c.role[late] = Starting
		c.rounds(r, deadAfter+3)
		if l := c.leaders(); len(l) != 1 || l[0] == late {
			t.Fatalf("seed %d: leaders %v, and %d starts", seed, l, late)
		}
	}
}

// A node that is unfit becomes the leader only where no other one can.
func TestElectionOfUnfitNodes(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := newNodes(3)
		c.role[0], c.role[1] = Unfit, Unfit
		c.rounds(r, deadAfter+3)
		if got := c.leaders(); len(got) != 1 || got[0] != 2 {
			t.Fatalf("seed %d: leaders %v, want the one that is fit", seed, got)
		}
		if c.all[2].hasFollower() {
			t.Fatalf("seed %d: an unfit node counts as a follower", seed)
		}
		c.up[2] = false
		c.rounds(r, 20)
		if got := c.leaders(); len(got) != 1 {
			t.Fatalf("seed %d: leaders %v of unfit nodes", seed, got)
		}
	}
}

// A node whose claim is in the log has some time until it tells that it leads. If it does not, the
// next one makes a claim.
func TestElectionAfterAClaim(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 3))
		c := newNodes(3)
		c.rounds(r, deadAfter)
		for _, e := range c.all {
			e.claimed()
		}
		if claims := c.rounds(r, deadAfter-1); claims != 0 {
			t.Fatalf("seed %d: %d claims right after another one", seed, claims)
		}
		if claims := c.rounds(r, deadAfter); claims != 1 {
			t.Fatalf("seed %d: %d claims when the node of the last one does not lead", seed, claims)
		}
	}
}
