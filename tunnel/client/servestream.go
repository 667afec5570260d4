package client

import (
	"context"
	"errors"
	"io"
	"strconv"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// serveStream is the handler of exchanges that are streams.
func (c *Client) serveStream(ctx context.Context, st *wire.Stream) error {
	first, err := st.ReadMsgUpTo(nil, relay.MaxOpening)
	if err != nil {
		return message.Refused(wire.InvalidArgument, "no opening")
	}
	v := &visit{st: st}
	rest, err := v.begin(ctx, c, first)
	if err != nil {
		return err
	}
	defer v.leave()
	more := v.req.Chunked || v.req.Length > rest
	if v.req.Length >= 0 && v.req.Length < rest || v.req.Chunked && rest > 0 || v.req.Length < 0 && !v.req.Chunked && rest > 0 {
		return message.Refused(wire.InvalidArgument, "more body than the head says")
	}
	v.replay = !more
	if v.tryH2() {
		if err := v.serveH2(v.h2Body(st, rest)); !errors.Is(err, errPlain) {
			return err
		}
	}
	if more {
		return v.converse(st, rest)
	}
	return v.serve(v.target.pool.get(v), 0)
}

// converse is an exchange whose body goes up while the answer comes down: whichever ends
// first, the other goes on.
func (v *visit) converse(st *wire.Stream, sent int64) error {
	b, err := v.target.fresh(v.ctx) // the body cannot be sent twice
	if err != nil {
		return v.failed(false, err)
	}
	v.b = b
	v.stop = context.AfterFunc(v.ctx, b.leaver())
	if _, err := b.conn.Write(v.whole); err != nil {
		v.release(false)
		return v.failure(err)
	}
	up := make(chan error, 1)
	go func() { up <- v.sendUp(st, sent) }()
	_, err = v.readHead()
	if err == nil {
		err = v.stream(st)
	} else {
		err = v.failure(err)
	}
	var upErr error
	select {
	case upErr = <-up:
	default: // the target has answered without the rest, which goes nowhere
		_ = st.SetReadDeadline(relay.LongAgo)
		b.abort()
		upErr = errors.Join(errUnread, <-up)
	}
	v.release(err == nil && upErr == nil)
	return err
}

// errUnread reports that a request was not sent completely.
var errUnread = errors.New("tunnel: the target has not taken the whole request")

// sendUp sends the body to the target as it arrives, with the framing of the head.
func (v *visit) sendUp(st *wire.Stream, sent int64) (err error) {
	defer func() {
		if err != nil && !errors.Is(err, errTargetWrite) {
			v.b.abort() // a body that was cut must not look whole
		}
	}()
	msg := relay.Frames.Get().(*[]byte)
	defer relay.Frames.Put(msg)
	var trailers h1.Head
	for ended := false; ; {
		*msg, err = relay.ReadRecord(st, (*msg)[:0])
		switch {
		case errors.Is(err, io.EOF):
			if v.req.Length >= 0 && sent != v.req.Length {
				return message.Malformed("%d bytes, the head says %d", sent, v.req.Length)
			}
			if v.req.Chunked {
				return v.write(h1.AppendTrailers([]byte("0\r\n"), &trailers))
			}
			return nil
		case err != nil:
			return err
		case len(*msg) == 0 || ended:
			return message.Malformed("an empty record, or one behind the trailers")
		}
		switch (*msg)[0] {
		case message.RecordBody:
			if sent += int64(len(*msg) - 1); v.req.Length >= 0 && sent > v.req.Length {
				return message.Malformed("more body than the head says")
			}
			if err := v.writeBody((*msg)[1:]); err != nil {
				return err
			}
		case message.RecordTrailers:
			if err := trailers.Parse(append([]byte(nil), (*msg)[1:]...), h1.LinkTrailers); err != nil {
				return err
			}
			ended = true
		default:
			return message.Malformed("record %d of a visitor", (*msg)[0])
		}
	}
}

// errTargetWrite wraps the error of a write to the target, which may have answered already: its
// answer is read all the same.
var errTargetWrite = errors.New("tunnel: the target takes no more")

func (v *visit) write(b []byte) error {
	if _, err := v.b.conn.Write(b); err != nil {
		return errors.Join(errTargetWrite, err)
	}
	v.b.expectAnew(v.target.HeadTimeout)
	return nil
}

// writeBody sends a piece of the body, as a chunk where its length is not known.
func (v *visit) writeBody(p []byte) error {
	if !v.req.Chunked {
		return v.write(p)
	}
	if len(p) == 0 {
		return nil // it would be the last chunk
	}
	b := relay.Records.Get().(*relay.Record)
	defer relay.Records.Put(b)
	out := strconv.AppendUint(b[:0], uint64(len(p)), 16)
	out = append(append(append(out, "\r\n"...), p...), "\r\n"...)
	return v.write(out)
}

// stream sends heads and body as records, beginning with the head that was read.
func (v *visit) stream(st *wire.Stream) error {
	toHead := v.flags&message.FlagHead != 0
	for v.resp.Status < 200 && v.resp.Status != 101 {
		if err := st.WriteMsg(h1.AppendAnswerHead([]byte{message.RecordInterim}, &v.resp, toHead, -1)); err != nil {
			return err
		}
		if _, err := v.readHead(); err != nil {
			return v.failure(err)
		}
	}
	if v.resp.Status == 101 {
		return v.switchProtocols(st)
	}
	v.b.noteKeepAlive(&v.resp)
	v.body = v.b.bodyOf(&v.resp, toHead)
	if err := st.WriteMsg(h1.AppendAnswerHead([]byte{message.RecordHead}, &v.resp, toHead, -1)); err != nil {
		return err
	}
	return v.sendBody(st)
}

// switchProtocols relays bytes both ways after the target's 101; bytes that came with it go first.
func (v *visit) switchProtocols(st *wire.Stream) error {
	if v.flags&message.FlagUpgrade == 0 || v.resp.Upgrade == nil {
		return &wire.Error{Code: wire.Internal, Msg: "the target has changed the protocol without a request for it"}
	}
	if err := st.WriteMsg(h1.AppendAnswerHead([]byte{message.RecordHead}, &v.resp, false, -1)); err != nil {
		return err
	}
	if stop := v.stop; stop != nil && !stop() { // the relay ends the target's connection
		return context.Canceled
	}
	glued := append([]byte(nil), v.b.unread()...)
	v.b.free()
	err := relay.Splice(v.b.conn, glued, &relay.RecordStream{Stream: st}, v.c.linger)
	if err != nil {
		return &wire.Error{Code: wire.Cancelled, Msg: "the connection was cut"}
	}
	return nil
}

// serveRaw is the handler of a raw connection. Bytes that arrive while the target is being dialed
// wait within the stream's window.
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
