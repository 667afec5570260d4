package tunnel

import (
	"bytes"
	"errors"
	"io"

	"paddock/tunnel/internal/h1"
)

// body reads the body of a target's answer, piece by piece and without copying.
type body struct {
	b       *backend
	kind    h1.Framing
	left    int64 // of the length, or of the present chunk
	inChunk bool
	over    bool
	stay    bool // do not wait: errWait instead
}

// errWait says that what has come does not suffice.
var errWait = errors.New("tunnel: nothing more has come")

// bodyOf says how the body behind a head ends.
func (b *backend) bodyOf(h *h1.Head, toHead bool) body {
	switch {
	case h.Bodiless(toHead), h.Length == 0:
		return body{b: b, over: true}
	case h.Chunked:
		return body{b: b, kind: h1.ByChunks}
	case h.Length > 0:
		return body{b: b, kind: h1.ByLength, left: h.Length}
	}
	return body{b: b, kind: h1.ByClose}
}

// fill is backend.fill unless it is not to wait.
func (d *body) fill() error {
	if d.stay {
		return errWait
	}
	return d.b.fill()
}

// next returns the next piece, which is valid until the next call; in the buffer a byte
// lies before it that is free. io.EOF is the end of the body; of chunks, the trailers
// come behind it.
func (d *body) next() ([]byte, error) {
	if d.over {
		return nil, io.EOF
	}
	if d.kind == h1.ByChunks {
		if err := d.chunk(); err != nil {
			return nil, err
		}
	}
	if len(d.b.unread()) == 0 {
		err := d.fill()
		switch {
		case errors.Is(err, io.EOF) && d.kind == h1.ByClose:
			d.over = true
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, errShort
		case err != nil:
			return nil, err
		}
	}
	piece := d.b.unread()
	if d.kind != h1.ByClose && int64(len(piece)) > d.left {
		piece = piece[:d.left]
	}
	d.b.r += len(piece)
	if d.left -= int64(len(piece)); d.kind == h1.ByLength && d.left == 0 {
		d.over = true
	}
	return piece, nil
}

// chunk reads what lies between the bytes of chunks, RFC 9112 section 7.1, strictly:
// whoever reads it otherwise would find another end.
func (d *body) chunk() error {
	if d.inChunk && d.left > 0 {
		return nil
	}
	most := 0 // of a line
	if d.inChunk {
		most = len("\r\n")
	}
	line, err := d.line(most)
	if err != nil {
		return err
	}
	if d.inChunk {
		if len(line) > 0 {
			return h1.Malformed("no CRLF behind a chunk")
		}
		d.inChunk = false
		if line, err = d.line(0); err != nil {
			return err
		}
	}
	size, ok := h1.ChunkSize(line)
	if !ok {
		return h1.Malformed("chunk %.20q", line)
	}
	if size == 0 {
		d.over = true
		return io.EOF
	}
	d.left, d.inChunk = size, true
	return nil
}

// line takes a line that ends in CR LF.
func (d *body) line(most int) ([]byte, error) {
	if most == 0 {
		most = h1.MaxChunkLine
	}
	for {
		b := d.b.unread()
		if n := bytes.IndexByte(b, '\n'); n >= 0 && n < most {
			if n == 0 || b[n-1] != '\r' {
				return nil, h1.Malformed("LF without CR between chunks")
			}
			d.b.r += n + 1
			return b[:n-1], nil
		}
		if len(b) >= most {
			return nil, h1.Malformed("a long line between chunks")
		}
		switch err := d.fill(); {
		case errors.Is(err, io.EOF):
			return nil, errShort
		case err != nil:
			return nil, err
		}
	}
}
