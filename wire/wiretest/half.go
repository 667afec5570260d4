package wiretest

import (
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

// half is one direction of a connection in memory: a writing end, a link, a
// reading end. Methods of both ends may run at the same time, and each waits on
// its own alarm.
type half struct {
	clock
	buffer int // most bytes in the queue
	window int // most unread bytes: in the queue, in flight, arrived

	mu    sync.Mutex
	bytes ring // all that was written and not read
	sched schedule

	// The reading end.
	readable     *alarm
	readDeadline instant
	readClosed   bool
	end          instant // when the reader learns of endErr, after all bytes
	endErr       error   // io.EOF or ECONNRESET

	// The writing end.
	writable      *alarm
	writeDeadline instant
	writing       bool    // one Write at a time: they do not interleave
	wanted        int     // room in the window that the current Write waits for; 0: none
	closeErr      error   // why this end cannot write any more: ErrClosed or EPIPE
	broken        instant // when the writer learns of brokenErr
	brokenErr     error   // EPIPE or ECONNRESET, after the reader has left
}

func newHalf(c clock, l LinkConfig) *half {
	h := &half{
		clock: c, buffer: l.Buffer, window: l.window(),
		sched:        schedule{rate: l.Rate, delay: l.Delay, coalesce: l.Coalesce},
		readDeadline: never, writeDeadline: never, end: never, broken: never,
	}
	h.readable, h.writable = newAlarm(c, &h.mu), newAlarm(c, &h.mu)
	return h
}

// read waits until there is something to read, and takes up to len(p) bytes.
func (h *half) read(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for {
		now := h.now()
		switch {
		case h.readClosed:
			return 0, net.ErrClosed
		case now >= h.readDeadline:
			return 0, os.ErrDeadlineExceeded
		case len(p) == 0:
			return 0, nil
		}
		h.sched.advance(now)
		if h.sched.arrived > 0 {
			return h.takeLocked(p), nil
		}
		if h.bytes.size == 0 && now >= h.end {
			return 0, h.endErr
		}
		until := min(h.readDeadline, h.sched.next())
		if h.bytes.size == 0 {
			until = min(until, h.end)
		}
		h.readable.wait(until)
	}
}

// takeLocked reads arrived bytes, and wakes the writer once there is the room that it waits for.
func (h *half) takeLocked(p []byte) int {
	n := h.bytes.pop(p[:min(len(p), h.sched.arrived)])
	h.sched.take(n)
	if h.wanted > 0 && h.window-h.bytes.size >= h.wanted {
		h.wanted = 0
		h.writable.broadcast()
	}
	return n
}

// write waits until the queue has taken all of p. With an error it returns how
// many bytes it has taken before.
func (h *half) write(p []byte) (n int, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.writing {
		if err := h.writeErrLocked(h.now()); err != nil {
			return 0, err
		}
		h.writable.wait(min(h.writeDeadline, h.broken))
	}
	h.writing = true
	defer func() {
		h.writing, h.wanted = false, 0
		h.writable.broadcast()
	}()
	for {
		now := h.now()
		if err := h.writeErrLocked(now); err != nil {
			return n, err
		}
		if n == len(p) {
			return n, nil
		}
		// Half the buffer at a time, so that a full queue costs a few wakes, not
		// one for each read of the other side.
		want := min(len(p)-n, (h.buffer+1)/2)
		room := min(h.buffer-h.sched.queued(now), h.window-h.bytes.size)
		if room < want {
			h.wanted = want
			until := min(h.writeDeadline, h.broken)
			if h.window-h.bytes.size >= want {
				until = min(until, h.sched.queuedAtMost(h.buffer-want))
			}
			h.writable.wait(until)
			continue
		}
		room = min(room, len(p)-n)
		h.bytes.push(p[n : n+room])
		n += room
		if h.sched.send(now, room) {
			h.readable.broadcast()
		}
	}
}

// writeErrLocked returns why nothing can be written now, or nil.
func (h *half) writeErrLocked(now instant) error {
	switch {
	case h.closeErr != nil:
		return h.closeErr
	case now >= h.broken:
		return h.brokenErr
	case now >= h.writeDeadline:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// shut ends the writing end in order: the reader gets all bytes, then io.EOF.
// Later writes fail with err: EPIPE after CloseWrite, ErrClosed after Close.
func (h *half) shut(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closeErr = err
	if h.endErr == nil {
		h.endErr = io.EOF
		h.end = h.now().after(h.sched.delay) // or later: all bytes come first
	}
	h.leftLocked()
}

// reset ends the writing end at once: the bytes in the queue are lost.
func (h *half) reset() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.now()
	h.bytes.truncate(h.sched.drop(now))
	h.closeErr = net.ErrClosed
	h.endErr, h.end = syscall.ECONNRESET, now.after(h.sched.delay)
	h.leftLocked()
}

// leave ends the reading end. The writer learns of err when the news has
// travelled back.
func (h *half) leave(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.readClosed = true
	h.brokenErr, h.broken = err, h.now().after(h.sched.delay)
	h.leftLocked()
}

// leftLocked wakes all waiters after one end has gone, and drops the bytes with the second.
func (h *half) leftLocked() {
	h.readable.broadcast()
	h.writable.broadcast()
	if h.readClosed {
		h.readable.stop()
	}
	if h.closeErr != nil {
		h.writable.stop()
	}
	if h.readClosed && h.closeErr != nil {
		h.bytes, h.sched.bursts, h.sched.arrived = ring{}, nil, 0
	}
}
