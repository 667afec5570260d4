package peers

import "sync/atomic"

// Sink counts the one-way messages and bulk streams that one server has received. It does not count
// requests, because the client counts their answers.
type Sink struct{ messages, bytes atomic.Int64 }

// Add counts messages, and the bytes of their bodies.
func (s *Sink) Add(messages, bytes int) {
	s.messages.Add(int64(messages))
	s.bytes.Add(int64(bytes))
}

// Write counts bytes that are no messages; a Sink is the writer to which a bulk stream goes.
func (s *Sink) Write(p []byte) (int, error) {
	s.bytes.Add(int64(len(p)))
	return len(p), nil
}

// Totals returns the sums so far.
func (s *Sink) Totals() (messages, bytes int64) { return s.messages.Load(), s.bytes.Load() }
