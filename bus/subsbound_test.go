package bus_test

import (
	"testing"

	"paddock/bus"
)

// A subscription beyond the bound is refused and counted; the connection stays.
func TestSubscriptionsBeyondTheBoundAreCounted(t *testing.T) {
	s := startServer(t, bus.Config{MaxSubs: 1})
	p := dialPeer(t, s)
	p.write("CONNECT {\"verbose\":false}\r\nSUB a 1\r\nSUB b 2\r\nPING\r\n")
	p.expect("answers", "-ERR 'maximum subscriptions exceeded'\r\nPONG\r\n")
	if n := s.Stats().SubsRefused; n != 1 {
		t.Errorf("%d are counted, want 1", n)
	}
}
