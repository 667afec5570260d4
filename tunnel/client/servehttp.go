package client

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"sync"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// visit is one exchange at the client: a visitor's request on its way to the target. Its
// fields are used by one goroutine at a time; it is handed on with its connection.
type visit struct {
	c       *Client
	ctx     context.Context
	target  *target
	size    int // counted of the budget
	flags   message.Flags
	req     h1.Head
	resp    h1.Head
	whole   []byte // sent first: the head, and the part of the body that came with it
	replay  bool   // that is all there is to send
	awaited bool   // the wait for the head is bounded already
	b       *backend
	body    body
	out     []byte      // an answer that is being made
	stop    func() bool // the visitor's leaving ends the connection no more

	r    *wire.Request // of a small exchange, whose answer it takes
	st   *wire.Stream  // of any other
	done chan error    // takes the end; nil: the visit ends r

	spare, text []byte // memory of whole, and of an answer's head
}

// visits holds visits of small exchanges for reuse, with their buffers.
var visits = sync.Pool{New: func() any { return new(visit) }}

func (v *visit) recycle() {
	*v = visit{req: h1.Head{Fields: v.req.Fields[:0]}, resp: h1.Head{Fields: v.resp.Fields[:0]}, spare: v.spare[:0], text: v.text[:0]}
	visits.Put(v)
}

// begin checks an opening and finds its target, which leave releases. rest is the number of body
// bytes that came with it.
func (v *visit) begin(ctx context.Context, c *Client, msg []byte) (rest int64, err error) {
	o, err := message.ParseOpening(msg)
	if err != nil {
		return 0, message.Refused(wire.InvalidArgument, "%v", err)
	}
	v.c, v.ctx, v.flags = c, ctx, o.Flags
	if err := v.req.Parse(o.Head, h1.LinkRequest); err != nil {
		return 0, message.Refused(wire.InvalidArgument, "%v", err)
	}
	if (v.req.Upgrade != nil) != (o.Flags&message.FlagUpgrade != 0) || (string(v.req.Method) == "HEAD") != (o.Flags&message.FlagHead != 0) {
		return 0, message.Refused(wire.InvalidArgument, "head and flags do not agree")
	}
	v.size = message.ExchangeBytes + len(msg)
	if v.target, err = c.enter(o.Tunnel, v.size, tunnel.HTTP); err != nil {
		return 0, err
	}
	if v.target.direct() { // head and rest lie side by side
		v.whole = msg[len(msg)-len(o.Head)-len(o.Rest):]
		return int64(len(o.Rest)), nil
	}
	if v.spare, err = v.target.rewrite(v.spare[:0], &v.req); err != nil {
		v.leave()
		return 0, err
	}
	v.spare = append(v.spare, o.Rest...)
	v.whole = v.spare
	return int64(len(o.Rest)), nil
}

// leave undoes the accounting of begin.
func (v *visit) leave() { v.c.leave(v.target, v.size) }

// maxAtOnce bounds the requests that the link's reader writes to a target itself: a
// socket that waits for work has room for them.
const maxAtOnce = 4 << 10

// serveRequest is the handler of small exchanges. It begins on the link's reader: if an idle
// connection is available, the request is written at once, and the connection's own goroutine, the
// only one that is woken, sends the answer.
//
// hot: BenchmarkExchange, TestSmallExchangeAllocates.
func (c *Client) serveRequest(ctx context.Context, r *wire.Request) error {
	v := visits.Get().(*visit)
	rest, err := v.begin(ctx, c, r.Body)
	if err != nil {
		v.recycle()
		return err
	}
	if r.Stream() != nil || v.req.Chunked || v.req.Upgrade != nil || max(v.req.Length, 0) != rest {
		v.leave()
		v.recycle()
		return message.Refused(wire.InvalidArgument, "the body is not all there")
	}
	v.r, v.replay = r, true
	if v.tryH2() {
		r.Go(func(context.Context, *wire.Request) error { return v.serveShared(rest) })
		return nil
	}
	b := v.target.pool.get(v)
	if b == nil || !b.watched || len(v.whole) > maxAtOnce {
		r.Go(func(context.Context, *wire.Request) error { return v.serveWaiting(b, 0) })
		return nil
	}
	v.b = b
	sent, err := b.now.TryWrite(v.whole)
	if err == nil && sent < len(v.whole) {
		r.Go(func(context.Context, *wire.Request) error { return v.serveWaiting(b, sent) })
		return nil
	}
	r.Later(b.leaver())
	b.asked(sent, err)
	return nil
}

// serveShared is a small exchange with a target of HTTP/2, on a goroutine of its own.
func (v *visit) serveShared(rest int64) error {
	err := v.serveH2(v.h2Body(nil, rest))
	if errors.Is(err, errPlain) {
		return v.serveWaiting(v.target.pool.get(v), 0)
	}
	v.leave()
	return err
}

// serveWaiting is a small exchange on a goroutine of its own.
func (v *visit) serveWaiting(b *backend, sent int) error {
	err := v.serve(b, sent)
	v.leave()
	return err
}

// serve sends the request and returns the answer, on the goroutine of a handler: over b, to which
// the visit and sent bytes of the request were given, or over a new connection.
func (v *visit) serve(b *backend, sent int) (err error) {
	if b == nil {
		return v.fresh()
	}
	if !b.watched {
		return v.over(b)
	}
	v.b, v.done = b, make(chan error, 1)
	v.stop = context.AfterFunc(v.ctx, b.leaver())
	n, err := b.conn.Write(v.whole[sent:])
	done := v.done // from here on the visit belongs to the connection
	b.asked(sent+n, err)
	return <-done
}

// fresh is serve over a new connection.
func (v *visit) fresh() error {
	b, err := v.target.fresh(v.ctx)
	if err != nil {
		return v.failed(false, err)
	}
	return v.over(b)
}

// over is serve over a connection without another reader.
func (v *visit) over(b *backend) error {
	v.b, v.awaited = b, false
	v.stop = context.AfterFunc(v.ctx, b.leaver())
	n, err := b.conn.Write(v.whole)
	return v.bring(n, err)
}

// bring waits for the first head and sends the answer to the server, after n bytes of the request
// were written. If an idle connection has ended under the request, the request is repeated once
// over a fresh connection, provided that this does no harm: no byte was written, or it is
// idempotent and no byte of an answer was read.
func (v *visit) bring(n int, err error) error {
	begun := false
	if err == nil {
		begun, err = v.readHead()
	}
	if err == nil {
		err = v.answer()
		v.release(err == nil)
		return err
	}
	harmless := n == 0 || v.flags&message.FlagIdempotent != 0 && !begun
	again := v.b.reused && v.replay && harmless && v.ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded)
	v.release(false)
	if !again {
		return v.failure(err)
	}
	v.c.counts.retries.Add(1)
	return v.fresh()
}

// end signals that the visit is over.
func (v *visit) end(err error) {
	if v.done != nil {
		v.done <- err
		return
	}
	r := v.r
	v.leave()
	v.recycle()
	r.End(err)
}

// answer sends the answer whose first head was read.
func (v *visit) answer() error {
	if v.st != nil {
		return v.stream(v.st)
	}
	return v.answerRequest(v.r)
}

// readHead reads the next head of the answer, of 1xx too.
func (v *visit) readHead() (begun bool, err error) {
	if !v.awaited {
		v.b.expect(v.target.HeadTimeout)
	}
	v.awaited = false
	begun, err = v.b.readHead(&v.resp, h1.TargetAnswer)
	if inTime := v.b.headCame(); err == nil && !inTime {
		err = os.ErrDeadlineExceeded
	}
	if err == nil && v.resp.Status == http.StatusMisdirectedRequest {
		v.misdirected()
	}
	return begun, err
}

// failure returns the error for the server when a target has failed before its head.
func (v *visit) failure(err error) error {
	var timeout net.Error
	told := &wire.Error{Code: wire.Unavailable, Msg: "the target has ended the connection before its answer"}
	switch {
	case v.ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, h1.ErrMalformed):
		told, err = &wire.Error{Code: wire.Internal, Msg: err.Error()}, nil
	case errors.As(err, &timeout) && timeout.Timeout():
		told = &wire.Error{Code: wire.DeadlineExceeded, Msg: "the target has not answered in time"}
	}
	return v.failed(true, &targetError{told, err})
}

// release returns the connection to the pool if its next answer is certain to begin cleanly,
// otherwise it closes it. clean reports that the request was written completely, and the answer
// sent.
func (v *visit) release(clean bool) {
	b := v.b
	if b == nil {
		return
	}
	v.b = nil
	if v.stop != nil {
		v.stop()
		v.stop = nil
	}
	if clean && v.body.over && v.body.kind != h1.ByClose && !v.resp.Closes && !v.resp.HTTP10 &&
		v.resp.Status >= 200 && len(b.unread()) == 0 && v.ctx.Err() == nil && b.keep > 0 {
		b.settle()
		v.target.pool.put(b)
		v.target.hint.settle()
		return
	}
	b.settle()
	b.close()
}
