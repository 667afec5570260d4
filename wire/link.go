package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/nowait"
	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
)

// link is one of a client's connections: the present one, and those after it.
type link struct {
	c        *Client
	index    uint32
	backoff  backoff // of run
	made     bool    // of run: the last attempt has made a connection
	cuts     int     // of run: connections whose HELLO the peer may read late
	cutAt    time.Time
	inflight atomic.Int64

	// conn accepts work. run sets it under keyedMu. The goroutine that finds that it accepts none
	// removes it.
	conn atomic.Pointer[Conn]

	keyedMu   sync.Mutex // guards all below; a connection's lock may be taken under it
	keyed     keyedPosts
	conflated uint64
	dropped   uint64
}

// run makes one connection after the other, until the client ends.
func (l *link) run() {
	c := l.c
	for wait := time.Duration(0); sleep(c.ctx, wait); {
		if c.leaving.Load() {
			<-c.ctx.Done()
			return
		}
		lived, drained, away, err := l.live()
		if c.ctx.Err() != nil {
			return
		}
		c.mu.Lock()
		c.last = err
		if !drained {
			c.failures++
		}
		c.mu.Unlock()
		if !drained && l.sharesSession(err) {
			c.end(fmt.Errorf("%w: %w", ErrSessionShared, err))
			return
		}
		if c.config.GiveUp != nil && c.config.GiveUp(err) {
			c.end(err)
			return
		}
		wait = l.backoff.after(lived, drained, away)
	}
}

// lateHello is for how long the peer may still read the HELLO of a connection that was cut.
const lateHello = time.Minute

// sharesSession reports whether a connection has ended in a way that only another process with the
// same session explains. A busy peer may read the HELLO of a connection that was cut after that of
// its successor, which it aborts then: each cut explains one abort.
func (l *link) sharesSession(err error) bool {
	if broken, ok := errors.AsType[*frame.ProtocolError](err); ok && broken.Reason == frame.AckAhead {
		return true
	}
	now := time.Now()
	if now.Sub(l.cutAt) > lateHello {
		l.cuts = 0
	}
	said, ok := errors.AsType[*Error](err)
	switch {
	case ok && said.Code == Aborted:
		l.cuts--
		return l.cuts < 0
	case l.made:
		l.cuts++
		l.cutAt = now
	}
	return false
}

// live makes a connection and keeps it until it takes no more work.
func (l *link) live() (lived time.Duration, drained bool, away machine.Goaway, err error) {
	c := l.c
	conn, turn, err := l.connect()
	if l.made = err == nil; !l.made {
		return 0, false, machine.Goaway{}, err
	}
	if err := conn.Ready(c.ctx); err != nil {
		_ = conn.Close()
		return 0, false, conn.goawayReceived(), cmp.Or(conn.Err(), err)
	}
	since := time.Now()
	c.hold(conn)
	l.publish(conn)
	if l.index == 0 {
		c.tasks.Go(func() { c.lane.pump(conn, turn) })
		c.tasks.Go(func() { c.lane.listen(conn, turn) })
	}
	if c.config.OnConnect != nil {
		c.tasks.Go(func() { c.config.OnConnect(conn.ctx, conn) })
	}
	select {
	case <-conn.Done():
	case <-conn.GoingAway():
	case <-c.ctx.Done():
	}
	l.drop(conn)
	if c.ctx.Err() == nil && conn.Err() == nil { // it drains, while the next one is made
		c.tasks.Go(func() { l.retire(conn) })
		return time.Since(since), true, conn.goawayReceived(), ErrDraining
	}
	c.close(conn)
	return time.Since(since), conn.Err() == errDrained, conn.goawayReceived(), conn.Err()
}

// connect dials and sends the client's HELLO. turn is the turn of the connection in the lane of
// acknowledged posts.
func (l *link) connect() (conn *Conn, turn uint64, err error) {
	c := l.c
	nc, err := c.dial()
	if err != nil {
		return nil, 0, fmt.Errorf("wire: %w", err)
	}
	if c.conn.TLS != nil {
		ctx, cancel := context.WithTimeout(c.ctx, secureTimeout)
		defer cancel()
		if raw := nowait.Raw(nc); raw != nil {
			tune(raw, c.config.DialTimeout) // whose host has died is noticed before
		}
		if nc, err = secureDialer(ctx, nc, c.config.Address, c.conn.TLS); err != nil {
			return nil, 0, err
		}
	}
	config, session := c.conn, *c.conn.Session
	config.Session = &session
	session.Index, session.Base = l.index, 0
	if l.index == 0 {
		turn, session.Base, config.sentBefore = c.lane.attach()
	}
	conn, err = NewConn(nc, &config)
	return conn, turn, err
}

func (c *Client) dial() (net.Conn, error) {
	ctx, cancel := context.WithTimeout(c.ctx, c.config.DialTimeout)
	defer cancel()
	if c.config.Dial != nil {
		return c.config.Dial(ctx)
	}
	var dialer net.Dialer
	return dialer.DialContext(ctx, c.config.Network, c.config.Address)
}

// publish lets work go to conn, that of the conflating lane first.
func (l *link) publish(conn *Conn) {
	l.keyedMu.Lock()
	l.conn.Store(conn)
	keyed := l.keyed
	l.keyed = nil
	for at, body := range keyed {
		if conn.PostKeyed(at.kind, at.key, body) != nil {
			l.keep(at, body, false)
		}
	}
	l.keyedMu.Unlock()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.c.connects++
	l.c.changed.broadcast()
}

// drop lets no more work go to conn. The posts in its conflating lane are kept for the next one.
func (l *link) drop(conn *Conn) {
	l.keyedMu.Lock()
	defer l.keyedMu.Unlock()
	if !l.conn.CompareAndSwap(conn, nil) {
		return
	}
	for at, body := range conn.sends.takeKeyed() {
		l.keep(at, body, false)
	}
}

// keep keeps a keyed post for the next connection, unless a newer one waits already. keyedMu is
// held.
func (l *link) keep(at postKey, body []byte, newer bool) error {
	if _, waits := l.keyed[at]; waits {
		l.conflated++
		if newer {
			l.keyed.replace(at, body)
		}
		return nil
	}
	err := l.keyed.add(at, body)
	if err != nil {
		l.dropped++
	}
	return err
}

// retire waits for a draining connection to end, for as long as a drain may take.
func (l *link) retire(conn *Conn) {
	select {
	case <-conn.Done():
	case <-time.After(l.c.conn.DrainTimeout):
	case <-l.c.ctx.Done():
	}
	l.c.close(conn)
}

// hold notes a connection that Drain has to drain.
func (c *Client) hold(conn *Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.held[conn] = struct{}{}
}

// close closes a connection and forgets it.
func (c *Client) close(conn *Conn) {
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.held, conn)
}

func (l *link) count(s *ClientStats) {
	l.keyedMu.Lock()
	defer l.keyedMu.Unlock()
	s.Conflated += l.conflated
	s.Dropped += l.dropped
}

const (
	defaultMinBackoff = 200 * time.Millisecond
	defaultMaxBackoff = 30 * time.Second
	// defaultHealthy is how long a connection lives that was not a failure.
	defaultHealthy = 30 * time.Second
	// maxRetryAfter bounds how long a peer can make us wait; it may have meant 49
	// days.
	maxRetryAfter = time.Hour
)

// backoff computes the wait before the next attempt: a random part of a time that doubles with each
// failure ("full jitter"). Clients that were cut off together do not reconnect together.
type backoff struct {
	min, max, healthy time.Duration
	failures          int
	random            func() float64 // in [0, 1)
}

func newBackoff(least, most, healthy time.Duration) backoff {
	return backoff{min: least, max: most, healthy: healthy, random: rand.Float64}
}

// after returns the wait after a connection that lived so long, 0 if there was none. A healthy one
// makes the failures before it count no more; if it was drained, the next one is made at once, or
// at the time that the peer has given.
func (b *backoff) after(lived time.Duration, drained bool, away machine.Goaway) time.Duration {
	healthy := lived >= b.healthy
	if healthy {
		b.failures = 0
	}
	wait := time.Duration(0)
	if !drained || !healthy {
		ceiling := b.max
		if doubled := b.min << min(b.failures, 30); doubled > 0 {
			ceiling = min(doubled, b.max)
		}
		wait = b.part(ceiling)
		b.failures++
	}
	return max(wait, min(away.RetryAfter, maxRetryAfter)+b.part(min(away.Jitter, maxRetryAfter)))
}

func (b *backoff) part(d time.Duration) time.Duration { return time.Duration(b.random() * float64(d)) }
