package client

import (
	"context"
	"errors"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// serveRaw is the handler of a raw connection. What comes while the target is being
// dialed waits within the stream's window.
func (c *Client) serveRaw(ctx context.Context, st *wire.Stream) error {
	first, err := st.ReadMsgUpTo(nil, relay.MaxOpening)
	if err != nil {
		return message.Refused(wire.InvalidArgument, "no opening")
	}
	open, err := message.ParseChannel(first)
	if err != nil {
		return message.Refused(wire.InvalidArgument, "%v", err)
	}
	b, err := c.enter(open.Tunnel, message.ExchangeBytes, tunnel.TCP, tunnel.SNI)
	if err != nil {
		return err
	}
	defer c.leave(b, message.ExchangeBytes)
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
	err = relay.Splice(conn, nil, &relay.RawStream{Stream: st}, c.linger)
	if err != nil && !errors.Is(err, relay.ErrCut) {
		return err
	}
	return nil
}
