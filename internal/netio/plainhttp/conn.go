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
	// maxGathered is how much of the answers to pipelined requests goes into one
	// write, in bytes; the last of them may go beyond.
	maxGathered = 128 << 10
	// minNext is how many bytes a request after the first begins with: net/http
	// takes fewer, and then the end, for noise that needs no answer.
	minNext = 4
	// patience is how long a request may stand half-read here. Then net/http waits
	// for the rest, by its own timeouts.
	patience = time.Second
	// coarseness is the part of a timeout by which it may end early: a deadline is
	// set anew when so much of it has passed, not for every request.
	coarseness = 16
)

// buffers are what a connection needs while it answers. One that waits has none.
type buffers struct {
	in       [maxRequest]byte
	out      []byte
	receiver nowait.Receiver
}

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// conn is a connection as long as all its requests are plain. One goroutine uses
// it, but for expire.
type conn struct {
	net.Conn
	server  *Server
	request Request
	tells   bool // the kernel says whether more has come

	held     []byte // what has come of a request, nil between requests
	cold     bool   // what is held is for net/http
	last     bool   // the last answer was given
	answered bool   // a request was answered: what is waited for now is another one
	posted   bool   // and it was a POST

	admitted            bool // what comes with these two
	host, authorization []byte
	extended            time.Time // when the deadline of a wait between requests was set
}

// serve answers until a request is not plain: then net/http is to have the connection,
// beginning with what is held. Otherwise the connection has ended.
func (c *conn) serve() (cold bool) {
	raw := nowait.Raw(c.Conn)
	if raw == nil {
		return true // net/http reads from the beginning
	}
	c.tells = nowait.Tells(raw)
	c.waitUntil(time.Now().Add(c.server.first))
	err := raw.Read(c.drain)
	return c.cold || err != nil && c.held != nil // it is late, or a stop has found it half read
}

// waitUntil sets the time until which it waits for bytes.
func (c *conn) waitUntil(t time.Time) {
	_ = c.SetReadDeadline(t) // it fails if the connection has ended, as the read will
	if c.server.stopping.Load() {
		c.expire()
	}
}

// expire makes it wait no more. Any goroutine may call it.
func (c *conn) expire() { _ = c.SetReadDeadline(time.Unix(1, 0)) }

// drain answers what has come. It is called each time that the connection can be
// read; done says that it is not to be called again.
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
			c.cold = c.held != nil && !(c.answered && len(c.held) < minNext) // it shall say what such an end means
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
			c.held, c.cold = bytes.Clone(rest), true
			return true
		}
		c.hold(rest, len(rest) < n+got)
		n = copy(b.in[:], rest)
		if !more {
			return false
		}
	}
}

// hold keeps what has come of a request, and sets how long the rest of it, or the next
// one, is waited for. begun says that the request has begun just now.
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

// answer answers the plain requests at the beginning of in. It returns the rest, and
// what that is.
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

// gather appends to b.out the answers to plain requests at the beginning of in, as
// many as go into one write. It returns the rest of in, and what that is as far as it
// has been looked at.
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

// admits reports whether the request may be answered here. It is asked once for what
// does not change on a connection.
func (c *conn) admits() bool {
	r := &c.request
	if c.server.admits == nil || c.admitted && bytes.Equal(r.Host, c.host) && subtle.ConstantTimeCompare(r.Authorization, c.authorization) == 1 {
		return true
	}
	if !c.server.admits(c.RemoteAddr(), string(r.Host), string(r.Authorization)) {
		return false
	}
	c.admitted, c.host, c.authorization = true, bytes.Clone(r.Host), bytes.Clone(r.Authorization)
	return true
}

// send writes what has been gathered: at once what the kernel takes, and waits with
// the rest.
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

// clock has the time, read once a second.
type clock struct{ now atomic.Pointer[moment] }

// moment is a time, and how the head of an answer ends then.
type moment struct {
	time.Time
	end  []byte // Date and the empty line
	last []byte // the same of the last answer on a connection
}

func momentOf(now time.Time) *moment {
	date := string(now.UTC().AppendFormat([]byte("Date: "), http.TimeFormat)) + "\r\n"
	return &moment{now, []byte(date + "\r\n"), []byte(date + "Connection: close\r\n\r\n")}
}

func (c *clock) set(now time.Time) { c.now.Store(momentOf(now)) }

// run keeps the time until stop is closed.
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
