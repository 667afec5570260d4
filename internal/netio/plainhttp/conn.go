package plainhttp

import (
	"bytes"
	"crypto/subtle"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"paddock/internal/netio/nowait"
)

const (
	// maxGathered bounds the answers to pipelined requests in one write, in bytes; the last answer
	// may exceed it.
	maxGathered = 128 << 10
	// minNext is the length from which the beginning of a second request counts: net/http ignores
	// fewer bytes before the end of the stream, without an answer.
	minNext = 4
	// patience is how long a partial request is held here. Then net/http waits for the rest, with
	// its own timeouts.
	patience = time.Second
	// coarseness is the fraction of a timeout by which it may end early: a deadline is renewed once
	// this part of it has passed, not for every request.
	coarseness = 16
)

// buffers is the memory of a connection that answers. A waiting connection has none.
type buffers struct {
	in       [maxRequest]byte
	out      []byte
	receiver nowait.Receiver
}

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// conn is a connection whose requests were all plain so far. One goroutine uses it; expire may be
// called by any.
type conn struct {
	net.Conn
	server  *Server
	request Request
	tells   bool // the kernel reports whether more bytes are queued

	held     []byte // the received part of a request, nil between requests
	handOver bool   // the held bytes go to net/http
	last     bool   // the last answer was sent
	answered bool   // a request was answered, so the next bytes begin another one
	posted   bool   // the answered request was a POST

	admitted            bool // for these two values, until ended is closed
	ended               <-chan struct{}
	host, authorization []byte
	extended            time.Time // when the deadline between requests was set
}

// serve answers requests until one is not plain. It then returns true: net/http takes over the
// connection, beginning with the held bytes. Otherwise the connection has ended.
func (c *conn) serve() (handOver bool) {
	raw := nowait.Raw(c.Conn)
	if raw == nil {
		return true // net/http reads from the beginning
	}
	c.tells = nowait.Tells(raw)
	c.waitUntil(time.Now().Add(c.server.first))
	err := raw.Read(c.drain)
	return c.handOver || err != nil && c.held != nil // the request is late, or a stop has interrupted it
}

// waitUntil sets the time until which the connection waits for bytes.
func (c *conn) waitUntil(t time.Time) {
	_ = c.SetReadDeadline(t) // fails if the connection has ended, as the read will
	if c.server.stopping.Load() {
		c.expire()
	}
}

// expire ends the wait for bytes. Any goroutine may call it.
func (c *conn) expire() { _ = c.SetReadDeadline(time.Unix(1, 0)) }

// drain answers the received requests. It is called each time the connection becomes readable; done
// means that it must not be called again.
//
// hot: BenchmarkServe
func (c *conn) drain(fd uintptr) (done bool) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	n := copy(b.in[:], c.held)
	for {
		got, more, wait, err := b.receiver.Receive(fd, b.in[n:], c.tells)
		switch {
		case err != nil:
			c.handOver = c.held != nil && !(c.answered && len(c.held) < minNext) // net/http decides about this end of the stream
			return true
		case wait:
			return false
		}
		rest, v, err := c.answer(fd, b, b.in[:n+got])
		switch {
		case err != nil || c.last:
			c.held = nil
			return true
		case v == odd:
			c.held, c.handOver = bytes.Clone(rest), true
			return true
		}
		c.hold(rest, len(rest) < n+got)
		n = copy(b.in[:], rest)
		if !more {
			return false
		}
	}
}

// hold keeps the received part of a request, and sets the deadline for the rest of it or for the
// next request. begun reports that rest begins a new request.
func (c *conn) hold(rest []byte, begun bool) {
	switch {
	case len(rest) == 0:
		now := c.server.clock.now.Load()
		if c.held != nil || now.Sub(c.extended) >= c.server.idle/coarseness {
			c.extended = time.Now()
			c.waitUntil(c.extended.Add(c.server.idle))
		}
		c.held = nil
	case begun || c.held == nil:
		c.waitUntil(time.Now().Add(patience))
		c.held = bytes.Clone(rest)
	default:
		c.held = append(c.held[:0], rest...)
	}
}

// answer answers the plain requests at the beginning of in. It returns the rest, and the verdict on
// it.
func (c *conn) answer(fd uintptr, b *buffers, in []byte) (rest []byte, v verdict, err error) {
	for rest = in; ; {
		b.out = b.out[:0]
		rest, v = c.gather(b, rest, c.server.clock.now.Load())
		if len(b.out) > 0 {
			err = c.send(fd, b)
		}
		if err != nil || v != plain || len(rest) == 0 {
			return rest, v, err
		}
	}
}

// gather appends to b.out the answers to plain requests at the beginning of in, as many as one
// write takes. It returns the rest of in, and the verdict on it as far as it was parsed.
//
// hot: BenchmarkGather, TestPlainRequestsAllocateNothing
func (c *conn) gather(b *buffers, in []byte, now *moment) (rest []byte, v verdict) {
	r := &c.request
	r.Now, r.now = now.Time, now
	for len(in) > 0 && len(b.out) < maxGathered {
		v := r.read(in)
		switch {
		case v != plain && c.answered && len(in) < minNext:
			return in, partial
		case v != plain:
			return in, v
		case !c.admits():
			return in, odd
		}
		out := c.server.answer(b.out, r)
		if out == nil {
			return in, odd
		}
		b.out, in = out, in[r.size+r.body:]
		c.server.requests.Add(1)
		c.answered, c.posted, c.last = true, r.Method == POST, r.Last()
		if c.last {
			break
		}
	}
	return in, plain
}

// admits reports whether the request may be answered here. It asks once for values that do not
// change on a connection.
func (c *conn) admits() bool {
	r := &c.request
	if c.server.admits == nil {
		return true
	}
	if c.admitted && bytes.Equal(r.Host, c.host) && subtle.ConstantTimeCompare(r.Authorization, c.authorization) == 1 {
		select {
		case <-c.ended:
		default:
			return true
		}
	}
	c.ended, c.admitted = c.server.admits(c.RemoteAddr(), string(r.Host), string(r.Authorization))
	if c.admitted {
		c.host, c.authorization = bytes.Clone(r.Host), bytes.Clone(r.Authorization)
	}
	return c.admitted
}

// known reports whether the connection has sent credentials that were admitted, and still are.
func (c *conn) known() bool {
	if !c.admitted || len(c.authorization) == 0 {
		return false
	}
	select {
	case <-c.ended:
		return false
	default:
		return true
	}
}

// send writes the gathered answers: the part that the kernel takes at once, then the rest with a
// deadline.
func (c *conn) send(fd uintptr, b *buffers) error {
	n, err := nowait.Send(fd, b.out)
	if err == nil && n < len(b.out) {
		if err = c.SetWriteDeadline(time.Now().Add(c.server.write)); err == nil {
			_, err = c.Write(b.out[n:])
		}
	}
	if cap(b.out) > 2*maxGathered {
		b.out = nil
	}
	return err
}

// clock holds the time, updated once a second.
type clock struct{ now atomic.Pointer[moment] }

// moment is a time, and the end of an answer's head at that time.
type moment struct {
	time.Time
	end  []byte // Date and the empty line
	last []byte // the same for the last answer on a connection
}

func momentOf(now time.Time) *moment {
	date := string(now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)) + "\r\n"
	return &moment{now, []byte(date + "\r\n"), []byte(date + "Connection: close\r\n\r\n")}
}

func (c *clock) set(now time.Time) { c.now.Store(momentOf(now)) }

// run updates the time until stop is closed.
func (c *clock) run(stop <-chan struct{}) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case now := <-ticker.C:
			c.set(now)
		case <-stop:
			return
		}
	}
}
