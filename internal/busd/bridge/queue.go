package bridge

import (
	"sync"

	"paddock/bus"
)

// messageCost is added to the bytes of a message in the queue, for what its entry takes.
const messageCost = 128

// item is a message that waits for the other server.
type item struct {
	bus.Msg
	answer bool // to a request that was imported: Subject is its reply subject
}

func (m *item) size() int64 {
	return int64(len(m.Subject)+len(m.Reply)+len(m.Header)+len(m.Data)) + messageCost
}

// queue holds the messages that wait for the other server, of at most max bytes together.
type queue struct {
	max   int64
	ready chan struct{} // has one value while there may be messages

	mu    sync.Mutex
	items []item
	bytes int64 // of items, and of taken ones that are not released
}

func newQueue(most int64) *queue { return &queue{max: most, ready: make(chan struct{}, 1)} }

// push appends a copy of a message, or reports false if there is no room. It never waits.
func (q *queue) push(m bus.Msg, answer bool) bool {
	it := item{m, answer}
	n := it.size()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.bytes+n > q.max {
		return false
	}
	body := append(append(make([]byte, 0, len(m.Header)+len(m.Data)), m.Header...), m.Data...)
	it.Header, it.Data = body[:len(m.Header):len(m.Header)], body[len(m.Header):]
	q.items = append(q.items, it)
	q.bytes += n
	select {
	case q.ready <- struct{}{}:
	default:
	}
	return true
}

// take returns all messages, in order. Their bytes count until they are released.
func (q *queue) take() []item {
	q.mu.Lock()
	defer q.mu.Unlock()
	items := q.items
	q.items = nil
	return items
}

// release gives the room of a taken message back.
func (q *queue) release(m *item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.bytes -= m.size()
}

func (q *queue) waiting() int64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.bytes
}
