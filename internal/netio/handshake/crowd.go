// Package handshake bounds what connections cost whose peers are not known yet, so that
// those who are find room and processors: how many handshakes of TLS compute at once
// ([Turns]), who stands at a door and has to make room for others ([Crowd]), who waits
// before it ([Room]), from where nothing is taken for a while since it has failed again and
// again ([Pauses]), and how those who come back after a restart are spared the work
// ([Tickets]).
//
// It knows nothing of what is spoken behind the door.
package handshake

import (
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// Patience is how long a peer may be waited for at a door where there is no room. Whoever
// means it has answered by then from anywhere on Earth.
const Patience = time.Second

// answeredMore is how much longer somebody may be waited for whom we have answered: to send
// him away costs both sides what they have computed, and where a fleet comes back behind one
// address, its machines may be as short of time as we are.
const answeredMore = 3 * time.Second

// Crowd is who stands at a door, of whom it is not known yet who he is, and who has to go
// when there is no room for another one:
//
//   - where one network has more of the places than that of the newcomer would have, whoever
//     of its own is waited for the longest goes;
//   - else whoever is waited for the longest goes, if that is longer than Patience;
//   - else the newcomer is not let in: who waits for us leaves by himself, and soon.
//
// Whom we have answered is waited for some time longer.
//
// So those who come and say nothing take places from each other, and keep somebody of their
// own network out for Patience at most, and others not at all.
//
// A Crowd has no lock: one goroutine at a time calls its methods.
type Crowd struct {
	in   []*Newcomer // in the order in which they came
	each map[netip.Prefix]int
}

// Newcomer is one of a Crowd. Awaited, Served and Answered may be called by any goroutine, on nil too.
type Newcomer struct {
	Conn  net.Conn
	from  netip.Prefix
	since atomic.Pointer[time.Time] // since when the peer is waited for; nil: it waits for us

	answered atomic.Bool
}

// Awaited says that the peer is to speak.
func (n *Newcomer) Awaited() {
	if n == nil {
		return
	}
	since := time.Now()
	if n.answered.Load() {
		since = since.Add(answeredMore)
	}
	n.since.CompareAndSwap(nil, &since)
}

// Served says that the peer has spoken, and waits for us.
func (n *Newcomer) Served() {
	if n != nil {
		n.since.Store(nil)
	}
}

// Answered says that the peer has something of ours to go on with.
func (n *Newcomer) Answered() {
	if n != nil {
		n.answered.Store(true)
	}
}

// Len is how many there are.
func (c *Crowd) Len() int { return len(c.in) }

// Enter adds a connection to a crowd of at most so many; n is nil if there is no room for
// it. out is who has had to go, nil if nobody: he is not of the crowd any more, and his
// connection is to be closed. The newcomer is waited for.
func (c *Crowd) Enter(conn net.Conn, most int) (n, out *Newcomer) {
	n = &Newcomer{Conn: conn}
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

// Leave removes a newcomer who is one of the crowd, and says whether he was.
func (c *Crowd) Leave(n *Newcomer) bool {
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

// makesRoom is who goes for n, nil if nobody.
func (c *Crowd) makesRoom(n *Newcomer) *Newcomer {
	largest := n.from
	for from, count := range c.each {
		if count > c.each[largest] {
			largest = from
		}
	}
	if c.each[largest] > c.each[n.from]+1 {
		if slow, _ := c.slowest(func(x *Newcomer) bool { return x.from == largest }); slow != nil {
			return slow
		}
	}
	if slow, waited := c.slowest(func(*Newcomer) bool { return true }); waited >= Patience {
		return slow
	}
	return nil
}

// slowest is who is waited for the longest among some, and for how long; nil if nobody is
// waited for.
func (c *Crowd) slowest(among func(*Newcomer) bool) (slow *Newcomer, waited time.Duration) {
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
