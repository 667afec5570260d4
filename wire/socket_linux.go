package wire

import (
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

const (
	tcpUserTimeout  = 18 // TCP_USER_TIMEOUT, tcp(7)
	tcpNotSentLowat = 25 // TCP_NOTSENT_LOWAT, tcp(7)
)

// tune sets what makes a dead peer known (RFC 5482), keeps the kernel's queue
// short, and lets each read tell whether more has come. It says whether reads do
// that. A system that refuses is no worse than one that has none of it.
func tune(raw syscall.RawConn, idle time.Duration) (tells bool) {
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(idle.Milliseconds()))
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, notSentLowWater)
	})
	return nowait.Tells(raw)
}
