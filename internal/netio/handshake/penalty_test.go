package handshake

import (
	"net"
	"net/netip"
	"testing"
	"testing/synctest"
	"time"
)

// Repeated failures pause an address for a second, then two, up to a minute, until a peer of that
// address is authenticated. Other addresses are not affected.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := new(PenaltyBox)
		guesser, other := &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}, &net.TCPAddr{IP: net.ParseIP("192.0.2.2")}
		for range freeFailures {
			p.Failed(guesser)
			if p.Paused(guesser) {
				t.Fatal("paused by a failure that is free")
			}
		}
		for want := time.Second; want < 4*time.Minute; want *= 2 {
			p.Failed(guesser)
			time.Sleep(min(want, maxPause) - time.Millisecond)
			if !p.Paused(guesser) || p.Paused(other) {
				t.Errorf("before %v are over: %v, another address: %v", want, p.Paused(guesser), p.Paused(other))
			}
			time.Sleep(time.Millisecond)
			if p.Paused(guesser) {
				t.Errorf("paused for longer than %v", min(want, maxPause))
			}
		}
		p.Failed(guesser)
		p.Forgive(guesser)
		if p.Paused(guesser) {
			t.Error("not forgiven")
		}
	})
}

// The addresses of an IPv6 network count together, and their number is bounded.
func TestPausesAreBounded(t *testing.T) {
	p := new(PenaltyBox)
	for i := range 2 * freeFailures {
		p.Failed(&net.TCPAddr{IP: net.IP{0x20, 1, 0xd, 0xb8, 15: byte(i)}})
	}
	if !p.Paused(&net.TCPAddr{IP: net.ParseIP("2001:db8::ffff")}) {
		t.Error("each address of a network of IPv6 counts alone")
	}
	for i := range 2 * maxPauses {
		p.Failed(&net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))})
	}
	if len(p.of) > maxPauses {
		t.Errorf("%d addresses are remembered", len(p.of))
	}
}

// Addresses whose pauses ended long ago make room for others.
func TestPausesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, late := new(PenaltyBox), &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}
		fail := func(peer net.Addr) bool {
			for range freeFailures + 1 {
				p.Failed(peer)
			}
			return p.Paused(peer)
		}
		for i := range maxPauses {
			p.Failed(&net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))})
		}
		if fail(late) {
			t.Error("there was room")
		}
		time.Sleep(maxPause + time.Millisecond)
		if !fail(late) {
			t.Error("there was no room")
		}
	})
}

// Failures from this machine's own addresses are not counted by FailedElsewhere.
func TestPausesElsewhere(t *testing.T) {
	p := new(PenaltyBox)
	own := []string{"127.0.0.1", "::1", "::ffff:127.0.0.2"}
	for range 2 * freeFailures {
		for _, address := range own {
			p.FailedElsewhere(&net.TCPAddr{IP: net.ParseIP(address)})
		}
		p.FailedElsewhere(&net.UnixAddr{Name: "x"})
		p.FailedElsewhere(&net.TCPAddr{IP: net.ParseIP("192.0.2.1")})
	}
	for _, address := range own {
		if p.Paused(&net.TCPAddr{IP: net.ParseIP(address)}) {
			t.Errorf("%s is paused", address)
		}
	}
	if !p.Paused(&net.TCPAddr{IP: net.ParseIP("192.0.2.1")}) {
		t.Error("another address is not paused")
	}
}

// Addresses that one machine may choose from are one network, and those of different machines
// are not.
func TestNetworkOf(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"192.0.2.1", "192.0.2.1", true},
		{"192.0.2.1", "::ffff:192.0.2.1", true},
		{"192.0.2.1", "192.0.2.2", false},
		{"2001:db8::1", "2001:db8::ffff:1", true},
		{"fe80::1%eth0", "fe80::2%eth1", true},
		{"2001:db8::1", "2001:db8:0:1::1", false},
		{"64:ff9b::192.0.2.1", "64:ff9b::192.0.2.1", true},
		{"64:ff9b::192.0.2.1", "64:ff9b::192.0.2.2", false}, // RFC 6052: each is an address of IPv4
		{"192.0.2.1", "64:ff9b::192.0.2.1", true},
	} {
		a, b := NetworkOf(netip.MustParseAddr(c.a)), NetworkOf(netip.MustParseAddr(c.b))
		if (a == b) != c.same || !a.IsValid() {
			t.Errorf("%s is of %v, %s of %v", c.a, a, c.b, b)
		}
	}
	if n := NetworkOf(netip.Addr{}); n.IsValid() {
		t.Errorf("no address is of %v", n)
	}
}
