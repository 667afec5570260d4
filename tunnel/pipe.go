package tunnel

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// pipeRoom is how many bytes of each direction wait in a pipe at most: whoever answers
// without reading to the end finds room for what he says, as with a socket.
const pipeRoom = 32 << 10

// pipe is one end of a connection within the process. It behaves as a socket does: with
// room for what is written, deadlines, and two halves.
type pipe struct {
	in, out *pipeHalf
	addr    net.Addr
}

// newPipe returns both ends of a connection; addr is the address of both.
func newPipe(addr net.Addr) (near, far *pipe) {
	there, back := newPipeHalf(), newPipeHalf()
	return &pipe{in: back, out: there, addr: addr}, &pipe{in: there, out: back, addr: addr}
}

func (p *pipe) LocalAddr() net.Addr               { return p.addr }
func (p *pipe) RemoteAddr() net.Addr              { return p.addr }
func (p *pipe) Read(b []byte) (int, error)        { return p.in.read(b) }
func (p *pipe) Write(b []byte) (int, error)       { return p.out.write(b) }
func (p *pipe) SetReadDeadline(t time.Time) error { return p.in.readers.set(t) }

// SetWriteDeadline implements net.Conn.
func (p *pipe) SetWriteDeadline(t time.Time) error { return p.out.writers.set(t) }

// SetDeadline implements net.Conn.
func (p *pipe) SetDeadline(t time.Time) error {
	_ = p.SetReadDeadline(t)
	return p.SetWriteDeadline(t)
}

// CloseWrite ends our half, behind what was written.
func (p *pipe) CloseWrite() error {
	p.out.end(syscall.EPIPE)
	return nil
}

// Close implements net.Conn. What was written can still be read.
func (p *pipe) Close() error {
	p.out.end(net.ErrClosed)
	p.in.leave()
	return nil
}

// pipeHalf is one direction.
type pipeHalf struct {
	mu               sync.Mutex
	readers, writers pipeEnd
	writing          sync.Mutex // one Write at a time
	buf              []byte     // guarded by mu; what waits
	over             error      // guarded by mu; why no more can be written
	left             bool       // guarded by mu; nobody reads any more
}

func newPipeHalf() *pipeHalf {
	h := &pipeHalf{}
	h.readers.init(&h.mu)
	h.writers.init(&h.mu)
	return h
}

func (h *pipeHalf) read(b []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.left:
			return 0, net.ErrClosed
		case h.readers.late():
			return 0, os.ErrDeadlineExceeded
		case len(h.buf) > 0 || len(b) == 0:
			n := copy(b, h.buf)
			if h.buf = h.buf[n:]; len(h.buf) == 0 {
				h.buf = nil // an idle connection holds nothing
			}
			h.writers.Broadcast()
			return n, nil
		case h.over != nil:
			return 0, io.EOF
		}
		h.readers.Wait()
	}
}

func (h *pipeHalf) write(b []byte) (n int, err error) {
	h.writing.Lock()
	defer h.writing.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		switch {
		case h.over != nil:
			return n, h.over
		case h.left:
			return n, syscall.EPIPE
		case h.writers.late():
			return n, os.ErrDeadlineExceeded
		case n == len(b):
			return n, nil
		}
		if room := min(pipeRoom-len(h.buf), len(b)-n); room > 0 {
			h.buf = append(h.buf, b[n:n+room]...)
			n += room
			h.readers.Broadcast()
			continue
		}
		h.writers.Wait()
	}
}

// end lets no more be written: the reader finds io.EOF behind what waits.
func (h *pipeHalf) end(why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.over = why
	h.wake()
}

// leave lets nobody read any more.
func (h *pipeHalf) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left, h.buf = true, nil
	h.wake()
}

// wake lets all look again, and stops what would only wake them once more.
func (h *pipeHalf) wake() {
	for _, e := range []*pipeEnd{&h.readers, &h.writers} {
		if e.timer != nil {
			e.timer.Stop()
		}
		e.Broadcast()
	}
}

// pipeEnd is where those wait who read, or those who write. Its fields are guarded by
// the mutex of its Cond.
type pipeEnd struct {
	sync.Cond
	deadline time.Time
	timer    *time.Timer
}

func (e *pipeEnd) init(mu *sync.Mutex) { e.L = mu }

func (e *pipeEnd) late() bool { return !e.deadline.IsZero() && !time.Now().Before(e.deadline) }

// set is a deadline for those who wait, and for who comes after.
func (e *pipeEnd) set(t time.Time) error {
	e.L.Lock()
	defer e.L.Unlock()
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
	if e.deadline = t; !t.IsZero() {
		e.timer = time.AfterFunc(time.Until(t), func() {
			e.L.Lock()
			defer e.L.Unlock()
			e.Broadcast()
		})
	}
	e.Broadcast()
	return nil
}
