package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// maxChunkLine bounds the line of a chunk's size with its extensions.
const maxChunkLine = 4096

var (
	errChunkSize = errors.New("http1: a chunk's size is not a hexadecimal number of bytes")
	errChunkLine = fmt.Errorf("http1: the line of a chunk's size has more than %d bytes, or a control character", maxChunkLine)
	errChunkEnd  = errors.New("http1: a chunk is not followed by a line's end")
	errTrailers  = fmt.Errorf("http1: trailers of more than %d KiB", maxHead>>10)
)

// chunkStage is how far a chunked body is.
type chunkStage uint8

const (
	chunkSize  chunkStage = iota // the digits
	chunkBlank                   // blanks behind them
	chunkNote                    // an extension, which is skipped
	chunkLF                      // the size's line ends
	chunkData
	chunkCR // the chunk ends
	chunkCRLF
	chunkTrailers
	chunkDone
)

// chunks finds the end of a chunked body: RFC 9112 section 7.1. It is not the decoder of
// internal/netio/h1, because it goes on at any split of the stream without a copy, and keeps no
// bytes of the body.
type chunks struct {
	stage chunkStage
	left  int64 // of the chunk
	line  int   // bytes of the size's line, or of the trailers
	digit bool  // the size has one
}

// next consumes used bytes from the start of b, and returns the part of them that is data. With
// used = 0 it needs more bytes.
func (c *chunks) next(b []byte) (used int, data []byte, err error) {
	for used < len(b) && c.stage != chunkDone {
		switch c.stage {
		case chunkData:
			n := int(min(c.left, int64(len(b)-used)))
			if c.left -= int64(n); c.left == 0 {
				c.stage = chunkCR
			}
			return used + n, b[used : used+n], nil
		case chunkTrailers:
			n, err := c.trailer(b[used:])
			if n == 0 || err != nil {
				return used, nil, err
			}
			used += n
		default:
			if err := c.step(b[used]); err != nil {
				return used, nil, err
			}
			used++
		}
	}
	return used, nil, nil
}

// step takes a byte between data.
func (c *chunks) step(b byte) error {
	switch c.stage {
	case chunkCR:
		return c.expect(b, '\r', chunkCRLF, errChunkEnd)
	case chunkCRLF:
		return c.expect(b, '\n', chunkSize, errChunkEnd)
	case chunkLF:
		if err := c.expect(b, '\n', chunkData, errChunkLine); err != nil {
			return err
		}
		if c.line, c.digit = 0, false; c.left == 0 {
			c.stage = chunkTrailers
		}
		return nil
	}
	if c.line++; c.line > maxChunkLine {
		return errChunkLine
	}
	if c.stage == chunkSize {
		if v := hexValue(b); v >= 0 {
			if c.left > 1<<58 {
				return errChunkSize
			}
			c.left, c.digit = c.left<<4|int64(v), true
			return nil
		}
	}
	return c.behindSize(b)
}

// behindSize takes a byte of the size's line that is not of the size.
func (c *chunks) behindSize(b byte) error {
	switch {
	case !c.digit:
		return errChunkSize
	case b == '\r':
		c.stage = chunkLF
	case c.stage == chunkNote:
		if b < ' ' && b != '\t' || b == 0x7f {
			return errChunkLine
		}
	case b == ';':
		c.stage = chunkNote
	case b == ' ' || b == '\t':
		c.stage = chunkBlank
	default:
		return errChunkSize
	}
	return nil
}

func (c *chunks) expect(b, want byte, then chunkStage, err error) error {
	if b != want {
		return err
	}
	c.stage = then
	return nil
}

// trailer takes one line behind the last chunk.
func (c *chunks) trailer(b []byte) (used int, err error) {
	end := bytes.IndexByte(b, '\n')
	if end < 0 {
		if c.line+len(b) > maxHead {
			return 0, errTrailers
		}
		return 0, nil
	}
	used = end + 1
	if c.line += used; c.line > maxHead {
		return 0, errTrailers
	}
	line, _ := cutLine(b[:used], 0)
	if len(line) == 0 {
		c.stage = chunkDone
		return used, nil
	}
	_, _, err = cutField(line)
	return used, err
}

// hexValue is the value of a hexadecimal digit; below 0 if it is none.
func hexValue(b byte) int {
	switch {
	case isDigit(b):
		return int(b - '0')
	case b|0x20 >= 'a' && b|0x20 <= 'f':
		return int(b|0x20-'a') + 10
	}
	return -1
}
