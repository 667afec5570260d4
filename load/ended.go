package load

// Ended is one request that has ended, with an answer or without: see [Plan.Each]. It is
// valid until the call returns. Its times are in ns since the run's start.
type Ended struct {
	// Dialed and Connected are its connection's, if it is the first request on it; else 0.
	Dialed, Connected int64
	Due, Sent         int64
	// FirstByte is when the first bytes of its answer were read; 0 = none came.
	FirstByte int64
	Done      int64

	Class  Class
	Status uint16 // 0 = there was no answer
	Body   int64  // bytes
	Last   bool   // the service ends the connection behind it, and has said so
}

// notify tells whoever wants to know of a request that has ended.
func (l *loop) notify(c *conn, s *slot, a *Answer, now int64) {
	if l.each == nil {
		return
	}
	e := &l.notice
	*e = Ended{Due: s.due, Sent: s.sent, Done: now, Class: a.Class, Status: a.Status, Body: a.Body, Last: a.Last}
	if s.first {
		e.Dialed, e.Connected = c.dialed, c.met
	}
	switch {
	case s.silent:
	case c.state == stateReady && c.since != 0:
		e.FirstByte = c.since
	case a.Status != 0 || a.Class == ClassOK: // it came whole, behind another's end
		e.FirstByte = now
	}
	l.each(e)
}
