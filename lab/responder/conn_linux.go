package responder

import (
	"time"

	"golang.org/x/sys/unix"

	"paddock/internal/netio/nowait"
)

// conn is one connection.
type conn struct {
	*loop
	fd      int    // -1 = it has ended
	events  uint32 // that it is watched for
	scanner scanner
	in      nowait.Receiver

	waiting []due  // requests that are not answered, in order
	first   uint32 // number of the first of them
	out     []byte // to write
	large   []byte // to write behind it, of an answer that is not copied
	ends    bool   // the connection ends behind the pending output
}

// due is a request that waits for its answer.
type due struct {
	request
	arrived, at int64 // ns
	ready       bool
}

// handle serves an event.
func (c *conn) handle(events uint32) {
	if events&unix.EPOLLIN == 0 && events&(unix.EPOLLERR|unix.EPOLLHUP) != 0 {
		c.end()
		return
	}
	if events&unix.EPOLLIN != 0 {
		c.read()
	}
	c.settle()
}

// read reads requests, up to the bounds.
func (c *conn) read() {
	n, _, wait, err := c.in.Receive(uintptr(c.fd), c.buf, false)
	switch {
	case wait:
		return
	case err != nil: // io.EOF too: a client that has gone gets no answer
		c.end()
		return
	}
	arrived := c.now()
	for in := c.buf[:n]; len(in) > 0 && c.fd >= 0 && !c.ends; {
		rest, r, ok, err := c.scanner.next(in)
		if err != nil {
			c.did.Unread++
			c.end()
			return
		}
		in = rest
		if ok {
			c.ask(r, arrived)
		}
	}
	c.answer()
}

// ask takes a request.
func (c *conn) ask(r request, arrived int64) {
	c.did.Requests++
	at := int64(c.Law.Due(time.Duration(arrived)))
	number := c.first + uint32(len(c.waiting))
	c.waiting = append(c.waiting, due{request: r, arrived: arrived, at: at, ready: at <= arrived})
	if at > arrived {
		c.agenda.Add(at, appointment{c, number})
	}
}

// answer writes the answers that are ready, in the order of the requests.
func (c *conn) answer() {
	n := 0
	for ; n < len(c.waiting) && c.waiting[n].ready && len(c.large) == 0 && !c.ends && c.fd >= 0; n++ {
		c.give(&c.waiting[n])
	}
	if n == 0 {
		return
	}
	c.first += uint32(n)
	c.waiting = c.waiting[:copy(c.waiting, c.waiting[n:])]
}

// give writes the answer to one request.
func (c *conn) give(d *due) {
	now := c.now()
	c.did.Answers++
	c.did.Late.Record(now - d.at)
	c.note(d, now)
	answers := c.good
	if c.ends = d.last; c.ends {
		answers = c.last
	}
	c.add(answers[max(d.number, 0)%int64(len(answers))])
}

// copied is the size up to which answers are copied, so that several go out in one write.
const copied = 16 << 10

// add appends an answer to the output.
func (c *conn) add(answer []byte) {
	if len(answer) > copied {
		c.large = answer
		return
	}
	c.out = append(c.out, answer...)
}

// note writes an answer down.
func (l *loop) note(d *due, now int64) {
	if len(l.did.Journal) == cap(l.did.Journal) {
		l.did.Omitted++
		return
	}
	l.did.Journal = append(l.did.Journal, Entry{d.number, time.Duration(d.arrived), time.Duration(d.at), time.Duration(now)})
}

// settle writes the output, and registers for the events that the connection waits for.
func (c *conn) settle() {
	if c.fd < 0 {
		return
	}
	if err := c.write(); err != nil || c.ends && !c.writes() {
		c.end()
		return
	}
	var events uint32
	if c.writes() {
		events = unix.EPOLLOUT
	} else if len(c.waiting) < maxWaiting {
		events = unix.EPOLLIN
	}
	if events != c.events {
		c.events = events
		_ = c.watch(unix.EPOLL_CTL_MOD, c.fd, events)
	}
}

// writes reports whether something is still to be written.
func (c *conn) writes() bool { return len(c.out)+len(c.large) > 0 }

// write writes as much output as possible now, the delayed part included.
func (c *conn) write() error {
	for c.fd >= 0 && c.writes() {
		part := &c.out
		if len(*part) == 0 {
			part = &c.large
		}
		n, err := nowait.Send(uintptr(c.fd), *part)
		switch {
		case err != nil:
			return err
		case n < len(*part) && part == &c.out:
			c.out = c.out[:copy(c.out, c.out[n:])]
			return nil
		case n < len(*part):
			c.large = c.large[n:]
			return nil
		case part == &c.out:
			c.out = c.out[:0]
		default:
			c.large = nil
			c.answer()
		}
	}
	return nil
}

// end ends the connection.
func (c *conn) end() {
	if c.fd >= 0 {
		unix.Close(c.fd)
		delete(c.conns, c.fd)
		c.fd = -1
	}
}
