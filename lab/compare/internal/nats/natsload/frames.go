package natsload

import (
	"bytes"
	"fmt"
)

// Frame is one message as a subscriber gets it. Its bytes are valid until the
// function that was given it returns.
type Frame struct {
	Reply   []byte
	Payload []byte
}

// Frames cuts a server's output into messages, for subscribers that look into them. It belongs to
// one goroutine.
type Frames struct {
	Message func(Frame)
	Pings   int64
	Pongs   int64

	kept []byte // the beginning of an incomplete message
}

// Feed hands over every message that is whole by now.
func (f *Frames) Feed(p []byte) error {
	if len(f.kept) > 0 {
		f.kept = append(f.kept, p...)
		p = f.kept
	}
	n, err := f.take(p)
	if err != nil {
		return err
	}
	f.kept = append(f.kept[:0], p[n:]...)
	return nil
}

// take returns how much of p was whole.
func (f *Frames) take(p []byte) (done int, err error) {
	for {
		i := bytes.IndexByte(p[done:], '\n')
		if i < 0 {
			if len(p)-done > maxLine {
				return done, fmt.Errorf("%w: a line of more than %d bytes", ErrProtocol, maxLine)
			}
			return done, nil
		}
		line := p[done : done+i+1]
		if !bytes.HasPrefix(line, []byte("MSG ")) {
			var other Counter
			if err := other.act(line); err != nil {
				return done, err
			}
			f.Pings += other.Pings
			f.Pongs += other.Pongs
			done += i + 1
			continue
		}
		size, err := lastNumber(line)
		if err != nil {
			return done, err
		}
		end := done + len(line) + size + 2
		if end > len(p) {
			return done, nil
		}
		if p[end-2] != '\r' || p[end-1] != '\n' {
			return done, errUnterminated
		}
		f.Message(Frame{Reply: reply(line), Payload: p[end-2-size : end-2]})
		done = end
	}
}

// reply returns the third of the four words of "MSG subject sid [reply] size".
func reply(line []byte) []byte {
	rest := line[len("MSG "):]
	for range 2 {
		_, rest, _ = bytes.Cut(rest, []byte(" "))
	}
	word, _, found := bytes.Cut(rest, []byte(" "))
	if !found {
		return nil
	}
	return word
}
