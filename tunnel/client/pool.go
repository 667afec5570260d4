package client

import (
	"slices"
	"sync"
	"time"

	"paddock/tunnel/internal/message"
)

const (
	// maxIdle bounds the idle connections to one target: as many as it has visitors at a time, so
	// that a steady crowd needs no new ones.
	maxIdle = 256
	// idleTime is how long one waits at most.
	idleTime = 60 * time.Second
	// spare is the number of idle connections that are kept for the next visitors. Those beyond it
	// were made for a crowd, and are closed after crowdTime.
	spare     = 4
	crowdTime = 4 * time.Second
)

// pool holds connections to a target that wait for work. The one used last goes first:
// the others grow old and are closed.
type pool struct {
	tasks sync.WaitGroup // goroutines of its connections

	mu     sync.Mutex
	idle   []*backend  // guarded by mu, the one used last at the end
	timer  *time.Timer // guarded by mu; nil while none waits
	closed bool        // guarded by mu
}

// get gives the visit a connection that waits and has not ended, nil if there is none.
func (p *pool) get(v *visit) *backend {
	for {
		p.mu.Lock()
		n := len(p.idle)
		if n == 0 {
			p.mu.Unlock()
			return nil
		}
		b := p.idle[n-1]
		p.idle[n-1] = nil
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		now := time.Now()
		// A request that can be repeated goes out without another check: the reader of the
		// connection notices if it has ended.
		fit := now.Before(b.expires) && (b.watched && v.flags&message.FlagIdempotent != 0 || b.silent())
		if fit && b.take(v, now) {
			return b
		}
		_ = b.conn.Close()
	}
}

// put keeps a connection whose last answer has ended, or closes it.
func (p *pool) put(b *backend) {
	b.rest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || len(p.idle) >= maxIdle {
		_ = b.conn.Close()
		return
	}
	p.idle = append(p.idle, b)
	if !b.watched && b.quiet != nil {
		b.watched = true
		p.tasks.Add(1)
		go b.watch(p)
	}
	if p.timer == nil {
		p.timer = time.AfterFunc(crowdTime, p.expire)
	}
}

// remove forgets a connection that has ended while it waited.
func (p *pool) remove(b *backend) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = slices.DeleteFunc(p.idle, func(o *backend) bool { return o == b })
}

// size is how many wait.
func (p *pool) size() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// expire closes connections that were idle for too long. They are at the front.
func (p *pool) expire() {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, kept := time.Now(), p.idle[:0]
	for i, b := range p.idle {
		if now.Before(b.expires) && (len(p.idle)-i <= spare || now.Sub(b.since) < crowdTime) {
			kept = append(kept, b)
		} else {
			_ = b.conn.Close()
		}
	}
	clear(p.idle[len(kept):])
	if p.idle = kept; len(kept) == 0 || p.closed {
		p.timer = nil
		return
	}
	p.timer.Reset(crowdTime)
}

// close closes the idle connections, and from now on all that are returned.
func (p *pool) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, b := range p.idle {
		_ = b.conn.Close()
	}
	p.idle = nil
	if p.timer != nil {
		p.timer.Stop()
	}
}
