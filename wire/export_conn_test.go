package wire

import (
	"sync"

	"paddock/internal/wire/frame"
)

// FreshPools forgets what was pooled: a channel that was made in one bubble of
// testing/synctest must not be used in another.
func FreshPools() {
	calls = sync.Pool{New: calls.New}
	requests = sync.Pool{}
}

// Credits is what a connection may send and has left to grant.
func (c *Conn) Credits() Credits {
	c.mu.Lock()
	defer c.mu.Unlock()
	return CreditsOf(c.m)
}

// Live is how many requests and streams there are, of both sides.
func (c *Conn) Live() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Live()
}

// Queued is how many bytes wait to be written.
func (c *Conn) Queued() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.m.Queued()
}

// Running is how many handlers of requests and streams run.
func (c *Conn) Running() (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range c.handlers.running {
		n += of
	}
	return n
}

// Limits are the credits that a connection announced.
func (c *Conn) Limits() (conn, posts int64) {
	return int64(c.m.Self.ConnBudget), int64(c.m.Self.PostInitial)
}

// RaceEnabled says whether the race detector watches, or buffers are mangled.
const RaceEnabled = frame.Mangle
