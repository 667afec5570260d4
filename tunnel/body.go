package tunnel

import (
	"bytes"
	"errors"
	"io"
)

// body reads the body of a target's answer, piece by piece and without copying.
type body struct {
	b       *backend
	kind    bodyKind
	left    int64 // of the length, or of the present chunk
	inChunk bool
	over    bool
	stay    bool // do not wait: errWait instead
}

type bodyKind uint8

const (
	noBody bodyKind = iota
	byLength
	byChunks
	byClose
)

// errWait says that what has come does not suffice.
var errWait = errors.New("tunnel: nothing more has come")

// bodyOf says how the body behind a head ends.
func (b *backend) bodyOf(h *head, toHead bool) body {
	switch {
	case h.bodiless(toHead), h.length == 0:
		return body{b: b, over: true}
	case h.chunked:
		return body{b: b, kind: byChunks}
	case h.length > 0:
		return body{b: b, kind: byLength, left: h.length}
	}
	return body{b: b, kind: byClose}
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
	if d.kind == byChunks {
		if err := d.chunk(); err != nil {
			return nil, err
		}
	}
	if len(d.b.unread()) == 0 {
		err := d.fill()
		switch {
		case errors.Is(err, io.EOF) && d.kind == byClose:
			d.over = true
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, errShort
		case err != nil:
			return nil, err
		}
	}
	piece := d.b.unread()
	if d.kind != byClose && int64(len(piece)) > d.left {
		piece = piece[:d.left]
	}
	d.b.r += len(piece)
	if d.left -= int64(len(piece)); d.kind == byLength && d.left == 0 {
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
			return badHead("no CRLF behind a chunk")
		}
		d.inChunk = false
		if line, err = d.line(0); err != nil {
			return err
		}
	}
	size, ok := chunkSize(line)
	if !ok {
		return badHead("chunk %.20q", line)
	}
	if size == 0 {
		d.over = true
		return io.EOF
	}
	d.left, d.inChunk = size, true
	return nil
}

// maxChunkLine bounds the line before a chunk, extensions included.
const maxChunkLine = 256

// line takes a line that ends in CR LF.
func (d *body) line(most int) ([]byte, error) {
	if most == 0 {
		most = maxChunkLine
	}
	for {
		b := d.b.unread()
		if n := bytes.IndexByte(b, '\n'); n >= 0 && n < most {
			if n == 0 || b[n-1] != '\r' {
				return nil, badHead("LF without CR between chunks")
			}
			d.b.r += n + 1
			return b[:n-1], nil
		}
		if len(b) >= most {
			return nil, badHead("a long line between chunks")
		}
		switch err := d.fill(); {
		case errors.Is(err, io.EOF):
			return nil, errShort
		case err != nil:
			return nil, err
		}
	}
}

// chunkSize reads the hexadecimal number at the front, at most 15 digits; an extension
// may follow.
func chunkSize(line []byte) (n int64, ok bool) {
	digits := 0
	for ; digits < len(line); digits++ {
		c := line[digits]
		switch {
		case '0' <= c && c <= '9':
			n = n<<4 | int64(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			n = n<<4 | int64(c|0x20-'a'+10)
		default:
			return n, digits > 0 && digits < 16 && extension(line[digits:])
		}
		if digits >= 15 {
			return 0, false
		}
	}
	return n, digits > 0
}

func extension(b []byte) bool {
	text := trim(b)
	return len(text) > 0 && text[0] == ';' && isAll(text, valueByte)
}
