// Package handshake bounds the cost of connections whose peers are not authenticated yet, so that
// authenticated peers keep room and processors:
//
//   - [Limiter] bounds the TLS handshakes that compute at once.
//   - [PendingSet] holds the connections in their handshake, and chooses which of them is closed
//     to make room for another.
//   - [AcceptQueue] holds the connections that wait to begin their handshake.
//   - [PenaltyBox] refuses addresses from which handshakes fail repeatedly.
//   - [Tickets] keeps the keys of TLS session tickets over a restart, which saves full handshakes.
//
// The package does not depend on the protocol above TLS.
package handshake

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Patience is how long a pending peer may keep the server waiting when there is no room for others.
// A responsive peer answers within it from anywhere on Earth.
const Patience = time.Second

// answeredMore is added to Patience for a peer that has received an answer. To close its connection
// would waste the computation of both sides. When a fleet reconnects from behind one address, its
// machines may be as busy as the server.
const answeredMore = 3 * time.Second

// PendingSet holds connections whose peers are not authenticated yet. To make room for a new one,
// it closes another:
//
//   - If one network has more connections than the network of the new one would have, it is the
//     one of that network whose peer has kept the server waiting for the longest time.
//   - Otherwise it is the one whose peer has kept the server waiting for the longest time, if that
//     is longer than Patience.
//   - Otherwise the new connection is refused. The others wait for the server, and will leave soon.
//
// A peer that has received an answer may take longer. So silent peers displace each other. They
// keep others of their own network out for Patience at most, and other networks not at all.
//
// A PendingSet has no lock: one goroutine at a time calls its methods.
type PendingSet struct {
	in   []*Pending // in the order of arrival
	each map[netip.Prefix]int
}

// Pending is a connection of a PendingSet. Any goroutine may call Awaited, Served and Answered,
// also on nil.
type Pending struct {
	Conn  net.Conn
	from  netip.Prefix
	since atomic.Pointer[time.Time] // when the server began to wait for the peer; nil: the peer waits

	answered atomic.Bool
}

// Awaited records that the server waits for the peer.
func (n *Pending) Awaited() {
	if n == nil {
		return
	}
	since := time.Now()
	if n.answered.Load() {
		since = since.Add(answeredMore)
	}
	n.since.CompareAndSwap(nil, &since)
}

// Served records that the peer has sent something and waits for the server.
func (n *Pending) Served() {
	if n != nil {
		n.since.Store(nil)
	}
}

// Answered records that the server has sent an answer.
func (n *Pending) Answered() {
	if n != nil {
		n.answered.Store(true)
	}
}

// Len returns the number of connections.
func (c *PendingSet) Len() int { return len(c.in) }

// Enter adds a connection to a set of at most most; n is nil if it is refused. out is the
// connection that was removed to make room, or nil; the caller closes it. The server waits for the
// new peer.
func (c *PendingSet) Enter(conn net.Conn, most int) (n, out *Pending) {
	n = &Pending{Conn: conn}
	n.from, _ = Network(conn.RemoteAddr())
	n.Awaited()
	if len(c.in) >= most {
		if out = c.makesRoom(n); out == nil {
			return nil, nil
		}
		c.Leave(out)
	}
	if c.each == nil {
		c.each = map[netip.Prefix]int{}
	}
	c.in = append(c.in, n)
	c.each[n.from]++
	return n, out
}

// Leave removes a connection, and reports whether it was in the set.
func (c *PendingSet) Leave(n *Pending) bool {
	i := slices.Index(c.in, n)
	if i < 0 {
		return false
	}
	c.in = slices.Delete(c.in, i, i+1)
	if c.each[n.from]--; c.each[n.from] == 0 {
		delete(c.each, n.from)
	}
	return true
}

// makesRoom returns the connection to remove for n, or nil.
func (c *PendingSet) makesRoom(n *Pending) *Pending {
	largest := n.from
	for from, count := range c.each {
		if count > c.each[largest] {
			largest = from
		}
	}
	if c.each[largest] > c.each[n.from]+1 {
		if slow, _ := c.slowest(func(x *Pending) bool { return x.from == largest }); slow != nil {
			return slow
		}
	}
	if slow, waited := c.slowest(func(*Pending) bool { return true }); waited >= Patience {
		return slow
	}
	return nil
}

// slowest returns the connection that has kept the server waiting for the longest time, among some,
// and that time. It returns nil if all of them wait for the server.
func (c *PendingSet) slowest(among func(*Pending) bool) (slow *Pending, waited time.Duration) {
	var first time.Time
	for _, x := range c.in {
		if since := x.since.Load(); since != nil && (slow == nil || since.Before(first)) && among(x) {
			slow, first = x, *since
		}
	}
	if slow == nil {
		return nil, 0
	}
	return slow, time.Since(first)
}
