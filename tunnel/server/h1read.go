package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"paddock/internal/netio/h1"
)

// h1Body is how far the body of a request has been read.
type h1Body struct {
	base    int // the head lies before it
	kind    h1.Framing
	left    int64 // of the length, or of the present chunk
	inChunk bool
	err     error
	late    h1.Head
	over    atomic.Bool // all of it was read
}

// begin is for the body behind a head.
func (d *h1Body) begin(h *h1.Head) {
	d.kind, d.left, d.inChunk, d.err = h1.NoBody, 0, false, nil
	d.late.Fields = d.late.Fields[:0]
	switch {
	case h.Chunked:
		d.kind = h1.ByChunks
	case h.Length > 0:
		d.kind, d.left = h1.ByLength, h.Length
	}
	d.over.Store(d.kind == h1.NoBody)
}

// readHead reads a head and judges it. Another end of line before it is ignored, RFC 9112
// section 2.2.
func (c *h1Conn) readHead() error {
	c.buffers.req.Head = h1.Head{Fields: c.buffers.req.Fields[:0]} // nothing of an earlier one
	seen, first, skipped := 0, !c.served && !c.secure, false
	for timed := false; ; {
		b := c.buffers.in[c.r:c.w]
		switch n := min(len(b), len(http2Preface)); {
		case first && n > 2 && string(b[:n]) == http2Preface[:n]:
			if n == len(http2Preface) {
				return errHTTP2
			}
		case !skipped && b[0] == '\r' && len(b) < 2:
		case !skipped && b[0] == '\r' && b[1] == '\n' && len(b) > 2:
			c.r += 2
			skipped, first = true, false
			continue
		case !skipped && b[0] == '\r' && b[1] == '\n':
		default:
			n, err := h1.VisitorEnd(b, seen)
			if err != nil {
				return err
			}
			if n > 0 {
				c.r += n
				c.body.base = c.r
				return c.buffers.req.ParseVisitor(b[:n])
			}
			seen = len(b)
		}
		if !timed {
			timed = true
			c.readUntil(time.Now().Add(c.f.s.limits.Head))
		}
		c.body.base = c.r
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// fill reads more bytes behind the unread ones.
func (c *h1Conn) fill() error {
	base := c.body.base
	if c.r == c.w {
		c.r, c.w = base, base
	}
	if c.w == len(c.buffers.in) {
		if c.r > base {
			c.w = base + copy(c.buffers.in[base:], c.buffers.in[c.r:c.w])
			c.r = base
		} else if err := c.buffers.grow(); err != nil {
			return err
		}
	}
	n, err := c.conn.Read(c.buffers.in[c.w:])
	if c.w += n; n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return c.lost(err)
}

// grow enlarges the buffer; slices of the old one stay valid.
func (r *h1Buffers) grow() error {
	if len(r.in) >= maxBuffer {
		return h1.BadRequest(http.StatusRequestHeaderFieldsTooLarge, "over %d bytes", maxBuffer)
	}
	in := make([]byte, min(2*len(r.in), maxBuffer))
	copy(in, r.in)
	r.in = in
	return nil
}

// lost classifies a read error: unless it is a timeout, the visitor has left.
func (c *h1Conn) lost(err error) error {
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if !isTimeout(err) {
		c.cancel()
	}
	return err
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// Read implements turn.
func (c *h1Conn) Read(p []byte) (int, error) {
	d := &c.body
	if d.err != nil {
		return 0, d.err
	}
	n, err := c.readBody(p)
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		d.err = err
		d.over.Store(true)
		c.watch()
	case errors.Is(err, h1.ErrMalformed):
		err = &h1.RequestError{Status: h1.StatusOf(err), Err: err}
		d.err = err
	default:
		d.err = err
	}
	return n, err
}

func (c *h1Conn) readBody(p []byte) (int, error) {
	d := &c.body
	if d.kind == h1.ByChunks {
		if err := c.chunk(); err != nil {
			return 0, err
		}
	}
	if d.left == 0 {
		return 0, io.EOF
	}
	if int64(len(p)) > d.left {
		p = p[:d.left]
	}
	n := copy(p, c.buffers.in[c.r:c.w])
	if c.r += n; n == 0 {
		var err error
		if n, err = c.conn.Read(p); n == 0 && err != nil {
			return 0, c.lost(err)
		}
	}
	if d.left -= int64(n); d.left == 0 && d.kind == h1.ByLength {
		return n, io.EOF
	}
	return n, nil
}

// chunk reads the framing between the bytes of chunks, and after the last one the trailers.
func (c *h1Conn) chunk() error {
	d := &c.body
	if d.left > 0 {
		return nil
	}
	for {
		size, n, err := h1.NextChunk(c.buffers.in[c.r:c.w], d.inChunk, false)
		if err != nil {
			return err
		}
		if n > 0 {
			c.r += n
			if d.left, d.inChunk = size, size > 0; size > 0 {
				return nil
			}
			return c.readTrailers()
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
}

// maxTrailers bounds the trailers of a request.
const maxTrailers = 8 << 10

// readTrailers reads them, up to their empty line; the error is io.EOF if all is well.
func (c *h1Conn) readTrailers() error {
	for seen := 0; ; {
		b := c.buffers.in[c.r:c.w]
		n := 0
		if len(b) >= 2 && b[0] == '\r' && b[1] == '\n' {
			n = 2
		} else if at := bytes.Index(b[seen:], h1.EmptyLine); at >= 0 {
			n = seen + at + len(h1.EmptyLine)
		}
		switch {
		case n > maxTrailers, n == 0 && len(b) > maxTrailers:
			return h1.BadRequest(http.StatusRequestHeaderFieldsTooLarge, "trailers of over %d bytes", maxTrailers)
		case n > 0:
			c.r += n
			if err := c.body.late.Parse(b[:n], h1.LinkTrailers); err != nil {
				return err
			}
			return io.EOF
		}
		seen = max(len(b)-len(h1.EmptyLine)+1, 0)
		if err := c.fill(); err != nil {
			return err
		}
	}
}

func (c *h1Conn) trailers() []h1.Field { return c.body.late.Fields }
