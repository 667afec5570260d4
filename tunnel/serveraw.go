package tunnel

import (
	"context"
	"errors"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// serveRaw is the handler of a raw connection. What comes while the target is being
// dialed waits within the stream's window.
func (c *Client) serveRaw(ctx context.Context, st *wire.Stream) error {
	first, err := st.ReadMsgUpTo(nil, maxOpening)
	if err != nil {
		return refused(wire.InvalidArgument, "no opening")
	}
	open, err := message.ParseChannel(first)
	if err != nil {
		return refused(wire.InvalidArgument, "%v", err)
	}
	b, err := c.enter(open.Tunnel, exchangeBytes, TCP, SNI)
	if err != nil {
		return err
	}
	defer c.leave(b, exchangeBytes)
	if b.listener != nil {
		return b.listener.serveRaw(ctx, st, &open)
	}
	if open.Ticket != nil {
		return c.serveDirect(ctx, st, b, &open)
	}
	conn, err := c.dialRaw(ctx, b)
	if err != nil {
		return err
	}
	defer conn.Close()
	if head := b.preamble(&open); len(head) > 0 {
		if _, err := conn.Write(head); err != nil {
			return &wire.Error{Code: wire.Unavailable, Msg: "the target has gone"}
		}
	}
	err = splice(conn, nil, &rawStream{st}, c.linger)
	if err != nil && !errors.Is(err, errCut) {
		return err
	}
	return nil
}
