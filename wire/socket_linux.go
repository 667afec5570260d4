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

// tune sets the socket options by which the kernel detects a dead peer (RFC 5482) and keeps its
// queue short, and lets each read report whether more bytes are there. It reports whether reads do
// that. A system that refuses is no worse than one without the options.
func tune(raw syscall.RawConn, idle time.Duration) (tells bool) {
	_ = raw.Control(func(fd uintptr) {
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(idle.Milliseconds()))
		_ = syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpNotSentLowat, notSentLowWater)
	})
	return nowait.Tells(raw)
}
