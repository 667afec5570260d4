package relay

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"paddock/internal/netio/nowait"
)

// pollEvery is the interval at which a resetWatcher polls.
const pollEvery = time.Second

// resetWatcher polls a socket for a reset while no goroutine is reading from it. A relay that is
// blocked on a slow peer does not read, so it would not notice that its other side has gone.
type resetWatcher struct {
	raw   syscall.RawConn // nil: nothing can be seen
	gone  func()          // called if it has been
	timer *time.Timer     // nil: likewise
	on    atomic.Bool     // begun, and not ended
}

// watchResets is for a connection, over TLS too.
func watchResets(conn net.Conn, gone func()) *resetWatcher {
	l := &resetWatcher{raw: nowait.Raw(Innermost(conn)), gone: gone}
	if l.raw != nil {
		l.timer = time.AfterFunc(time.Hour, l.poll) // it begins with begin
		l.timer.Stop()
	}
	return l
}

// begin lets it look, in a while.
func (l *resetWatcher) begin() {
	if l.timer != nil {
		l.on.Store(true)
		l.timer.Reset(pollEvery)
	}
}

// end lets it look no more than once.
func (l *resetWatcher) end() {
	if l.timer != nil {
		l.on.Store(false)
		l.timer.Stop()
	}
}

func (l *resetWatcher) poll() {
	cut := false
	switch err := l.raw.Control(func(fd uintptr) { cut = nowait.Cut(fd) }); {
	case err != nil: // it is closed
	case cut:
		l.gone()
	case l.on.Load():
		l.timer.Reset(pollEvery)
	}
}
