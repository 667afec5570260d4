package relay

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

// lookEvery is how often a lookout looks. What it finds has waited already.
const lookEvery = time.Second

// lookout looks whether a socket has been cut from which nobody reads at present, as what
// has come from it waits for somebody who takes nothing: who reads would hear of it.
type lookout struct {
	raw   syscall.RawConn // nil: nothing can be seen
	gone  func()          // called if it has been
	timer *time.Timer     // nil: likewise
	on    atomic.Bool     // begun, and not ended
}

// lookoutFor is for a connection, over TLS too.
func lookoutFor(conn net.Conn, gone func()) *lookout {
	l := &lookout{raw: nowait.Raw(Innermost(conn)), gone: gone}
	if l.raw != nil {
		l.timer = time.AfterFunc(time.Hour, l.look) // it begins with begin
		l.timer.Stop()
	}
	return l
}

// begin lets it look, in a while.
func (l *lookout) begin() {
	if l.timer != nil {
		l.on.Store(true)
		l.timer.Reset(lookEvery)
	}
}

// end lets it look no more than once.
func (l *lookout) end() {
	if l.timer != nil {
		l.on.Store(false)
		l.timer.Stop()
	}
}

func (l *lookout) look() {
	cut := false
	switch err := l.raw.Control(func(fd uintptr) { cut = nowait.Cut(fd) }); {
	case err != nil: // it is closed
	case cut:
		l.gone()
	case l.on.Load():
		l.timer.Reset(lookEvery)
	}
}
