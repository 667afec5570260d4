package wire

import "sync"

// sessionLane is what is known of the acknowledged posts of one (session, index):
// how many were handled, whose connection carries them now, and whether a handler
// of an earlier connection still runs, for which the next one waits. So each number
// is handled once, whichever connections have carried it.
type sessionLane struct {
	mu      sync.Mutex
	epoch   uint64
	used    bool   // epoch and handled mean something
	handled uint64 // posts with lower numbers, and this one, have been
	owner   *Conn
	busy    bool // a handler runs
	changed gate // busy, or owner
}

// knows says whether something is remembered of the epoch.
func (l *sessionLane) knows(epoch uint64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.used && l.epoch == epoch
}

// claim makes c the owner and returns the one before, unless a higher epoch is
// there. handled is raised to at least the one given; a higher epoch begins with
// that.
func (l *sessionLane) claim(c *Conn, epoch, handled uint64) (before *Conn, known uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if epoch < l.epoch {
		return nil, 0, false
	}
	if epoch > l.epoch {
		l.epoch, l.handled = epoch, 0
	}
	l.used = true
	l.handled = max(l.handled, handled)
	before, l.owner = l.owner, c
	l.changed.open()
	return before, l.handled, true
}

// begin waits for a handler of an earlier connection, and takes off p what was
// handled. It returns false if the posts are not c's to handle any more.
func (l *sessionLane) begin(c *Conn, p *Posts) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy && l.owner == c {
		changed := l.changed.wait()
		l.mu.Unlock()
		select {
		case <-changed:
		case <-c.ctx.Done():
		}
		l.mu.Lock()
		if c.ctx.Err() != nil {
			return false
		}
	}
	if l.owner != c {
		return false
	}
	l.busy = true
	if before := p.last - uint64(p.count); l.handled > before {
		p.cut(int(min(l.handled-before, uint64(p.count))))
	}
	return true
}

// end notes that posts up to number have been handled, on a connection of the
// epoch.
func (l *sessionLane) end(epoch, number uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy = false
	if epoch == l.epoch {
		l.handled = max(l.handled, number)
	}
	l.changed.open()
}

// leave ends c's ownership.
func (l *sessionLane) leave(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.owner == c {
		l.owner = nil
	}
}

// joinSession lets the connection join the session that the peer has named. It
// runs on the reader, before anything else of the peer is looked at.
func (c *Conn) joinSession() error {
	of := c.m.Peer().Session
	if of == nil || c.config.Sessions == nil {
		return nil
	}
	lane, handled, err := c.config.Sessions.join(c, of)
	if err != nil {
		return err
	}
	c.lane = lane
	c.mu.Lock()
	defer c.mu.Unlock()
	c.m.Known(handled)
	c.wakeWriter()
	return nil
}

// leaveSession undoes joinSession. It runs on the reader.
func (c *Conn) leaveSession() {
	if c.config.Sessions == nil || c.m.Peer() == nil || c.m.Peer().Session == nil {
		return
	}
	if c.lane != nil {
		c.lane.leave(c)
	}
	c.config.Sessions.leave(c, c.m.Peer().Session.ID)
}

// leaves says whether the connection drains, and so comes to its end by itself.
func (c *Conn) leaves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Draining()
}
