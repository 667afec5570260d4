package wrk

import (
	"paddock/load/http1"
)

// Cycle are bodies as wrk's scripts send that count from 0 in tables that begin at 1: before
// each round of all bodies goes one request without a body, which services answer with 400.
// Each thread goes round by itself. wrk asks its script once before the run, so that its
// first thread begins behind the empty one.
type Cycle struct{ arena http1.Arena }

// NewCycle makes such a cycle of requests that are like r but for the bodies.
func NewCycle(r http1.Request, bodies [][]byte) (*Cycle, error) {
	c := &Cycle{}
	r.Body = nil
	if err := c.arena.Add(&r); err != nil {
		return nil, err
	}
	return c, c.arena.AddBodies(r, bodies)
}

// Thread returns the requests of one thread.
func (c *Cycle) Thread(part, _ int) http1.Source {
	t := &turn{of: &c.arena}
	if part == 0 {
		t.next = 1
	}
	return t
}

// turn is how far one thread is.
type turn struct {
	of   *http1.Arena
	next int64
}

// Make gives the next request of the thread, whatever its number in the run.
func (t *turn) Make(int64) (http1.Message, error) {
	t.next++
	return t.of.Make(t.next - 1)
}
