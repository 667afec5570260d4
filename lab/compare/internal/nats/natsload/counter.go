package natsload

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"

	"paddock/lab/compare/internal/harness/measure"
)

// maxLine is the longest line that a server may send: its INFO.
const maxLine = 32 << 10

// Errors in a server's output.
var (
	ErrProtocol = errors.New("not according to the protocol")
	ErrServer   = errors.New("the server says")
)

// Counter counts a server's output, however the reads split it. It belongs to one goroutine.
type Counter struct {
	Messages int64
	Bytes    int64 // of payload, with headers
	Pongs    int64
	Pings    int64 // from the server, each of which wants its PONG

	// block is one delivered message many times over, for subscribers that get
	// nothing else; nil without.
	block []byte
	one   int // its length
	size  int // its payload's

	line []byte // the beginning of a line whose end has not come
	left int    // bytes of the present message that have not come, its CRLF included

	header     []byte // the last message's line, so that the next need not be parsed
	headerSize int
}

// Expect makes the counter compare with this message, as the server delivers it, before it parses.
// Other bytes are parsed.
func (c *Counter) Expect(message []byte, size int) {
	c.one, c.size = len(message), size
	c.block = bytes.Repeat(message, max(1, blockSize/len(message)))
}

// Feed counts the bytes of p. hot: BenchmarkCounter.
func (c *Counter) Feed(p []byte) error {
	for len(p) > 0 {
		if c.left > 0 {
			n, err := c.rest(p)
			if err != nil {
				return err
			}
			p = p[n:]
			continue
		}
		if len(c.line) == 0 {
			p = p[c.same(p):]
			n, err := c.whole(p)
			if err != nil {
				return err
			}
			if n > 0 {
				p = p[n:]
				continue
			}
		}
		n, err := c.control(p)
		if err != nil {
			return err
		}
		p = p[n:]
	}
	return nil
}

// same counts messages at the beginning of p that are the expected one.
func (c *Counter) same(p []byte) (n int) {
	for c.block != nil {
		size := min(len(c.block), len(p)/c.one*c.one)
		if size == 0 || !bytes.Equal(p[:size], c.block[:size]) {
			break
		}
		c.add(int64(size/c.one), int64(c.size))
		p = p[size:]
		n += size
	}
	return n
}

// whole counts one message that is whole. Most have the line of the one before.
func (c *Counter) whole(p []byte) (int, error) {
	line, size := len(c.header), c.headerSize
	if line == 0 || !bytes.HasPrefix(p, c.header) {
		if len(p) < 4 || string(p[:4]) != "MSG " {
			return 0, nil
		}
		if line = bytes.IndexByte(p, '\n') + 1; line == 0 {
			return 0, nil
		}
		var err error
		if size, err = lastNumber(p[:line]); err != nil {
			return 0, err
		}
		c.header, c.headerSize = append(c.header[:0], p[:line]...), size
	}
	end := line + size + 2
	if len(p) < end {
		return 0, nil
	}
	if p[end-2] != '\r' || p[end-1] != '\n' {
		return 0, errUnterminated
	}
	c.add(1, int64(size))
	return end, nil
}

var errUnterminated = fmt.Errorf("%w: a payload without CRLF", ErrProtocol)

// rest takes the rest of the message that has begun.
func (c *Counter) rest(p []byte) (int, error) {
	n := min(len(p), c.left)
	if at := c.left - 2; at >= 0 && at < n && p[at] != '\r' {
		return 0, errUnterminated
	}
	if n == c.left && p[n-1] != '\n' {
		return 0, errUnterminated
	}
	c.left -= n
	if c.left == 0 {
		c.add(1, int64(c.headerSize))
	}
	return n, nil
}

func (c *Counter) add(messages, size int64) {
	c.Messages += messages
	c.Bytes += messages * size
}

// control takes one line, or the part of one that has come.
func (c *Counter) control(p []byte) (int, error) {
	i := bytes.IndexByte(p, '\n')
	if i < 0 {
		if len(c.line)+len(p) > maxLine {
			return 0, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, maxLine)
		}
		c.line = append(c.line, p...)
		return len(p), nil
	}
	line := p[:i+1]
	if len(c.line) > 0 {
		c.line = append(c.line, line...)
		line = c.line
	}
	err := c.act(line)
	c.line = c.line[:0]
	return i + 1, err
}

// act acts on a whole line.
func (c *Counter) act(line []byte) error {
	switch {
	case bytes.HasPrefix(line, []byte("MSG ")), bytes.HasPrefix(line, []byte("HMSG ")):
		size, err := lastNumber(line)
		if err != nil {
			return err
		}
		c.header, c.headerSize = append(c.header[:0], line...), size
		c.left = size + 2
	case bytes.HasPrefix(line, []byte("PONG")):
		c.Pongs++
	case bytes.HasPrefix(line, []byte("PING")):
		c.Pings++
	case bytes.HasPrefix(line, []byte("INFO ")), bytes.HasPrefix(line, []byte("+OK")):
	case bytes.HasPrefix(line, []byte("-ERR")):
		return fmt.Errorf("%w %s", ErrServer, bytes.TrimSpace(line[4:]))
	default:
		return fmt.Errorf("%w: %.40q", ErrProtocol, line)
	}
	return nil
}

// lastNumber returns the size at the end of a message's line, which ends in LF,
// with a CR before it or not.
func lastNumber(line []byte) (n int, err error) {
	end := len(line) - 1
	if end > 0 && line[end-1] == '\r' {
		end--
	}
	at, unit := end-1, 1
	for ; at >= 0 && line[at] >= '0' && line[at] <= '9' && end-at <= 9; at-- {
		n += int(line[at]-'0') * unit
		unit *= 10
	}
	if at < 0 || at == end-1 || line[at] != ' ' {
		return 0, fmt.Errorf("%w: %.40q", ErrProtocol, line)
	}
	return n, nil
}

// startMeter begins a window in which the machine's processor time counts too.
func startMeter(server Server) (*measure.Meter, error) {
	runtime.GC() // the garbage of the warm-up is not part of the window
	return measure.StartMachineMeter(server)
}
