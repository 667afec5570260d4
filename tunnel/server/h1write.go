package server

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"paddock/internal/netio/h1"
)

// h1Answer is how far the answer to a request has been written.
type h1Answer struct {
	framing   h1.Framing
	closes    bool // the connection ends with it
	reading   bool // the body is read meanwhile
	over      bool // it was cut, or the connection was hijacked
	err       error
	expecting sync.Mutex
	begun     bool // guarded by expecting: it is too late to ask for the body
	continued bool // guarded by expecting: the visitor was asked for the body
}

// maxGathered is how much of an answer is gathered for one write.
const maxGathered = 32 << 10

func (c *h1Conn) duplex() { c.answer.reading = true }

var continueHead = []byte("HTTP/1.1 100 Continue\r\n\r\n")

func (c *h1Conn) proceed() {
	a := &c.answer
	a.expecting.Lock()
	defer a.expecting.Unlock()
	if !a.begun && !a.continued {
		a.continued = true
		_, _ = c.conn.Write(continueHead) // if it fails, later writes fail too
	}
}

func (c *h1Conn) interim(text []byte, _ *h1.Head) error {
	if c.buffers.req.HTTP10 {
		return nil // HTTP/1.0 knows of none
	}
	a := &c.answer
	a.expecting.Lock()
	defer a.expecting.Unlock()
	_, err := c.conn.Write(text)
	return err
}

func (c *h1Conn) begin(text []byte, h *h1.Head, rest []byte, whole bool) error {
	q, a := &c.buffers.req, &c.answer
	a.expecting.Lock()
	a.begun = true
	a.expecting.Unlock()
	a.closes = a.closes || q.Closes || q.HTTP10 && !q.Keeps || c.f.stopping.Load() || c.unwanted()
	out := c.buffers.out[:0]
	if q.HTTP10 && h.Chunked {
		out = h1.AppendUnchunked(out, text, h)
	} else {
		out = append(out, text[:len(text)-len("\r\n")]...)
	}
	if h.Get("date") == nil {
		out = c.f.clock.append(out)
	}
	switch {
	case h.Bodiless(string(q.Method) == http.MethodHead):
		a.framing = h1.NoBody
	case h.Length >= 0:
		a.framing = h1.ByLength
	case whole && !h.Chunked:
		a.framing = h1.ByLength
		out = h1.AppendLength(out, int64(len(rest)))
	case !q.HTTP10:
		a.framing = h1.ByChunks
		if !h.Chunked {
			out = append(out, "Transfer-Encoding: chunked\r\n"...)
		}
	default:
		a.framing, a.closes = h1.ByClose, true
	}
	switch {
	case a.closes:
		out = append(out, "Connection: close\r\n"...)
	case q.HTTP10:
		out = append(out, "Connection: keep-alive\r\n"...)
	}
	c.buffers.out = append(out, "\r\n"...)
	return c.write(rest)
}

// unwanted reports whether more of the body is to come than is worth reading.
func (c *h1Conn) unwanted() bool {
	d := &c.body
	if d.over.Load() {
		return false
	}
	return c.answer.reading || c.buffers.req.Expects || d.kind == h1.ByChunks || d.left > maxUnread
}

// write implements turn: it gathers small writes into larger ones.
func (c *h1Conn) write(b []byte) error {
	a, out := &c.answer, c.buffers.out
	if len(b) == 0 || a.framing == h1.NoBody {
		return nil
	}
	if a.framing == h1.ByChunks {
		out = append(strconv.AppendUint(out, uint64(len(b)), 16), "\r\n"...)
		out = append(append(out, b...), "\r\n"...)
	} else {
		out = append(out, b...)
	}
	if c.buffers.out = out; len(out) < maxGathered {
		return nil
	}
	return c.flush()
}

func (c *h1Conn) flush() error {
	if len(c.buffers.out) == 0 {
		return c.answer.err
	}
	if _, err := c.conn.Write(c.buffers.out); err != nil {
		c.answer.err = err
		c.cancel()
	}
	c.buffers.out = c.buffers.out[:0]
	return c.answer.err
}

func (c *h1Conn) end(trailers []byte, _ *h1.Head) error {
	if c.answer.framing == h1.ByChunks {
		out := append(c.buffers.out, "0\r\n"...)
		if trailers == nil {
			trailers = h1.EmptyLine[2:]
		}
		c.buffers.out = append(out, trailers...)
	}
	return c.flush()
}

// last makes the connection end with this answer, unless the body has been read.
func (c *h1Conn) last() { c.answer.closes = c.answer.closes || !c.body.over.Load() }

// clock appends the field Date, made once a second: RFC 9110 section 6.6.1 requires a gateway to
// add it to an answer without one.
type clock struct {
	mu   sync.Mutex
	at   int64
	text []byte
}

func (c *clock) append(dst []byte) []byte {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	if at := now.Unix(); at != c.at {
		c.at, c.text = at, append(now.UTC().AppendFormat(append(c.text[:0], "Date: "...), http.TimeFormat), "\r\n"...)
	}
	return append(dst, c.text...)
}
