package wiredump

import (
	"io"
	"sync"
)

// spoolSize bounds the queued lines, in bytes.
const spoolSize = 1 << 20

// spool queues lines between the connections and an output that may be slow, so that add never
// waits. At the bound lines are dropped until the output has written the queue; then a line has
// their number.
type spool struct {
	asJSON bool
	size   int

	mu      sync.Mutex
	more    *sync.Cond // of mu; there is work
	waiting []byte
	dropped uint64
	closed  bool
}

func newSpool(asJSON bool, size int) *spool {
	s := &spool{asJSON: asJSON, size: size}
	s.more = sync.NewCond(&s.mu)
	return s
}

func (s *spool) add(l *Line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := len(s.waiting)
	if s.dropped == 0 {
		s.waiting = l.Append(s.waiting, s.asJSON)
	}
	if s.dropped > 0 || len(s.waiting) > s.size {
		s.waiting = s.waiting[:at]
		s.dropped++
	}
	s.more.Signal()
}

// close lets run end once all lines are written.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.more.Signal()
}

// run writes lines until close, or until the output fails.
func (s *spool) run(w io.Writer) (err error) {
	var batch []byte
	for closed := false; !closed && err == nil; {
		if batch, closed = s.take(batch[:0]); len(batch) > 0 {
			_, err = w.Write(batch)
		}
	}
	return err
}

// take waits for lines, and returns the queued ones. It uses empty for the next ones.
func (s *spool) take(empty []byte) (batch []byte, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) == 0 && s.dropped == 0 && !s.closed {
		s.more.Wait()
	}
	batch = s.waiting
	if s.dropped > 0 {
		batch = (&Line{Event: "dropped", Count: s.dropped}).Append(batch, s.asJSON)
	}
	s.waiting, s.dropped = empty, 0
	return batch, s.closed
}
