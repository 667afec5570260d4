package client

import (
	"runtime/debug"
	"sync"
	"time"

	"paddock/internal/netio/nowait"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// watching shares a kept connection to a target between its own goroutine, which waits for the
// target's bytes, and the exchange that uses it. That goroutine reads always: it notices the end of
// an idle connection at once, and an answer wakes only this goroutine, which brings it to the
// visitor.
//
// An exchange takes the connection, writes its request, and calls asked: from then on the exchange
// belongs to the connection's goroutine. A connection without a socket that can be read without
// waiting (TLS, memory) is not watched: its exchange reads.
type watching struct {
	quiet   *relay.QuietReader // nil: it cannot be watched
	watched bool               // its goroutine runs; set once, by the pool
	now     *nowait.Writer     // with quiet

	mu      sync.Mutex
	written sync.Cond   // of mu: writing is over
	visit   *visit      // guarded by mu; nil: it is idle
	uses    uint64      // guarded by mu; of the exchange that it has, or had
	writing bool        // guarded by mu
	sent    int         // guarded by mu; bytes of the request
	sentErr error       // guarded by mu
	gone    bool        // guarded by mu; it has ended, and serves no exchange
	due     time.Time   // guarded by mu; when a head is late, zero: none is awaited
	clock   *time.Timer // guarded by mu; looks at due
	ticking bool        // guarded by mu
	overdue bool        // guarded by mu; the head was late
}

func (b *backend) initWatching() {
	b.written.L = &b.mu
	if b.quiet = relay.NewQuietReader(b.conn); b.quiet != nil {
		b.now = nowait.NewWriter(b.conn)
	}
}

// silent reports whether an idle connection is still open, as far as can be seen without waiting.
// Unexpected bytes count as an end.
func (b *backend) silent() bool {
	if b.beneath == nil {
		return true
	}
	silent := false
	err := b.beneath.Control(func(fd uintptr) { silent = nowait.Silent(fd) })
	return err == nil && silent
}

// take makes the visit the one that the connection serves, if it has not ended.
func (b *backend) take(v *visit, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.gone {
		return false
	}
	b.reused = true
	b.visit, b.writing = v, true
	v.awaited = true
	b.uses++
	b.expectLocked(v.target.HeadTimeout, now)
	return true
}

// asked records that n bytes of the request were written. The visit belongs to the connection's
// goroutine from now on.
func (b *backend) asked(n int, err error) {
	if err != nil {
		_ = b.conn.Close() // else nothing might come
	}
	b.mu.Lock()
	b.sent, b.sentErr, b.writing = n, err, false
	b.mu.Unlock()
	b.written.Signal()
}

// exchange returns the exchange whose answer has arrived, with the result of its request; nil if
// the bytes are unexpected.
func (b *backend) exchange() (v *visit, sent int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.writing {
		b.written.Wait()
	}
	b.gone = b.visit == nil
	return b.visit, b.sent, b.sentErr
}

// settle ends an exchange whose answer was sent completely.
func (b *backend) settle() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.visit, b.writing = nil, false
	b.uses++
}

// leaver returns a function that ends the present exchange when its visitor has left; later it does
// nothing. The target notices at once.
func (b *backend) leaver() func() {
	b.mu.Lock()
	defer b.mu.Unlock()
	use := b.uses
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.uses == use {
			_ = b.conn.Close()
		}
	}
}

// watch is the goroutine of a connection: it ends with the connection.
func (b *backend) watch(p *pool) {
	defer p.tasks.Done()
	for {
		err := b.await()
		v, sent, failed := b.exchange()
		if v == nil {
			p.remove(b)
			b.close()
			return
		}
		if failed != nil {
			err = failed
		}
		v.bringSafely(sent, err)
	}
}

// await waits for something to read, without a buffer.
func (b *backend) await() error {
	buf, n, err := b.quiet.Next()
	if err == nil {
		b.buf, b.r, b.w = buf, 1, 1+n
	}
	return err
}

// bringSafely sends the answer on the goroutine of the connection, and wakes the exchange. A panic
// becomes an error, as in a handler of wire.
func (v *visit) bringSafely(sent int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			v.c.log.Error("tunnel: exchange panicked", "tunnel", v.target.Name, "cause", cause, "stack", string(debug.Stack()))
			v.release(false)
			v.end(&wire.Error{Code: wire.Internal, Msg: "the exchange panicked"})
		}
	}()
	v.end(v.bring(sent, err))
}

// expect begins to wait for a head, which is late after d; 0 or less is never.
func (b *backend) expect(d time.Duration) {
	if d > 0 {
		b.mu.Lock()
		b.expectLocked(d, time.Now())
		b.mu.Unlock()
	}
}

// expectLocked is expect. The timer runs over many exchanges: one for each would cost more than the
// work that it bounds.
func (b *backend) expectLocked(d time.Duration, now time.Time) {
	if d <= 0 {
		return
	}
	b.due = now.Add(d)
	if b.ticking {
		return
	}
	b.ticking = true
	if b.clock == nil {
		b.clock = time.AfterFunc(d, b.tick)
	} else {
		b.clock.Reset(d)
	}
}

// expectAnew restarts the wait for a head, if one is awaited: the target has taken more of the
// request, and cannot be late before it has all of it.
func (b *backend) expectAnew(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.due.IsZero() {
		b.due = time.Now().Add(d)
	}
}

// headCame ends the wait of expect, and reports whether the head was in time.
func (b *backend) headCame() (inTime bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.due = time.Time{}
	return !b.overdue
}

// tick ends the wait for a head that is late.
func (b *backend) tick() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ticking = false
	if b.due.IsZero() {
		return
	}
	if left := time.Until(b.due); left > 0 {
		b.ticking = true
		b.clock.Reset(left)
		return
	}
	b.overdue = true
	_ = b.conn.SetReadDeadline(relay.LongAgo)
}

// stopClock lets it tick no more.
func (b *backend) stopClock() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.clock != nil {
		b.clock.Stop()
	}
	b.due = time.Time{}
}
