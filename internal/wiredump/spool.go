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
	waiting []byte
	dropped uint64
	closed  bool
	wake    chan struct{} // holds a token while there is work; never closed
}

func newSpool(asJSON bool, size int) *spool {
	return &spool{asJSON: asJSON, size: size, wake: make(chan struct{}, 1)}
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
	s.signal()
}

// close lets run end once all lines are written.
func (s *spool) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	s.signal()
}

func (s *spool) signal() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// run writes lines until close, or until the output fails.
func (s *spool) run(w io.Writer) error {
	var batch []byte
	for range s.wake {
		var dropped uint64
		var closed bool
		batch, dropped, closed = s.take(batch[:0])
		if dropped > 0 {
			batch = (&Line{Event: "dropped", Count: dropped}).Append(batch, s.asJSON)
		}
		if len(batch) > 0 {
			if _, err := w.Write(batch); err != nil {
				return err
			}
		}
		if closed {
			break
		}
	}
	return nil
}

// take returns the queued lines, and uses empty for the next ones.
func (s *spool) take(empty []byte) (batch []byte, dropped uint64, closed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	batch, dropped, closed = s.waiting, s.dropped, s.closed
	s.waiting, s.dropped = empty, 0
	return batch, dropped, closed
}
