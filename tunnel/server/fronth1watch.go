package server

import (
	"paddock/tunnel/internal/relay"
	"sync"
	"time"
)

// watchAfter is how long an exchange goes on before anybody looks whether the visitor is
// still there: most are over by then, and cost no goroutine.
const watchAfter = 5 * time.Millisecond

// h1Watch is the goroutine that reads on while an answer is waited for and given: the
// end of the connection is the visitor's leaving. What he sends meanwhile is his next
// request. When the room is full nobody looks any more, and only writing fails.
type h1Watch struct {
	armed bool // by whoever has read the end of the body
	timer *time.Timer
	done  chan struct{} // gets one value when readAhead returns

	mu      sync.Mutex
	stopped bool // guarded by mu
}

// watch begins to look, in a while.
func (c *h1Conn) watch() {
	w := &c.ahead
	w.armed, w.stopped = true, false
	if w.timer == nil {
		w.timer = time.AfterFunc(watchAfter, c.readAhead)
		return
	}
	w.timer.Reset(watchAfter)
}

// unwatch ends it, before anybody else reads.
func (c *h1Conn) unwatch() {
	w := &c.ahead
	if !w.armed {
		return
	}
	w.armed = false
	if w.timer.Stop() {
		return
	}
	w.mu.Lock()
	w.stopped = true
	c.readUntil(relay.LongAgo)
	w.mu.Unlock()
	<-w.done
}

// readAhead is the goroutine: it reads until it is stopped or nothing more is to come.
func (c *h1Conn) readAhead() {
	w := &c.ahead
	defer func() { w.done <- struct{}{} }()
	w.mu.Lock()
	if !w.stopped {
		c.readUntil(time.Time{})
	}
	w.mu.Unlock()
	for c.w < len(c.room.in) {
		n, err := c.conn.Read(c.room.in[c.w:])
		c.w += n
		if err != nil {
			_ = c.lost(err)
			return
		}
	}
}
