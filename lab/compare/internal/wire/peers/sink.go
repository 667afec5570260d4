package peers

import (
	"sync"
	"sync/atomic"
)

// Sink counts the one-way messages and bulk streams that one server has received. It does not count
// requests, because the client counts their answers. Every goroutine that receives adds to a
// counter of its own, so that counting costs no peer more than another.
type Sink struct {
	mu       sync.Mutex
	counters []*Counter
}

// Counter is one receiver's share. Its padding keeps two receivers off the same
// cache lines (128 bytes: processors fetch them in pairs).
type Counter struct {
	_        [128]byte
	messages atomic.Int64
	bytes    atomic.Int64
	_        [112]byte
}

// Counter returns a new counter, for one goroutine.
func (s *Sink) Counter() *Counter {
	c := &Counter{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counters = append(s.counters, c)
	return c
}

// Add counts messages, and the bytes of their bodies.
func (c *Counter) Add(messages, bytes int) {
	if messages != 0 {
		c.messages.Add(int64(messages))
	}
	c.bytes.Add(int64(bytes))
}

// Write counts bytes that are no messages; a Counter is the writer to which a
// bulk stream goes.
func (c *Counter) Write(p []byte) (int, error) {
	c.bytes.Add(int64(len(p)))
	return len(p), nil
}

// Totals returns the sums of all counters so far.
func (s *Sink) Totals() (messages, bytes int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.counters {
		messages += c.messages.Load()
		bytes += c.bytes.Load()
	}
	return messages, bytes
}
