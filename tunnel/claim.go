package tunnel

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// claim is a name or an address that somebody holds. It outlives his connection by the
// lease, and with it the listener, the permits that are out, and whoever waits.
type claim struct {
	at       Binding // as it was asked for; with port 0 the key has no meaning to others
	where    string  // as visitors know it
	identity string
	lane     Lane
	listener net.Listener // TCP
	holder   atomic.Pointer[holder]
	refused  atomic.Uint64 // visitors who asked for it
	lease    *time.Timer   // guarded by Server.mu; nil while somebody holds it
	dropped  bool          // guarded by Server.mu; it is no claim any more
	last     uint16        // guarded by Server.mu; the tunnel of its identity that had it last

	mu      sync.Mutex
	back    chan struct{} // guarded by mu; closed when there is a holder again, or no claim
	waiting int           // guarded by mu
	gone    bool          // guarded by mu
}

// holder is the session that serves a claim at present.
type holder struct {
	session *session
	id      uint16
	auth    *basicAuth
	direct  bool // visitors are carried by channels of their own
	hinted  hinted
}

// hold gives the claim to a session.
func (c *claim) hold(h *holder) {
	c.holder.Store(h)
	c.release()
}

// release lets those go on who wait.
func (c *claim) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back != nil {
		close(c.back)
		c.back = nil
	}
}

// waitingNow is how many wait for somebody to hold the claim.
func (c *claim) waitingNow() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting
}

// end tells those who wait that nobody comes.
func (c *claim) end() {
	c.mu.Lock()
	c.gone = true
	c.mu.Unlock()
	c.release()
}

// wait returns who holds the claim; for a moment also somebody who comes back. The error
// is ErrAway or that of ctx.
func (c *claim) wait(ctx context.Context, l *Limits) (*holder, error) {
	if h := c.holder.Load(); h != nil {
		return h, nil
	}
	c.mu.Lock()
	if c.gone || c.waiting >= l.Waiting {
		c.mu.Unlock()
		return nil, ErrAway
	}
	if c.back == nil {
		c.back = make(chan struct{})
	}
	back := c.back
	c.waiting++
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
	}()
	if h := c.holder.Load(); h != nil { // it came back before we had asked to be told
		return h, nil
	}
	timer := time.NewTimer(l.Return)
	defer timer.Stop()
	select {
	case <-back:
	case <-timer.C:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if h := c.holder.Load(); h != nil {
		return h, nil
	}
	return nil, ErrAway
}
