package bus

import (
	"errors"
	"math/rand/v2"
	"os"
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

// writeLoop writes what is pending and runs the connection's timers, until the
// connection has ended and everything is written or the write failed.
func (c *client) writeLoop() {
	defer c.closeWrite()
	auth := time.NewTimer(c.srv.cfg.AuthTimeout)
	defer auth.Stop()
	ping := time.NewTimer(c.firstPing())
	defer ping.Stop()
	proven := time.Now()
	for {
		select {
		case <-c.wake:
			if !c.flush() {
				return
			}
		case <-auth.C:
			if !c.authorized.Load() {
				c.end(errAuthTimeout)
			}
		case now := <-ping.C:
			if now.Sub(proven) > pongMemory {
				proven = now
				c.answered.Store(false)
			}
			c.checkPing(now)
			ping.Reset(c.srv.cfg.PingInterval)
		}
	}
}

func (c *client) firstPing() time.Duration {
	d := firstPing + rand.N(firstPing/5)
	return min(d, c.srv.cfg.PingInterval)
}

// checkPing asks a silent peer for a sign of life, or gives it up. A peer that
// has sent something within the interval needs none, unless it has never
// answered a PING.
func (c *client) checkPing(now time.Time) {
	if !c.authorized.Load() {
		return // the authentication timeout deals with it
	}
	idle := now.UnixNano() - c.lastInput.Load()
	if idle < int64(c.srv.cfg.PingInterval) && c.answered.Load() {
		return
	}
	if int(c.pingsOut.Load()) >= c.srv.cfg.PingMax {
		c.end(errStale)
		return
	}
	c.pingsOut.Add(1)
	c.append([]byte("PING\r\n"))
	c.signal()
}

// flush writes until nothing is pending. It reports false when the writer is
// done: the connection has ended.
func (c *client) flush() bool {
	for {
		c.mu.Lock()
		if len(c.out) == 0 {
			ended := c.reason != 0
			c.mu.Unlock()
			return !ended
		}
		batch := c.out
		c.out, c.writing = c.spare, len(batch)
		c.mu.Unlock()
		err := c.write(batch)
		if c.spare = batch[:0]; cap(batch) > keptPending {
			c.spare = nil
		}
		c.mu.Lock()
		c.writing = 0
		c.mu.Unlock()
		if err != nil {
			c.endWrite(err, len(batch))
			return false
		}
	}
}

func (c *client) write(batch []byte) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(c.srv.cfg.WriteDeadline)); err != nil {
		return err
	}
	_, err := c.conn.Write(batch)
	return err
}

// endWrite gives a failed write its reason. The peer cannot be told.
func (c *client) endWrite(err error, size int) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		c.shut(WriteError, "")
	} else if c.shut(SlowConsumerWriteDeadline, "") {
		c.logger().Warn("Slow Consumer Detected: WriteDeadline exceeded",
			"deadline", c.srv.cfg.WriteDeadline, "bytes", size)
	}
	c.conn.Close() // the first reason may have been a gentle one
}
