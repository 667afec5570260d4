package website

import (
	"bytes"
	"net"
	"sync"
	"syscall"
	"time"

	"paddock/internal/access"
	"paddock/internal/nowait"
)

const (
	// shortRead is the room for what is read at once. A request that does not fit is
	// not plain.
	shortRead = 8 << 10
	// maxGathered is how much of the answers to pipelined requests goes into one write.
	maxGathered = 128 << 10
	// extendEvery is how often the deadline of a busy connection is moved: so it is
	// idleTimeout to idleTimeout + extendEvery.
	extendEvery = 10 * time.Second
)

// buffers are what a connection needs while it answers. One that waits has none.
type buffers struct {
	in       [shortRead]byte
	out      []byte
	receiver nowait.Receiver
}

var bufferPool = sync.Pool{New: func() any { return new(buffers) }}

// shortConn is a connection while all its requests are plain. One goroutine owns it.
type shortConn struct {
	net.Conn
	site   *Site
	clock  *clock
	stop   <-chan struct{} // closed when it shall end after what it does
	remote string

	tells    bool      // the kernel says whether more has come
	host     []byte    // the last one that was found to be allowed
	extended time.Time // when the deadline was set
	unread   []byte    // what net/http begins with, nil if it does not take over
}

// serve answers until a request is not plain: then it returns true and the bytes
// from that request on are in unread. Otherwise the connection has ended.
func (c *shortConn) serve() (handOver bool) {
	conn, ok := c.Conn.(syscall.Conn)
	if !ok {
		return true // net/http reads from the beginning
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	c.tells = nowait.Tells(raw)
	c.extend(time.Now().Add(headerTimeout))
	_ = raw.Read(c.drain)
	return len(c.unread) > 0
}

// extend sets the time until which it waits for a request.
func (c *shortConn) extend(until time.Time) {
	_ = c.SetReadDeadline(until) // it fails if the connection has ended, as the read will
	select {
	case <-c.stop:
		c.expire()
	default:
	}
}

// expire makes it wait no more. Any goroutine may call it.
func (c *shortConn) expire() { _ = c.SetReadDeadline(time.Unix(1, 0)) }

// drain answers what has come. It is called each time that the connection can be
// read; done says that it is not to be called again.
//
// hot: BenchmarkShort, TestShortWayDoesNotAllocate.
func (c *shortConn) drain(fd uintptr) (done bool) {
	b := bufferPool.Get().(*buffers)
	defer bufferPool.Put(b)
	for {
		n, more, wait, err := b.receiver.Receive(fd, b.in[:], c.tells)
		switch {
		case err != nil:
			return true
		case wait:
			return false
		}
		now := c.clock.now.Load()
		if now.Sub(c.extended) >= extendEvery {
			c.extended = now.Time
			c.extend(now.Add(idleTimeout))
		}
		rest, err := c.answer(fd, b, b.in[:n], now)
		if err != nil {
			return true
		}
		if len(rest) > 0 {
			c.unread = bytes.Clone(rest)
			return true
		}
		if !more {
			return false
		}
	}
}

// answer answers the plain requests at the beginning of in and returns the rest.
func (c *shortConn) answer(fd uintptr, b *buffers, in []byte, now *moment) (rest []byte, err error) {
	for {
		rest = c.gather(b, in, now)
		if len(b.out) == 0 {
			return rest, nil
		}
		if err := c.send(fd, b); err != nil || len(rest) == 0 {
			return rest, err
		}
		in = rest
	}
}

// gather appends to b.out the answers to plain requests at the beginning of in, as
// many as go into one write, and returns the rest of in.
func (c *shortConn) gather(b *buffers, in []byte, now *moment) (rest []byte) {
	var r plain
	answered := uint64(0)
	for len(in) > 0 && len(b.out) < maxGathered {
		n := readPlain(in, &r)
		if n == 0 || !c.allows(r.host) {
			break
		}
		p := c.page(r.path, now)
		if p == nil {
			break
		}
		content := p.choose(r.acceptEncoding)
		if content.head == nil {
			break
		}
		b.out = append(append(b.out, content.head...), now.end...)
		if !r.head {
			b.out = append(b.out, content.body...)
		}
		c.record(&r, content, now)
		answered++
		in = in[n:]
	}
	c.site.requests.Add(answered)
	c.site.short.Add(answered)
	return in
}

// allows reports whether the site answers for a host.
func (c *shortConn) allows(host []byte) bool {
	if c.site.options.AnyHost || bytes.Equal(host, c.host) {
		return true
	}
	if !access.LocalName(string(host)) {
		return false
	}
	c.host = bytes.Clone(host)
	return true
}

// page returns the page of a path, nil if it is not for the short way.
func (c *shortConn) page(path []byte, now *moment) *page {
	if p := c.site.cache.get(path); p != nil && c.site.current(p, now.Time) {
		return p
	}
	p, err := c.site.page(string(path), now.Time)
	if err != nil || !p.inMemory {
		return nil
	}
	return p
}

// record notes an answer in the log of requests, if that wants it.
func (c *shortConn) record(r *plain, content *content, now *moment) {
	if !c.site.options.Requests.wants(200) {
		return
	}
	line := request{begun: now.Time, remote: c.remote, method: "GET", target: string(r.target), proto: "HTTP/1.1", status: 200}
	if r.head {
		line.method = "HEAD"
	} else {
		line.bytes = content.stamp.size
	}
	c.site.options.Requests.add(line)
}

// send writes what has been gathered: at once what the kernel takes, and waits with
// the rest.
func (c *shortConn) send(fd uintptr, b *buffers) error {
	n, err := nowait.Send(fd, b.out)
	if err == nil && n < len(b.out) {
		_, err = (&pacedConn{Conn: c.Conn}).Write(b.out[n:])
	}
	if cap(b.out) > 2*maxGathered {
		b.out = nil
	} else {
		b.out = b.out[:0]
	}
	return err
}
