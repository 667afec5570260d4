package tunneld

import (
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"paddock/wire"
)

// An address from which connections fail again and again is not listened to for a second,
// then two, up to a minute, until somebody from there is let in. Others do not notice.
func TestPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, failure := newPauses(), errors.New("no TLS")
		guesser, other := &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}, &net.TCPAddr{IP: net.ParseIP("192.0.2.2")}
		for range freeFailures {
			p.failed(guesser, failure)
			if p.now(guesser) {
				t.Fatal("paused by a failure that is free")
			}
		}
		for want := time.Second; want < 4*time.Minute; want *= 2 {
			p.failed(guesser, failure)
			time.Sleep(min(want, maxPause) - time.Millisecond)
			if !p.now(guesser) || p.now(other) {
				t.Errorf("before %v are over: %v, another address: %v", want, p.now(guesser), p.now(other))
			}
			time.Sleep(time.Millisecond)
			if p.now(guesser) {
				t.Errorf("paused for longer than %v", min(want, maxPause))
			}
		}
		p.failed(guesser, failure)
		p.forgive(guesser)
		if p.now(guesser) {
			t.Error("not forgiven")
		}
	})
}

// What does not count, what counts together, and how much is remembered.
func TestPausesAreBounded(t *testing.T) {
	p := newPauses()
	knock, kicked := &net.TCPAddr{IP: net.ParseIP("192.0.2.1")}, &net.TCPAddr{IP: net.ParseIP("192.0.2.3")}
	for i := range 2 * freeFailures {
		p.failed(knock, io.EOF)
		p.failed(kicked, &wire.Error{Code: wire.PermissionDenied})
		p.failed(&net.TCPAddr{IP: net.IP{0x20, 1, 0xd, 0xb8, 15: byte(i)}}, errors.New("no TLS"))
	}
	if p.now(knock) || p.now(kicked) {
		t.Error("a look at the port, or a kick, counts")
	}
	if !p.now(&net.TCPAddr{IP: net.ParseIP("2001:db8::ffff")}) {
		t.Error("each address of a network of IPv6 counts alone")
	}
	for i := range 2 * maxPauses {
		p.failed(&net.TCPAddr{IP: net.IPv4(10, 0, byte(i>>8), byte(i))}, errors.New("no TLS"))
	}
	if len(p.of) > maxPauses {
		t.Errorf("%d addresses are remembered", len(p.of))
	}
}
