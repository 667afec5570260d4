package tunneld

import (
	"log/slog"

	"paddock/internal/process/logbound"
	"paddock/tunnel/server"
)

// accessLog writes a line for each visitor that was refused, or relayed by another way than its
// tunnel is configured for.
type accessLog struct {
	log   *slog.Logger
	lines logbound.Lines // for visitors that were refused, or fell back to the link
}

// refused writes the line, unless there were too many of late.
func (a *accessLog) refused(f server.Refusal) {
	left, ok := a.lines.Take()
	if !ok {
		return
	}
	a.log.Info("visitor refused", "stage", f.Reason.Stage(), "reason", f.Reason.String(), "status", f.Status, "tunnel", f.Tunnel,
		"client", f.Identity, "peer", f.Peer, "host", f.Host, "waited_ms", f.Waited.Milliseconds(), "left_out", left, "error", f.Err)
}

// served writes the line of an answered request or of a relayed connection. It is set only if the
// configuration asks for such lines, since every visitor makes one.
func (a *accessLog) served(v server.Served) {
	if v.End != "" && v.Method == "" {
		a.log.Info("visitor carried", "protocol", v.Protocol, "tunnel", v.Tunnel, "client", v.Identity, "peer", v.Peer, "host", v.Host,
			"received", v.Received, "sent", v.Sent, "ms", v.Took.Milliseconds(), "end", v.End, "direct", v.Direct)
		return
	}
	log := a.log
	if v.End != "" {
		log = log.With("end", v.End)
	}
	log.Info("visitor served", "status", v.Status, "tunnel", v.Tunnel, "client", v.Identity, "peer", v.Peer, "host", v.Host,
		"method", v.Method, "path", v.Path, "received", v.Received, "sent", v.Sent, "ms", v.Took.Milliseconds(), "request_id", v.RequestID)
}

// fallen writes the line of a visitor that the link carries because no direct channel was
// available.
func (a *accessLog) directFallback(f server.DirectFallback) {
	left, ok := a.lines.Take()
	if !ok {
		return
	}
	a.log.Info("visitor not direct", "reason", f.Reason.String(), "tunnel", f.Tunnel, "client", f.Identity, "peer", f.Peer,
		"waited_ms", f.Waited.Milliseconds(), "left_out", left, "error", f.Err)
}
