package tunnel

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"paddock/wire"
)

// answerReader brings the answer of a stream to the visitor: records as SPEC section 5
// has them, each written when it has come, and flushed when nothing more has.
type answerReader struct {
	x        *exchange
	st       *wire.Stream
	begun    bool   // the final head has been written
	switched bool   // the visitor's connection is his and the target's now
	late     []byte // trailers
	lateHead head
	got      int64
	pace     *pace // nil: the head is all that tells
}

// receive reads records until the end. err, if not nil, is why nothing is to be read.
func (a *answerReader) receive(err error) error {
	for err == nil && !a.switched {
		// A head without a body goes out with its end: over HTTP/2 they are one frame, and
		// gRPC tells a status from its absence by that.
		if a.begun && a.x.head.length != 0 && !a.st.Readable() {
			if err = a.x.t.flush(); err != nil {
				return err
			}
			a.pace.awaits()
		}
		a.x.buf, err = a.st.ReadMsg(a.x.buf[:0])
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
		return malformed("no head")
	case h.length >= 0 && !a.allCame():
		return malformed("%d bytes, the head says %d", a.got, h.length)
	}
	return nil
}

// allCame says whether as much of the body has come as the head says, if it does.
func (a *answerReader) allCame() bool {
	h := &a.x.head
	return h.bodiless(a.x.flags&flagHead != 0) || h.length == a.got
}

// record deals with one.
func (a *answerReader) record(msg []byte) error {
	if len(msg) == 0 || a.late != nil {
		return malformed("an empty record, or one behind the trailers")
	}
	switch kind, rest := msg[0], msg[1:]; {
	case kind == recordInterim && !a.begun:
		return a.interim(rest)
	case kind == recordHead && !a.begun:
		return a.finalHead(rest)
	case kind == recordBody && a.begun:
		return a.body(rest)
	case kind == recordTrailers && a.begun:
		return a.trailers(rest)
	}
	return malformed("record %d", msg[0])
}

// interim passes 1xx on. 100 is for who has asked for it.
func (a *answerReader) interim(text []byte) error {
	x := a.x
	if err := x.head.parse(text, answerForm); err != nil {
		return err
	}
	status := x.head.status
	switch {
	case status >= 200 || status == http.StatusSwitchingProtocols:
		return malformed("interim status %d", status)
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
	if err := x.head.parse(text, answerForm); err != nil {
		return err
	}
	if x.head.status == http.StatusSwitchingProtocols {
		if x.upgrade == "" {
			return malformed("status 101, and nobody asked")
		}
		a.switched = true
		return x.switchProtocols(a.st, text)
	}
	if x.head.status < 200 {
		return malformed("final status %d", x.head.status)
	}
	a.begun = true
	if failed := tooMuch(x.head.status); a.pace == nil {
		x.permit.Answered(failed)
	} else {
		a.pace.begin(x.permit, failed, x.head.length >= 0)
	}
	return x.begin(text, nil, false)
}

func (a *answerReader) body(b []byte) error {
	h := &a.x.head
	if a.got += int64(len(b)); h.bodiless(a.x.flags&flagHead != 0) || h.length >= 0 && a.got > h.length {
		return malformed("more body than the head says")
	}
	a.pace.came(len(b))
	return a.x.t.write(b)
}

func (a *answerReader) trailers(text []byte) error {
	a.late = bytes.Clone(text)
	return a.lateHead.parse(a.late, trailersForm)
}

// finish ends the exchange as it went: what has begun and is not whole must not look
// whole to the visitor.
func (a *answerReader) finish(err error) {
	x := a.x
	if err == nil {
		var late *head
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
		x.served(a.got) // he has left, but not before he had the whole answer
		x.t.abort()
		return
	}
	if reason == Gone {
		x.s.cancelled.Add(1)
	}
	x.claim.refused.Add(1)
	x.s.refused(Refusal{
		Reason: reason, Tunnel: x.claim.where, Identity: x.claim.identity,
		Peer: x.r.peer.String(), Host: string(x.r.host), Err: fmt.Errorf("behind the head: %w", err),
	})
	x.t.abort()
}

// begin passes the final head on, and what is there of the body.
func (x *exchange) begin(text, rest []byte, whole bool) error {
	x.up.answer()
	if x.up.running() {
		x.t.last() // what is left of the body is not waited for
	}
	return x.t.begin(text, &x.head, rest, whole)
}
