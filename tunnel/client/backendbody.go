package client

import (
	"errors"
	"io"

	"paddock/internal/netio/h1"
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

// errWait reports that the buffered bytes do not suffice.
var errWait = errors.New("tunnel: nothing more has come")

// bodyOf returns the body behind a head, with its framing.
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

// chunk reads the framing between the bytes of chunks.
func (d *body) chunk() error {
	if d.inChunk && d.left > 0 {
		return nil
	}
	for {
		size, n, err := h1.NextChunk(d.b.unread(), d.inChunk, true)
		if err != nil {
			return err
		}
		if n > 0 {
			d.b.r += n
			d.left, d.inChunk, d.over = size, size > 0, size == 0
			if d.over {
				return io.EOF
			}
			return nil
		}
		switch err := d.fill(); {
		case errors.Is(err, io.EOF):
			return errShort
		case err != nil:
			return err
		}
	}
}
