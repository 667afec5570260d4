package bus

import (
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// firstPing is when a new connection gets its first PING, with up to a
	// fifth more so that a storm of connects is not followed by one of PINGs.
	firstPing = 2 * time.Second
	// pongMemory is how long one answered PING proves that the peer answers;
	// then a PING goes out even on a busy connection.
	pongMemory = time.Hour
)

// timers are the times of a connection at which something is due. One timer
// serves them all, so that an idle connection has no goroutine for it. The
// client's lock guards them.
type timers struct {
	timer  *time.Timer
	off    bool
	next   time.Time // when timer fires
	auth   time.Time // zero once it has been
	ping   time.Time
	proven time.Time // since when a PONG counts as proof
}

// startTimers is called once. While the timer is set, the server waits for it.
func (c *client) startTimers() {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.timers
	t.auth = now.Add(c.srv.cfg().AuthTimeout)
	t.ping = now.Add(min(firstPing+rand.N(firstPing/5), c.srv.cfg().PingInterval))
	t.proven = now
	t.next = c.nextDue()
	c.srv.running.Add(1)
	t.timer = time.AfterFunc(t.next.Sub(now), c.tick)
}

func (c *client) stopTimers() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.timers.off = true
	if c.timers.timer.Stop() {
		c.srv.running.Done()
	}
}

// nextDue is when the next thing is due. c.mu is held.
func (c *client) nextDue() time.Time {
	t := &c.timers
	due := t.ping
	if !t.auth.IsZero() && t.auth.Before(due) {
		due = t.auth
	}
	if since, waiting := c.out.oldest(); waiting && !c.aborted {
		if at := since.Add(c.srv.cfg().WriteDeadline); at.Before(due) {
			due = at
		}
	}
	return due
}

// advanceTimer sets the timer to an earlier time if something is due before. c.mu is
// held.
func (c *client) advanceTimer() {
	t := &c.timers
	if t.timer == nil || t.off {
		return
	}
	due := c.nextDue()
	if due.Before(t.next) && t.timer.Stop() { // else tick is about to look itself
		t.next = due
		t.timer.Reset(time.Until(due))
	}
}

// tick does the due work, and sets the timer again.
func (c *client) tick() {
	defer c.srv.running.Done()
	now := time.Now()
	t := &c.timers
	c.mu.Lock()
	authenticate := !t.auth.IsZero() && !now.Before(t.auth)
	if authenticate {
		t.auth = time.Time{}
	}
	ping := !now.Before(t.ping)
	if ping {
		t.ping = now.Add(c.srv.cfg().PingInterval)
		if now.Sub(t.proven) > pongMemory {
			t.proven = now
			c.answered.Store(false)
		}
	}
	since, waiting := c.out.oldest()
	c.mu.Unlock()
	if authenticate && !c.authorized.Load() {
		c.end(errAuthTimeout)
	}
	if waiting && now.Sub(since) >= c.srv.cfg().WriteDeadline {
		c.tooSlow()
	}
	if ping {
		c.checkPing(now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.off {
		t.next = c.nextDue()
		c.srv.running.Add(1)
		t.timer.Reset(time.Until(t.next))
	}
}

// checkPing asks a silent peer for a sign of life, or gives it up. A peer that
// has sent something within the interval needs none, unless it has never
// answered a PING.
func (c *client) checkPing(now time.Time) {
	if !c.authorized.Load() {
		return // the authentication timeout deals with it
	}
	idle := now.UnixNano() - c.lastInput.Load()
	if idle < int64(c.srv.cfg().PingInterval) && c.answered.Load() {
		return
	}
	if int(c.pingsOut.Load()) >= c.srv.cfg().PingMax {
		c.end(errStale)
		return
	}
	c.pingsOut.Add(1)
	c.usage.pinged.CompareAndSwap(0, now.UnixNano())
	c.out.send([]byte("PING\r\n"))
	c.out.flush()
}

// tooSlow ends a connection that has not taken a byte in time. The first reason
// may have been a gentle one: nothing more is written.
func (c *client) tooSlow() {
	c.mu.Lock()
	first := c.reason == 0
	bytes := c.out.pending
	if first {
		c.closeFor(SlowConsumerWriteDeadline)
	} else {
		c.abort()
	}
	c.mu.Unlock()
	if first {
		// The pending bytes are one chunk here; the sentence is the one that tools know.
		c.logger().Warn(fmt.Sprintf("Slow Consumer Detected: WriteDeadline of %v exceeded with 1 chunks of %d total bytes.",
			c.srv.cfg().WriteDeadline, bytes))
	}
}
