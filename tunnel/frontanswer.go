package tunnel

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/textproto"
	"strings"

	"paddock/wire"
)

// answerReader brings the answer of a stream to the visitor: records as SPEC section 5
// has them, each written when it has come, and flushed when nothing more has.
type answerReader struct {
	x        *exchange
	st       *wire.Stream
	begun    bool // the final head has been written
	switched bool // the visitor's connection is his and the target's now
	ended    bool // trailers have come
	got      int64
}

// receive reads records until the end. err, if not nil, is why nothing is to be read.
func (a *answerReader) receive(err error) error {
	for err == nil && !a.switched {
		if a.begun && !a.st.Readable() {
			if err = a.x.control.Flush(); err != nil {
				return err
			}
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
	case h.length >= 0 && a.got != h.length && !h.bodiless(a.x.flags&flagHead != 0):
		return malformed("%d bytes, the head says %d", a.got, h.length)
	}
	return nil
}

// record deals with one.
func (a *answerReader) record(msg []byte) error {
	if len(msg) == 0 || a.ended {
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
	header := x.w.Header()
	x.setFields(header)
	x.w.WriteHeader(status)
	clear(header)
	return nil
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
	x.permit.Answered(tooMuch(x.head.status))
	x.writeHead()
	return nil
}

func (a *answerReader) body(b []byte) error {
	h := &a.x.head
	if a.got += int64(len(b)); h.bodiless(a.x.flags&flagHead != 0) || h.length >= 0 && a.got > h.length {
		return malformed("more body than the head says")
	}
	_, err := a.x.w.Write(b)
	return err
}

func (a *answerReader) trailers(text []byte) error {
	var t head
	if err := t.parse(text, trailersForm); err != nil {
		return err
	}
	a.ended = true
	header := a.x.w.Header()
	for i := range t.fields {
		header.Add(http.TrailerPrefix+string(t.fields[i].name), string(t.fields[i].value))
	}
	return nil
}

// finish ends the exchange as it went: what has begun and is not whole must not look
// whole to the visitor.
func (a *answerReader) finish(err error) {
	x := a.x
	if err == nil {
		x.s.served.Add(1)
		return
	}
	if !a.begun {
		x.fail(err)
		return
	}
	reason := reasonOf(x.r.Context(), err)
	if reason == Gone {
		x.s.cancelled.Add(1)
	}
	x.s.refused(Refusal{
		Reason: reason, Tunnel: x.claim.where, Identity: x.claim.identity,
		Peer: x.r.RemoteAddr, Host: x.r.Host, Err: fmt.Errorf("behind the head: %w", err),
	})
	panic(http.ErrAbortHandler)
}

// writeHead passes the final head to net/http.
func (x *exchange) writeHead() {
	header := x.w.Header()
	x.setFields(header)
	if x.up.running() && x.r.ProtoMajor == 1 {
		header.Set("Connection", "close") // what is left of the body is not waited for
	}
	if _, typed := header["Content-Type"]; !typed {
		header["Content-Type"] = nil // what the target has not said is not guessed
	}
	x.w.WriteHeader(x.head.status)
}

// setFields copies the fields of the head: its text once, and the values share a slice.
func (x *exchange) setFields(header http.Header) {
	var all strings.Builder
	size := 0
	for i := range x.head.fields {
		size += len(x.head.fields[i].name) + len(x.head.fields[i].value)
	}
	all.Grow(size)
	for i := range x.head.fields {
		all.Write(x.head.fields[i].name)
		all.Write(x.head.fields[i].value)
	}
	text, values := all.String(), make([]string, 0, len(x.head.fields))
	for i := range x.head.fields {
		f := &x.head.fields[i]
		name := text[:len(f.name)]
		value := text[len(f.name) : len(f.name)+len(f.value)]
		text = text[len(f.name)+len(f.value):]
		if f.known == fieldTransferEncoding {
			continue // net/http frames for its own connection
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if before := header[name]; before != nil {
			header[name] = append(before, value)
			continue
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
}
