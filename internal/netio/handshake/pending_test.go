package handshake

import (
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// from is a connection of an address.
type from struct {
	net.Conn
	address string
}

func (f from) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.address), Port: 1} }

const bad, good = "192.0.2.1", "198.51.100.1"

// A connection that is alone at its address is admitted at once, however many arrive from another
// address.
func TestOneAddressKeepsNobodyElseOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c PendingSet
		for range 100 {
			c.Enter(from{address: bad}, 8)
		}
		n, out := c.Enter(from{address: good}, 8)
		if n == nil || out == nil || out.from == n.from || c.Len() != 8 {
			t.Fatalf("%v in, %v out, %d places", n, out, c.Len())
		}
		for range 100 {
			if _, out := c.Enter(from{address: bad}, 8); out == n {
				t.Fatal("put out by those of the other address")
			}
		}
		if !c.Leave(n) || c.Leave(n) {
			t.Error("not there, or twice")
		}
	})
}

// The slowest of the awaited connections is removed, and never one that waits for the server.
func TestWhoMakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c PendingSet
		var in []*Pending
		for range 4 {
			n, _ := c.Enter(from{address: bad}, 4)
			in = append(in, n)
			time.Sleep(time.Millisecond)
		}
		in[0].Served()
		in[0].Awaited() // from now on
		if _, out := c.Enter(from{address: good}, 4); out != in[1] {
			t.Error("not the one who was waited for the longest")
		}
		for _, n := range in {
			n.Served()
		}
		if n, out := c.Enter(from{address: good}, 4); n != nil || out != nil {
			t.Error("somebody had to make room who waits for us")
		}
	})
}

// If all connections are of one address, or each is of its own, a new one is admitted once another
// has exceeded Patience.
func TestPatience(t *testing.T) {
	for name, address := range map[string]func(int) string{
		"one address":    func(int) string { return bad },
		"many addresses": func(i int) string { return net.IPv4(10, 0, 0, byte(i)).String() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c PendingSet
				first, _ := c.Enter(from{address: address(0)}, 3)
				busy, _ := c.Enter(from{address: address(1)}, 3)
				busy.Served()
				time.Sleep(Patience - time.Millisecond)
				c.Enter(from{address: address(2)}, 3)
				if n, _ := c.Enter(from{address: address(3)}, 3); n != nil {
					t.Error("too early")
				}
				time.Sleep(time.Millisecond)
				if n, out := c.Enter(from{address: address(3)}, 3); n == nil || out != first {
					t.Errorf("%v in, %v out", n, out)
				}
				if n, _ := c.Enter(from{address: address(4)}, 3); n != nil {
					t.Error("there is none left who is slow")
				}
			})
		})
	}
}

// A set keeps nothing of removed connections.
func TestCrowdsForget(t *testing.T) {
	var c PendingSet
	for i := range 100 {
		n, _ := c.Enter(from{address: net.IPv4(10, 0, 0, byte(i)).String()}, 100)
		c.Leave(n)
	}
	if c.Len() != 0 || len(c.each) != 0 {
		t.Errorf("%d, of %d networks", c.Len(), len(c.each))
	}
}

// A peer that has received an answer may take longer.
func TestAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c PendingSet
		n, _ := c.Enter(from{address: bad}, 1)
		n.Served()
		n.Answered()
		n.Awaited()
		time.Sleep(Patience + answeredMore - time.Millisecond)
		if n, _ := c.Enter(from{address: bad}, 1); n != nil {
			t.Error("too early")
		}
		time.Sleep(time.Millisecond)
		if _, out := c.Enter(from{address: bad}, 1); out != n {
			t.Error("he goes on")
		}
	})
}
