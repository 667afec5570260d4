package load

import "net"

// conn is one connection of a loop, over its lifetimes: the loop dials again in the same place when
// a connection ends.
type conn struct {
	index   int
	state   connState
	session Session
	batched Batched     // the session, if it is one
	mux     Multiplexed // likewise
	nc      net.Conn    // of engine Portable; nil: of the other one
	listens int         // which listener of the run it is, from 1; 0 = none
	fd      int         // of the epoll engine
	serial  int32       // of the fd

	flight flight
	out    []byte // bytes to write
	rest   []byte // received bytes that the session has not consumed
	queued bool   // among the idle ones
	dirty  bool   // in the list of connections that have bytes to write
	full   bool   // the transport takes nothing for now

	coming  bool   // it is being made, or will be
	leaving bool   // it ends when nothing waits on it
	life    uint32 // raised by its end, and by each pause, which void earlier pauses

	since   int64 // ns of the state, or of the first byte of an answer
	retryAt int64 // ns; for stateWaiting
	dialed  int64 // ns; when this lifetime was begun
	met     int64 // ns; when it was connected
	heard   int64 // ns; when the last bytes came, of a multiplexed session
	tcp     int64 // ns; how long TCP took of it, if there is TLS
	tls     int64 // ns; how long the handshake took; 0 = no TLS
	refused int   // attempts in a row that have not come to a session that is ready
	began   int64 // requests of this lifetime
	done    int64 // answers over all lifetimes
}

// connState is how far a connection is.
type connState uint8

const (
	stateClosed  connState = iota // not wanted
	stateWaiting                  // for retryAt
	stateDialing
	stateGreeting // connected, but the session is not ready
	stateReady
)

// room reports whether one more request may be sent.
func (c *conn) room() bool {
	return c.state == stateReady && !c.full && c.listens == 0 && !c.flight.full() && (c.mux == nil || c.mux.Room())
}

// slot is a request under way.
type slot struct {
	due, sent int64 // ns
	waits     bool  // for an answer, or to be written
	silent    bool  // it has no answer: it is done when it is written
	quiet     bool  // its answers are the listeners'
	first     bool  // of its connection
	target    uint16
	number    uint32 // see Request.Slot
}

// flight is the requests under way on a connection, in the order in which they were sent.
//
// A slot is handed out by its address, which stays valid until the next slot is put. A copy of a
// slot that was just written in smaller pieces would stall the processor.
type flight struct {
	slots      []slot // a ring; its length is a power of two
	head, tail uint32 // of the oldest, and of the next
	limit      uint32
	waiting    int  // slots that wait
	mixed      bool // they end in any order: a place is used again as soon as it is free
}

func newFlight(depth int) flight {
	size := 1
	for size < depth {
		size *= 2
	}
	return flight{slots: make([]slot, size), limit: uint32(depth)}
}

func (f *flight) at(i uint32) *slot { return &f.slots[i&uint32(len(f.slots)-1)] }

func (f *flight) full() bool {
	if f.mixed {
		return f.waiting >= int(f.limit)
	}
	return f.tail-f.head >= f.limit
}

// next is the number of the request that is put next.
func (f *flight) next() uint32 {
	for f.at(f.tail).waits { // if they are mixed, and half of the places are free then
		f.tail++
	}
	return f.tail
}

// span is the numbers between which all places with requests are.
func (f *flight) span() (from, to uint32) {
	if f.mixed {
		return 0, uint32(len(f.slots))
	}
	return f.head, f.tail
}

// put adds a request, which the caller describes.
func (f *flight) put() *slot {
	s := f.at(f.tail)
	s.waits, s.silent, s.quiet, s.first, s.number = true, false, false, false, f.tail
	f.tail++
	f.waiting++
	return s
}

// oldest is the place of the oldest request that waits for an answer.
func (f *flight) oldest() (at uint32, found bool) {
	from, to := f.span()
	for i := from; i != to; i++ {
		if s := f.at(i); s.waits && !s.silent && (!found || s.sent < f.at(at).sent) {
			if at, found = i, true; !f.mixed {
				break
			}
		}
	}
	return at, found
}

// takeOldest ends the oldest request that waits for an answer; nil = there is none.
func (f *flight) takeOldest() *slot {
	if i, ok := f.oldest(); ok {
		return f.take(i)
	}
	return nil
}

// valid reports whether a request waits at i.
func (f *flight) valid(i uint32) bool { return f.at(i).waits && f.at(i).number == i }

// take ends the request at i, which must wait.
func (f *flight) take(i uint32) *slot {
	s := f.at(i)
	s.waits = false
	f.waiting--
	for f.head != f.tail && !f.at(f.head).waits {
		f.head++
	}
	return s
}

// idleQueue holds the connections with room, in the order in which they got it.
type idleQueue struct {
	list []*conn
	head int
}

func (q *idleQueue) push(c *conn) {
	if c.queued {
		return
	}
	c.queued = true
	if q.head > 0 && len(q.list) == cap(q.list) {
		q.list = q.list[:copy(q.list, q.list[q.head:])]
		q.head = 0
	}
	q.list = append(q.list, c)
}

// pop gives the connection that has been idle for longest; nil if there is none.
func (q *idleQueue) pop() *conn {
	for q.head < len(q.list) {
		c := q.list[q.head]
		q.head++
		if q.head == len(q.list) {
			q.list, q.head = q.list[:0], 0
		}
		c.queued = false
		if c.room() {
			return c
		}
	}
	return nil
}
