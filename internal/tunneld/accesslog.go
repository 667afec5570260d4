package tunneld

import (
	"log/slog"
	"sync"
	"time"

	"paddock/tunnel"
)

// linesEach is how many refusals a second are written down; of the others there is a
// count. A flood of visitors is not to become one of lines.
const linesEach = 50

// accessLog writes a line for each visitor who was refused, or carried otherwise than his
// tunnel says.
type accessLog struct {
	log *slog.Logger

	mu     sync.Mutex
	second time.Time // guarded by mu; that of the lines so far
	lines  int       // guarded by mu; in it
	left   uint64    // guarded by mu; those since the last line that were not written down
}

// refused writes the line, unless there were too many of late.
func (a *accessLog) refused(f tunnel.Refusal) {
	left, ok := a.take(time.Now())
	if !ok {
		return
	}
	a.log.Info("visitor refused", "stage", f.Reason.Stage(), "reason", f.Reason.String(), "status", f.Status, "tunnel", f.Tunnel,
		"client", f.Identity, "peer", f.Peer, "host", f.Host, "waited_ms", f.Waited.Milliseconds(), "left_out", left, "error", f.Err)
}

// served writes the line of a request that was answered. There is one for each, for who
// has asked for them.
func (a *accessLog) served(v tunnel.Served) {
	a.log.Info("visitor served", "status", v.Status, "tunnel", v.Tunnel, "client", v.Identity, "peer", v.Peer, "host", v.Host,
		"method", v.Method, "path", v.Path, "received", v.Received, "sent", v.Sent, "ms", v.Took.Milliseconds(), "request_id", v.RequestID)
}

// fallen writes the line of a visitor whom the link carries instead of a channel of his own.
func (a *accessLog) fallen(f tunnel.Fallen) {
	left, ok := a.take(time.Now())
	if !ok {
		return
	}
	a.log.Info("visitor not direct", "reason", f.Reason.String(), "tunnel", f.Tunnel, "client", f.Identity, "peer", f.Peer,
		"waited_ms", f.Waited.Milliseconds(), "left_out", left, "error", f.Err)
}

// take says whether a line may be written now, and how many were left out before it.
func (a *accessLog) take(now time.Time) (left uint64, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if now.Sub(a.second) >= time.Second {
		a.second, a.lines = now, 0
	}
	if a.lines++; a.lines > linesEach {
		a.left++
		return 0, false
	}
	left, a.left = a.left, 0
	return left, true
}
