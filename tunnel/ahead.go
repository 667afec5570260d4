package tunnel

import (
	"time"

	"paddock/tunnel/internal/h1"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

const (
	// behind is for how long bytes wait for the link when it has too little room: an answer
	// in one piece, and what goes along with the head of a longer one, would wait in front
	// of all that comes later, of other tunnels too. Streams take turns, and stand aside.
	behind = 20 * time.Millisecond
	// maxAhead is how much goes ahead of streams when there is room, of an answer that is
	// one, and minAhead when there is not.
	maxAhead, minAhead = message.MaxRecord / 2, message.MinSmall
)

// ahead is how much of an answer goes over the link at once: whole, with its head, up to
// small bytes, and of the body of one that goes on as a stream, up to first.
func (c *Client) ahead(link *wire.Conn, h *h1.Head) (small, first int) {
	if h.Length >= 0 && h.Length <= minAhead || link.OldestUnsent() < behind {
		return c.smallMax(), maxAhead
	}
	return min(c.smallMax(), 2*minAhead), minAhead
}
