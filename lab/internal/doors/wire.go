package doors

import (
	"context"

	"paddock/internal/platform/position"
	"paddock/internal/platform/wireapi"
	"paddock/wire"
)

// Wire sends positions in the fixed layout, as acknowledged posts.
func (s *Sender) Wire(ctx context.Context, address string, fleets []*Fleet, l Load) (Window, error) {
	return s.feed(ctx, func(ctx context.Context, _ int) (connection, error) {
		conn, err := wire.Dial(ctx, "tcp", address, &wire.Config{Agent: s.Agent})
		return &wireConn{Conn: conn}, err
	}, s.Window, fleets, l)
}

// wireConn is a connection over wire.
type wireConn struct {
	*wire.Conn
	bodies [][]byte
	buffer []byte
}

func (c *wireConn) encode(positions []position.Position) (err error) {
	c.bodies, c.buffer = c.bodies[:0], c.buffer[:0]
	for i := range positions {
		from := len(c.buffer)
		if c.buffer, err = position.Append(c.buffer, &positions[i]); err != nil {
			return err
		}
		c.bodies = append(c.bodies, c.buffer[from:])
	}
	return nil
}

// post sends the encoded positions in as few frames as can be.
func (c *wireConn) post(ctx context.Context) (last uint64, err error) {
	defer c.Cork()()
	for _, body := range c.bodies {
		if last, err = c.PostAck(ctx, wireapi.KindUpdate, body); err != nil {
			break
		}
	}
	return last, err
}

func (c *wireConn) await(ctx context.Context, b batch) error { return c.WaitAcked(ctx, b.last) }
