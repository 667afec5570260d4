package pipe

import (
	"net"
	"testing"

	"golang.org/x/net/nettest"
)

// A pipe is a net.Conn in every respect that golang.org/x/net/nettest knows.
func TestPipeIsANetConn(t *testing.T) {
	nettest.TestConn(t, func() (c1, c2 net.Conn, stop func(), err error) {
		near, far := New(nowhere{})
		return near, far, func() { _, _ = near.Close(), far.Close() }, nil
	})
}

// Run ends with the failure that GiveUp takes for the last.

// nowhere is an address.
type nowhere struct{}

func (nowhere) Network() string { return "pipe" }
func (nowhere) String() string  { return "here" }
