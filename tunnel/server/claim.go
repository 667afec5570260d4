package server

import (
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"sync/atomic"
	"time"
)

// claim is what one identity has at a place. It outlives his connection by the lease, and
// with it the permits that are out.
type claim struct {
	place    *place
	at       tunnel.Binding
	where    string // of the place
	identity string
	lane     Lane
	holder   atomic.Pointer[holder]
	chosen   uint64       // guarded by place.choosing; place.turn when it was chosen last
	coming   atomic.Int64 // visitors for whom it was chosen, and who are not let in yet
	lease    *time.Timer  // guarded by Server.mu; nil while somebody holds it
	dropped  bool         // guarded by Server.mu; it is no claim any more
	last     uint16       // guarded by Server.mu; the tunnel of its identity that had it last
}

// holder is the session that serves a claim at present.
type holder struct {
	session *session
	id      uint16
	auth    *message.BasicAuth
	direct  bool // visitors are carried by channels of their own
	hinted  hinted
}

// hold gives the claim to a session.
func (c *claim) hold(h *holder) {
	c.holder.Store(h)
	c.place.release()
}
