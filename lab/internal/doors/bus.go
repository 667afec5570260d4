package doors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/position"
	"paddock/internal/platform/subjects"
	natscodec "paddock/lab/internal/codec/nats"
)

// Bus publishes a message for each position, whose fleet and id must be tokens of a subject. The
// last one of a batch has a reply subject: the platform answers when it has applied this one, and
// with it the earlier ones.
func (s *Sender) Bus(ctx context.Context, address string, fleets []*Fleet, l Load) (Window, error) {
	return s.feed(ctx, func(ctx context.Context, lane int) (connection, error) {
		inbox := fmt.Sprintf("_INBOX.bench.%d", lane)
		nc, in, err := natscodec.Dial(ctx, address, natscodec.Login{}, "SUB "+inbox+" 1\r\n")
		if err != nil {
			return nil, err
		}
		return &busConn{plainConn: newPlain(ctx, nc, in), inbox: inbox}, nil
	}, s.Window, fleets, l)
}

// busConn is a connection of a client of the bus.
type busConn struct {
	*plainConn
	inbox string
	out   []byte
	body  []byte
}

func (c *busConn) encode(positions []position.Position) error {
	c.out = c.out[:0]
	for i := range positions {
		p := &positions[i]
		c.body = appendJSON(append(c.body[:0], '{'), p, false)
		c.out = append(append(c.out, "PUB pos."...), cmp.Or(p.Fleet, subjects.NoToken)...)
		c.out = append(append(append(c.out, '.'), p.ID...), ' ')
		if i == len(positions)-1 {
			c.out = append(append(c.out, c.inbox...), ' ')
		}
		c.out = append(strconv.AppendInt(c.out, int64(len(c.body)), 10), "\r\n"...)
		c.out = append(append(c.out, c.body...), "\r\n"...)
	}
	return nil
}

func (c *busConn) post(context.Context) (uint64, error) {
	_, err := c.Write(c.out)
	return 0, err
}

// await reads one answer, and answers PING.
func (c *busConn) await(context.Context, batch) error {
	if err := c.SetReadDeadline(time.Now().Add(AnswerWithin)); err != nil {
		return err
	}
	for {
		line, err := c.in.ReadString('\n')
		switch line = strings.TrimSpace(line); {
		case err != nil:
			return err
		case line == "PING":
			if _, err := io.WriteString(c, "PONG\r\n"); err != nil {
				return err
			}
		case strings.HasPrefix(line, "-ERR"):
			return fmt.Errorf("the bus answers %.200q", line)
		case strings.HasPrefix(line, "MSG "):
			return c.accepted(line)
		}
	}
}

// largestAnswer bounds an answer of the platform, in bytes.
const largestAnswer = 1 << 20

// accepted reads the answer behind the line of its message.
func (c *busConn) accepted(line string) error {
	size, err := strconv.Atoi(line[strings.LastIndexByte(line, ' ')+1:])
	if err != nil || size < 0 || size > largestAnswer {
		return fmt.Errorf("line %.200q", line)
	}
	body := make([]byte, size+len("\r\n"))
	if _, err := io.ReadFull(c.in, body); err != nil {
		return err
	}
	var answer struct {
		Accepted int
		Error    string
	}
	if err := json.Unmarshal(body, &answer); err != nil || answer.Error != "" || answer.Accepted != 1 {
		return fmt.Errorf("answer %.200q", body)
	}
	return nil
}
