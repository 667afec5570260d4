package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"paddock/internal/netio/h1"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// answerReader forwards the answer of a stream to the visitor: records as in SPEC section 5, each
// written when it has arrived, and flushed when no more are buffered.
type answerReader struct {
	x        *exchange
	st       *wire.Stream
	begun    bool   // the final head has been written
	switched bool   // the connection belongs to the visitor's and the target's protocol now
	late     []byte // trailers
	lateHead h1.Head
	got      int64
	pace     *pace // nil: the head alone is measured
}

// receive reads records until the end. err, if not nil, is why nothing is to be read.
func (a *answerReader) receive(err error) error {
	for err == nil && !a.switched {
		// A head without a body is written together with its end: over HTTP/2 they are one frame,
		// by which gRPC recognizes an answer that is a status alone.
		if a.begun && a.x.head.Length != 0 && !a.st.Readable() {
			if err = a.x.t.flush(); err != nil {
				return err
			}
			a.pace.awaits()
		}
		a.x.buf, err = relay.ReadRecord(a.st, a.x.buf[:0])
		if errors.Is(err, io.EOF) {
			return a.whole()
		}
		if err == nil {
			err = a.record(a.x.buf)
		}
	}
	return err
}

// whole checks at the end that there was an answer, and all of it.
func (a *answerReader) whole() error {
	h := &a.x.head
	switch {
	case !a.begun:
		return message.Malformed("no head")
	case h.Length >= 0 && !a.allCame():
		return message.Malformed("%d bytes, the head says %d", a.got, h.Length)
	}
	return nil
}

// allCame reports whether the body has the length that the head announces, if any.
func (a *answerReader) allCame() bool {
	h := &a.x.head
	return h.Bodiless(a.x.flags&message.FlagHead != 0) || h.Length == a.got
}

// record deals with one.
func (a *answerReader) record(msg []byte) error {
	if len(msg) == 0 || a.late != nil {
		return message.Malformed("an empty record, or one behind the trailers")
	}
	switch kind, rest := msg[0], msg[1:]; {
	case kind == message.RecordInterim && !a.begun:
		return a.interim(rest)
	case kind == message.RecordHead && !a.begun:
		return a.finalHead(rest)
	case kind == message.RecordBody && a.begun:
		return a.body(rest)
	case kind == message.RecordTrailers && a.begun:
		return a.trailers(rest)
	}
	return message.Malformed("record %d", msg[0])
}

// interim passes a 1xx on, and 100 only to a visitor that expects it.
func (a *answerReader) interim(text []byte) error {
	x := a.x
	if err := x.head.Parse(text, h1.LinkAnswer); err != nil {
		return err
	}
	status := x.head.Status
	switch {
	case status >= 200 || status == http.StatusSwitchingProtocols:
		return message.Malformed("interim status %d", status)
	case status == http.StatusContinue:
		if x.proceed != nil {
			close(x.proceed)
			x.proceed = nil
		}
		return nil
	}
	return x.t.interim(text, &x.head)
}

// finalHead passes the head on.
func (a *answerReader) finalHead(text []byte) error {
	x := a.x
	if err := x.head.Parse(text, h1.LinkAnswer); err != nil {
		return err
	}
	if x.head.Status == http.StatusSwitchingProtocols {
		if x.upgrade == "" {
			return message.Malformed("status 101 without a request for it")
		}
		a.switched = true
		return x.switchProtocols(a.st, text)
	}
	if x.head.Status < 200 {
		return message.Malformed("final status %d", x.head.Status)
	}
	a.begun = true
	if failed := tooMuch(x.head.Status); a.pace == nil {
		x.permit.Answered(failed)
	} else {
		a.pace.begin(x.permit, failed, x.head.Length >= 0)
	}
	return x.begin(text, nil, false)
}

func (a *answerReader) body(b []byte) error {
	h := &a.x.head
	if a.got += int64(len(b)); h.Bodiless(a.x.flags&message.FlagHead != 0) || h.Length >= 0 && a.got > h.Length {
		return message.Malformed("more body than the head says")
	}
	a.pace.came(len(b))
	return a.x.t.write(b)
}

func (a *answerReader) trailers(text []byte) error {
	a.late = bytes.Clone(text)
	return a.lateHead.Parse(a.late, h1.LinkTrailers)
}

// finish ends the exchange: an answer that has begun and is incomplete must not look complete to
// the visitor.
func (a *answerReader) finish(err error) {
	x := a.x
	if err == nil {
		var late *h1.Head
		if a.late != nil {
			late = &a.lateHead
		}
		if err = x.t.end(a.late, late); err == nil {
			x.served(a.got)
			return
		}
	}
	if !a.begun {
		x.fail(err)
		return
	}
	reason := reasonOf(x.r.ctx, err)
	if reason == Gone && a.late == nil && a.allCame() && x.t.flush() == nil {
		x.served(a.got) // the visitor has left with an incomplete answer
		x.t.abort()
		return
	}
	if reason == Gone {
		x.s.cancelled.Add(1)
	}
	x.endpoint.refused.Add(1)
	x.s.refused(Refusal{
		Reason: reason, Tunnel: x.lease.where, Identity: x.lease.identity,
		Peer: x.r.peer.String(), Host: string(x.r.Host), Err: fmt.Errorf("behind the head: %w", err),
	})
	x.t.abort()
}

// begin passes on the final head, and the part of the body that came with it.
func (x *exchange) begin(text, rest []byte, whole bool) error {
	x.up.answer()
	if x.up.running() {
		x.t.last() // the rest of the body is not waited for
	}
	return x.t.begin(text, &x.head, rest, whole)
}

// switchProtocols gives the visitor's connection to the target: from here on bytes go
// both ways and mean nothing to us. text is the checked head with status 101.
func (x *exchange) switchProtocols(st *wire.Stream, text []byte) error {
	conn, first, err := x.t.hijack()
	if err != nil {
		_ = st.Reset(wire.Internal)
		return fmt.Errorf("tunnel: upgrade: %w", err)
	}
	x.stop() // from now on a FIN is the end of one half
	x.s.served.Add(1)
	told, over := x.told(), new(relay.Transfer)
	if _, err = conn.Write(text); err == nil {
		stop := context.AfterFunc(x.s.ctx, func() { _ = st.Reset(wire.Unavailable) })
		defer stop()
		err = relay.SpliceCounted(conn, first, &relay.RecordStream{Stream: st}, x.s.limits.Linger, over)
	} else {
		_ = st.Reset(wire.Cancelled)
		over.Cut(tunnel.CutByVisitor)
	}
	_ = conn.Close()
	if told != nil {
		told.Received, told.Sent, told.Took, told.End = over.Received.Load(), over.Sent.Load(), time.Since(x.began), x.s.endOf(over, st)
		x.s.Hooks.Served(*told)
	}
	if err != nil && !errors.Is(err, relay.ErrCut) {
		x.s.log.Debug("tunnel: upgraded connection", "tunnel", x.lease.where, "error", err)
	}
	return nil
}
