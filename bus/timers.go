package bus

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

const (
	// firstPing is the time until a new connection gets its first PING, with up to a fifth more so
	// that a storm of connects is not followed by one of PINGs.
	firstPing = 2 * time.Second
	// pongMemory is the time for which one answered PING proves that the peer answers; then a PING
	// goes out even on a busy connection.
	pongMemory = time.Hour
)

// timers are the times at which something is due for a client, and the signs of life by which a
// silent peer is found. One timer serves them all, so that an idle connection has no goroutine for
// it.
type timers struct {
	c         *client
	lastInput atomic.Int64 // Unix ns of the latest read
	pingsOut  atomic.Int32 // PINGs without an answer
	answered  atomic.Bool  // one PONG has come
	pinged    atomic.Int64 // Unix ns of the first PING without an answer; 0 = none
	rtt       atomic.Int64 // ns, of the latest PING or of CONNECT; 0 = not known yet

	// Guarded by the client's lock.
	timer  *time.Timer
	off    bool
	next   time.Time // when timer fires
	auth   time.Time // zero once it has been
	ping   time.Time
	proven time.Time // since when a PONG counts as proof
}

// start sets the timer for the first time. While it is set, the server waits for it.
func (t *timers) start() {
	c, now := t.c, time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	t.auth = now.Add(c.srv.cfg().AuthTimeout)
	t.ping = now.Add(min(firstPing+rand.N(firstPing/5), c.srv.cfg().PingInterval))
	t.proven = now
	t.next = t.due()
	c.srv.running.Add(1)
	t.timer = time.AfterFunc(t.next.Sub(now), t.tick)
}

func (t *timers) stop() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	t.off = true
	if t.timer.Stop() {
		t.c.srv.running.Done()
	}
}

// due returns the time at which the next thing is due. c.mu is held.
func (t *timers) due() time.Time {
	due := t.ping
	if !t.auth.IsZero() && t.auth.Before(due) {
		due = t.auth
	}
	if t.c.out.blocking && !t.c.aborted {
		if at := t.c.out.moved.Add(t.c.srv.cfg().WriteDeadline); at.Before(due) {
			due = at
		}
	}
	return due
}

// advance sets the timer to an earlier time if something is due before. c.mu is held.
func (t *timers) advance() {
	if t.timer == nil || t.off {
		return
	}
	due := t.due()
	if due.Before(t.next) && t.timer.Stop() { // else tick is about to look itself
		t.next = due
		t.timer.Reset(time.Until(due))
	}
}

// shorten lets a shorter interval of PINGs take effect.
func (t *timers) shorten() {
	t.c.mu.Lock()
	defer t.c.mu.Unlock()
	if latest := time.Now().Add(t.c.srv.cfg().PingInterval); t.ping.After(latest) {
		t.ping = latest
	}
	t.advance()
}

// tick does the due work, and sets the timer again.
func (t *timers) tick() {
	c, now := t.c, time.Now()
	defer c.srv.running.Done()
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
			t.answered.Store(false)
		}
	}
	stuck := c.out.blocking && now.Sub(c.out.moved) >= c.srv.cfg().WriteDeadline
	c.mu.Unlock()
	if authenticate && !c.auth.authorized.Load() {
		c.end(errAuthTimeout)
	}
	if stuck {
		c.out.expire()
	}
	if ping {
		t.checkPing(now)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !t.off {
		t.next = t.due()
		c.srv.running.Add(1)
		t.timer.Reset(time.Until(t.next))
	}
}

// checkPing asks a silent peer for a sign of life, or gives it up. A peer that has sent something
// within the interval needs none, unless it has never answered a PING.
func (t *timers) checkPing(now time.Time) {
	c := t.c
	if !c.auth.authorized.Load() {
		return // the authentication timeout deals with it
	}
	idle := now.UnixNano() - t.lastInput.Load()
	if idle < int64(c.srv.cfg().PingInterval) && t.answered.Load() {
		return
	}
	if int(t.pingsOut.Load()) >= c.srv.cfg().PingMax {
		c.end(errStale)
		return
	}
	t.pingsOut.Add(1)
	t.pinged.CompareAndSwap(0, now.UnixNano())
	c.out.send([]byte("PING\r\n"))
	c.out.flush()
}

// pong takes an answer to a PING.
func (t *timers) pong(now int64) {
	if at := t.pinged.Swap(0); at != 0 {
		t.rtt.Store(max(now-at, 1))
	}
	t.pingsOut.Store(0)
	t.answered.Store(true)
}
