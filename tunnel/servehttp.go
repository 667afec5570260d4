package tunnel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"paddock/wire"
)

// visit is one exchange at the client: a visitor's request on its way to the target.
type visit struct {
	c      *Client
	ctx    context.Context
	target *target
	size   int // counted of the budget
	flags  flags
	req    head
	resp   head
	whole  []byte // what to send first: the head, and as much of the body as came with it
	b      *backend
	body   body
	out    []byte      // an answer that is being made
	stop   func() bool // the end of the visit closes b no more
}

// newVisit judges an opening and finds its target, which is left by leave.
func (c *Client) newVisit(ctx context.Context, msg []byte) (*visit, error) {
	o, err := parseOpening(msg)
	if err != nil {
		return nil, refused(wire.InvalidArgument, "%v", err)
	}
	v := &visit{c: c, ctx: ctx, flags: o.flags}
	if err := v.req.parse(o.head, requestForm); err != nil {
		return nil, refused(wire.InvalidArgument, "%v", err)
	}
	if (v.req.upgrade != nil) != (o.flags&flagUpgrade != 0) || (string(v.req.method) == "HEAD") != (o.flags&flagHead != 0) {
		return nil, refused(wire.InvalidArgument, "head and flags do not agree")
	}
	v.size = exchangeBytes + len(msg)
	if v.target, err = c.enter(o.tunnel, v.size, HTTP); err != nil {
		return nil, err
	}
	if v.target.direct() { // head and rest lie side by side
		v.whole = msg[len(msg)-len(o.head)-len(o.rest):]
		return v, nil
	}
	if v.whole, err = v.target.rewrite(make([]byte, 0, len(o.head)+len(o.rest)+256), &v.req); err != nil {
		v.leave()
		return nil, err
	}
	v.whole = append(v.whole, o.rest...)
	return v, nil
}

// leave ends what newVisit has counted.
func (v *visit) leave() { v.c.leave(v.target, v.size) }

// size is how many bytes of the body came along.
func (o *opening) size() int64 { return int64(len(o.rest)) }

// serveRequest is the handler of small exchanges.
func (c *Client) serveRequest(ctx context.Context, r *wire.Request) error {
	o, err := parseOpening(r.Body)
	if err != nil {
		return refused(wire.InvalidArgument, "%v", err)
	}
	v, err := c.newVisit(ctx, r.Body)
	if err != nil {
		return err
	}
	defer v.leave()
	if v.req.chunked || v.req.upgrade != nil || max(v.req.length, 0) != o.size() {
		return refused(wire.InvalidArgument, "the body is not all there")
	}
	if err := v.ask(true); err != nil {
		return err
	}
	defer v.release(true)
	return v.answer(r)
}

// ask sends what is there of the request and waits for the first head: on an idle
// connection if there is one, and once more on a fresh one if that had ended and it does
// no harm (SPEC: idempotent, or nothing was written). replay says that whole is all
// there is to send.
func (v *visit) ask(replay bool) error {
	for fresh := false; ; fresh = true {
		b, err := v.target.backend(v.ctx, fresh)
		if err != nil {
			return err
		}
		v.b = b
		stop := context.AfterFunc(v.ctx, b.abort)
		n, err := b.conn.Write(v.whole)
		begun := false
		if err == nil {
			begun, err = v.readHead()
		}
		stop()
		if err == nil {
			return nil
		}
		b.close()
		v.b = nil
		harmless := n == 0 || v.flags&flagIdempotent != 0 && !begun
		if !b.reused || !replay || !harmless || v.ctx.Err() != nil || errors.Is(err, os.ErrDeadlineExceeded) {
			return v.failure(err)
		}
		v.c.counts.retries.Add(1)
	}
}

// abort ends what goes on: the visitor has left. The target is to see that at once.
func (b *backend) abort() { _ = b.conn.Close() }

// readHead reads the next head of the answer, of 1xx too.
func (v *visit) readHead() (begun bool, err error) {
	if v.target.HeadTimeout > 0 {
		_ = v.b.conn.SetReadDeadline(time.Now().Add(v.target.HeadTimeout))
	}
	begun, err = v.b.readHead(&v.resp, targetForm)
	if v.target.HeadTimeout > 0 {
		_ = v.b.conn.SetReadDeadline(time.Time{})
	}
	return begun, err
}

// failure is what the server is told where a target has failed before its head.
func (v *visit) failure(err error) error {
	var timeout net.Error
	switch {
	case v.ctx.Err() != nil:
		return context.Canceled
	case errors.Is(err, errHead):
		return &wire.Error{Code: wire.Internal, Msg: err.Error()}
	case errors.As(err, &timeout) && timeout.Timeout():
		return &wire.Error{Code: wire.DeadlineExceeded, Msg: "the target has not answered in time"}
	}
	return &wire.Error{Code: wire.Unavailable, Msg: "the target has ended the connection before its answer"}
}

// release gives the connection back if it is certain where its next answer begins, else
// closes it. sent says that the whole request was.
func (v *visit) release(sent bool) {
	b := v.b
	if b == nil {
		return
	}
	v.b = nil
	if sent && v.body.over && v.body.kind != byClose && !v.resp.closes && !v.resp.old &&
		v.resp.status >= 200 && len(b.unread()) == 0 && v.ctx.Err() == nil && b.keep > 0 {
		v.target.pool.put(b)
		return
	}
	b.close()
}

// answer brings the answer to a small exchange: in one piece if it is short and known to
// be, else promoted.
func (v *visit) answer(r *wire.Request) error {
	stop := context.AfterFunc(v.ctx, v.b.abort)
	defer stop()
	if v.resp.status < 200 {
		st, err := r.Promote(appendAnswer(nil, nil, nil))
		if err != nil {
			return err
		}
		return v.stream(st)
	}
	toHead := v.flags&flagHead != 0
	v.b.noteKeepAlive(&v.resp)
	v.body = v.b.bodyOf(&v.resp, toHead)
	out := frames.Get().(*[]byte)
	defer func() { *out = v.out[:0]; frames.Put(out) }()
	v.out = (*out)[:0]
	small := v.c.config.SmallMax
	if small == 0 {
		small = maxSmall
	}
	if v.body.over || v.body.kind == byLength && v.resp.length < int64(small-minSmall) {
		return v.answerWhole(r, toHead, small)
	}
	return v.answerLong(r, toHead)
}

// answerWhole is for a body that is short.
func (v *visit) answerWhole(r *wire.Request, toHead bool, small int) error {
	text := appendAnswerHead(nil, &v.resp, toHead, 0)
	v.out = appendAnswer(v.out, text, nil)
	if len(v.out)+int(max(v.resp.length, 0)) > small && !v.body.over {
		return v.promote(r)
	}
	for {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			return r.Respond(v.out)
		}
		if err != nil {
			return v.failure(err)
		}
		v.out = append(v.out, piece...)
	}
}

// answerLong is for a body that is long, or may be: what has come of it goes along with
// the head. One that has come whole after all is answered whole.
func (v *visit) answerLong(r *wire.Request, toHead bool) error {
	v.body.stay = true
	first := records.Get().(*[1 + maxRecord]byte)
	defer records.Put(first)
	text := appendAnswerHead(nil, &v.resp, toHead, -1)
	n, whole := 0, false
	for n < maxRecord/2 {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			whole = v.body.kind == byChunks && string(v.b.unread()) == "\r\n"
			break
		}
		if errors.Is(err, errWait) {
			break
		}
		if err != nil {
			return v.failure(err)
		}
		took := copy(first[n:], piece)
		n += took
		if took < len(piece) { // the rest is read again
			v.b.r -= len(piece) - took
			v.body.left += int64(len(piece) - took)
			v.body.over = false
			break
		}
	}
	v.body.stay = false
	if whole {
		v.b.r += len("\r\n")
		v.out = appendAnswer(v.out, appendAnswerHead(text[:0], &v.resp, toHead, int64(n)), first[:n])
		return r.Respond(v.out)
	}
	v.out = appendAnswer(v.out, text, first[:n])
	return v.promote(r)
}

// promote answers with what has been made, and goes on as a stream.
func (v *visit) promote(r *wire.Request) error {
	st, err := r.Promote(v.out)
	if err != nil {
		return err
	}
	return v.sendBody(st)
}

// sendBody sends the rest of the body in records, and the trailers.
func (v *visit) sendBody(st *wire.Stream) error {
	for {
		piece, err := v.body.next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return v.failure(err)
		}
		at := v.b.r - len(piece)
		record := v.b.buf[at-1 : v.b.r]
		record[0] = recordBody
		if err := st.WriteMsg(record); err != nil {
			return fmt.Errorf("tunnel: %w", err)
		}
	}
	if v.body.kind != byChunks {
		return nil
	}
	var t head
	if _, err := v.b.readHead(&t, endForm); err != nil {
		return v.failure(err)
	}
	if text := appendTrailers([]byte{recordTrailers}, &t); len(text) > len("x\r\n") {
		return st.WriteMsg(text)
	}
	return nil
}
