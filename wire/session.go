package wire

import (
	"cmp"
	"container/list"
	"reflect"
	"sync"
	"time"
)

const (
	// defaultIdleSessions is how many sessions without a connection are remembered.
	defaultIdleSessions = 1 << 16
	// defaultSessionExpiry is how long.
	defaultSessionExpiry = 24 * time.Hour
	// maxSessionLanes bounds the indices of one session.
	maxSessionLanes = 256
)

// Sessions remembers the peers' sessions: the connections of each, and how many acknowledged posts
// of each (session, index) were handled, so that none is handled twice. All connections that a
// session may come on share one. The zero value is ready; fields are set before it is used, and
// methods may be called by any number of goroutines.
//
// A session with a connection is always remembered. One without is forgotten after
// Expiry, or when MaxIdle others have been without one for less time; posts that
// it sends again after that are handled again, unless Known tells about them.
type Sessions struct {
	// MaxIdle is how many sessions without a connection are remembered, 0: 65,536.
	MaxIdle int
	// Expiry is how long they are, 0: 24 hours.
	Expiry time.Duration
	// Known is asked how many posts of s.ID, s.Epoch and s.Index were handled, when
	// nothing is remembered: by a program that keeps a journal of its own. It is
	// called by the reader of a new connection, which waits for it.
	Known func(s Session) uint64

	mu    sync.Mutex // never held while a lane's or a connection's is
	byID  map[[16]byte]*session
	idle  list.List // of *session, the one that has been idle longest first
	stats SessionStats
}

// SessionStats holds the counts of Sessions.
type SessionStats struct {
	Live, Idle int    // sessions with, and without a connection
	Joined     uint64 // connections
	Taken      uint64 // sessions that a higher epoch has taken over
	Replaced   uint64 // connections whose index a newer one has taken
	Stale      uint64 // connections refused for a lower epoch
	Refused    uint64 // connections refused for another identity, or too many indices
	Expired    uint64 // sessions forgotten for their age
	Evicted    uint64 // sessions forgotten for want of room
}

// session is guarded by Sessions.mu.
type session struct {
	id       [16]byte
	epoch    uint64
	identity any
	bound    bool // to identity
	conns    map[*Conn]struct{}
	lanes    map[uint32]*sessionLane
	since    time.Time     // without a connection
	waits    *list.Element // in Sessions.idle; nil: it has a connection
}

// Restore sets, before connections are accepted, how many posts of s.ID, s.Epoch and s.Index were
// handled by an earlier process. identity is that of the peer that the session is bound to; nil
// binds it to the first peer that uses it.
func (s *Sessions) Restore(identity any, of Session, handled uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.find(of.ID)
	if of.Epoch < known.epoch {
		return
	}
	known.epoch, known.identity, known.bound = of.Epoch, identity, identity != nil
	lane := known.lanes[of.Index]
	if lane == nil {
		lane = &sessionLane{}
		known.lanes[of.Index] = lane
	}
	_, _, _ = lane.claim(nil, of.Epoch, handled)
	if len(known.conns) == 0 {
		s.rest(known)
	}
}

// Stats returns the present counts.
func (s *Sessions) Stats() SessionStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := s.stats
	st.Idle = s.idle.Len()
	st.Live = len(s.byID) - st.Idle
	return st
}

// find returns the session, a new one if there is none. s.mu is held.
func (s *Sessions) find(id [16]byte) *session {
	if s.byID == nil {
		s.byID = map[[16]byte]*session{}
	}
	known := s.byID[id]
	if known == nil {
		known = &session{id: id, conns: map[*Conn]struct{}{}, lanes: map[uint32]*sessionLane{}}
		s.byID[id] = known
	}
	return known
}

// join takes a connection whose peer has named a session, whose lane it returns
// with the number of posts that were handled before. The error is for the peer.
func (s *Sessions) join(c *Conn, of *Session) (lane *sessionLane, handled uint64, err error) {
	lane, older, err := s.admit(c, of)
	for _, old := range older {
		old.Abort(StaleEpoch)
	}
	if err != nil {
		return nil, 0, err
	}
	handled = of.Base
	if s.Known != nil && !lane.knows(of.Epoch) {
		handled = max(handled, s.Known(*of))
	}
	before, handled, ok := lane.claim(c, of.Epoch, handled)
	if !ok { // a higher epoch has come meanwhile
		return nil, 0, errStale
	}
	if before != nil && !before.leaves() {
		before.Abort(Aborted)
		s.mu.Lock()
		s.stats.Replaced++
		s.mu.Unlock()
	}
	return lane, handled, nil
}

var errStale = &Error{Code: StaleEpoch, Msg: "a newer epoch of the session has connected"}

// admit judges the session of a connection and enters it. older are connections of
// an epoch that is over.
func (s *Sessions) admit(c *Conn, of *Session) (lane *sessionLane, older []*Conn, err error) {
	who := c.Identity()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	known := s.find(of.ID)
	lane = known.lanes[of.Index]
	switch {
	case known.bound && !reflect.DeepEqual(known.identity, who):
		s.stats.Refused++
		return nil, nil, &Error{Code: PermissionDenied, Msg: "the session belongs to another identity"}
	case of.Epoch < known.epoch:
		s.stats.Stale++
		return nil, nil, errStale
	case lane == nil && len(known.lanes) >= maxSessionLanes:
		s.stats.Refused++
		return nil, nil, &Error{Code: ResourceExhausted, Msg: "too many connections of one session"}
	}
	if of.Epoch > known.epoch && len(known.lanes) > 0 {
		s.stats.Taken++
		for old := range known.conns {
			older = append(older, old)
		}
	}
	known.epoch, known.identity, known.bound = of.Epoch, who, true
	if lane == nil {
		lane = &sessionLane{}
		known.lanes[of.Index] = lane
	}
	if known.waits != nil {
		s.idle.Remove(known.waits)
		known.waits = nil
	}
	known.conns[c] = struct{}{}
	s.stats.Joined++
	return lane, older, nil
}

// leave forgets a connection that has ended.
func (s *Sessions) leave(c *Conn, id [16]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.byID[id]
	if known == nil {
		return
	}
	if _, in := known.conns[c]; !in {
		return
	}
	delete(known.conns, c)
	if len(known.conns) == 0 {
		s.rest(known)
	}
	s.expire()
}

// rest adds a session to those without a connection. s.mu is held.
func (s *Sessions) rest(known *session) {
	if known.waits != nil {
		s.idle.Remove(known.waits)
	}
	known.since = time.Now()
	known.waits = s.idle.PushBack(known)
	if s.idle.Len() > cmp.Or(s.MaxIdle, defaultIdleSessions) {
		s.forget(&s.stats.Evicted)
	}
}

// expire forgets sessions that have been idle for too long. s.mu is held.
func (s *Sessions) expire() {
	for first := s.idle.Front(); first != nil; first = s.idle.Front() {
		if time.Since(first.Value.(*session).since) < cmp.Or(s.Expiry, defaultSessionExpiry) {
			return
		}
		s.forget(&s.stats.Expired)
	}
}

// forget forgets the session that has been idle longest. s.mu is held.
func (s *Sessions) forget(counter *uint64) {
	known := s.idle.Remove(s.idle.Front()).(*session)
	delete(s.byID, known.id)
	*counter++
}

// sessionLane is the state of the acknowledged posts of one (session, index): how many were
// handled, which connection carries them now, and whether a handler of an earlier connection still
// runs, for which the next one waits. So each number is handled once, whichever connections have
// carried it.
type sessionLane struct {
	mu      sync.Mutex
	epoch   uint64
	used    bool   // epoch and handled mean something
	handled uint64 // posts with lower numbers, and this one, have been
	owner   *Conn
	busy    bool // a handler runs
	changed cond // busy, or owner
}

// knows reports whether the epoch is remembered.
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
	l.changed.broadcast()
	return before, l.handled, true
}

// begin waits for a handler of an earlier connection, and removes the handled posts from p. It
// returns false if the posts are not c's to handle any more.
func (l *sessionLane) begin(c *Conn, p *Posts) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.busy && l.owner == c {
		if _ = l.changed.wait(c.ctx, &l.mu); c.ctx.Err() != nil {
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
	l.changed.broadcast()
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
	c.out.wake()
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

// leaves reports whether the connection drains, and so comes to its end by itself.
func (c *Conn) leaves() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Draining()
}
