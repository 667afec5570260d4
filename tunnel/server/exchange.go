package server

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"time"

	"paddock/internal/netio/h1"
	"paddock/internal/netio/hostname"
	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// exchange is one request of a visitor on its way through the front.
type exchange struct {
	s          *Server
	t          turn
	r          *request
	endpoint   *endpoint
	assignment // once it is admitted
	tries      attempts
	way        way        // how the request travels
	conn       *wire.Conn // by which, once it is chosen
	forward    h1.Forward // of its head, and of trailers
	flags      message.Flags
	upgrade    string
	id         string // of the request, where Hooks.Served is set
	began      time.Time
	buf        []byte  // of a frame; given back in the end
	room       *[]byte // of the answer to a small exchange, likewise
	head       h1.Head
	up         *upload       // of a stream
	stop       func() bool   // the visitor's leaving resets the stream no more
	proceed    chan struct{} // closed when an expecting visitor may send its body
}

// exchange carries a visitor's request, which x describes, to the tunnel of its host.
func (s *Server) exchange(x *exchange) {
	x.s, x.began = s, time.Now()
	if reason, err := x.admit(); err != nil {
		x.refuse(reason, err)
		return
	}
	buf := relay.Frames.Get().(*[]byte)
	x.buf = (*buf)[:0]
	x.carry()
	*buf = x.buf[:0]
	relay.Frames.Put(buf)
}

func (x *exchange) refuse(reason Reason, err error) {
	f := Refusal{Reason: reason, Err: err, Waited: time.Since(x.began)}
	if x.endpoint != nil {
		f.Tunnel, f.Identity = x.endpoint.where, x.client()
		x.endpoint.refused.Add(1)
	}
	x.s.refuse(x.t, f)
}

// client returns the client that serves the visitor, or would have, "" if there are several
// candidates.
func (x *exchange) client() string {
	if x.lease != nil {
		return x.lease.identity
	}
	return x.endpoint.sole()
}

// admit finds the tunnel and takes a permit.
func (x *exchange) admit() (Reason, error) {
	s, r := x.s, x.r
	if r.wrong != nil {
		return Malformed, r.wrong
	}
	host, err := hostname.Normalise(string(r.Host))
	if err != nil || !h1.ValidHost(r.Host) || string(r.Method) == http.MethodConnect {
		return Malformed, errors.Join(errors.New("host or method"), err)
	}
	path := r.Path()
	if x.endpoint = s.registry.routes.find(host, path); x.endpoint == nil {
		return NoRoute, errors.New("no tunnel")
	}
	if r.serverName != "" && r.serverName != host && !s.leadsTo(r.serverName, path, x.endpoint) {
		return Misdirected, errors.New("TLS was begun with another name")
	}
	if x.endpoint.at.Path != "" && h1.Climbs(path) {
		return Malformed, errors.New("the path climbs")
	}
	x.classify()
	// An exchange over HTTP/2 with a body does not wait for a client to reconnect: net/http would
	// receive the body meanwhile, and its buffers are not accounted for yet.
	if x.assignment, err = s.admit(r.ctx, x.endpoint, x, nil, !r.http2 || r.BodySize() == 0); err != nil {
		return reasonOf(r.ctx, err), err
	}
	return 0, nil
}

// leadsTo reports whether the server name of the TLS handshake is bound by the same clients as the
// endpoint.
func (s *Server) leadsTo(serverName, path string, p *endpoint) bool {
	name, err := hostname.Normalise(serverName)
	if err != nil {
		return false
	}
	named := s.registry.routes.find(name, path)
	return named != nil && named.sameClients(p)
}

// suits implements admissionRequest.
func (x *exchange) suits(h *owner) error {
	if h.auth != nil && !h.auth.Admits(string(x.r.Get("authorization"))) {
		return errCredentials
	}
	if x.way == undecided {
		return nil
	}
	if x.forward.StripAuth != (h.auth != nil) || x.way == asSmall && len(x.buf) > h.session.small {
		return tunnel.ErrAway // the request was prepared for other members
	}
	return nil
}

// class implements admissionRequest.
func (x *exchange) class() Class {
	if x.r.BodySize() < 0 || x.upgrade != "" || x.r.Expects {
		return Stream
	}
	return Request
}

// needs implements admissionRequest: it includes the buffer that HTTP/2 keeps of a long body.
func (x *exchange) needs(h *owner) (class Class, size int) {
	switch {
	case x.way == asSmall, x.way == undecided && x.small(h) && x.t.here(x.r.BodySize()):
		return Request, message.MaxSmall
	case x.way == undecided && x.small(h):
		return Body, message.MaxSmall
	case x.r.http2 && x.r.BodySize() != 0:
		return Stream, 2*message.MaxRecord + h2StreamBuffer
	}
	return Stream, 2 * message.MaxRecord
}

// classify decides how the request travels.
func (x *exchange) classify() {
	r := x.r
	if r.secure {
		x.flags |= message.FlagTLS
	}
	if r.Idempotent() {
		x.flags |= message.FlagIdempotent
	}
	if string(r.Method) == http.MethodHead {
		x.flags |= message.FlagHead
	}
	if !r.http2 {
		x.upgrade = r.UpgradeAsked()
	}
	if x.upgrade != "" {
		x.flags |= message.FlagUpgrade
	}
	r.Expects = r.Expects && !r.HTTP10 && r.BodySize() != 0
}

// small reports whether the request may be a small exchange with an owner, ignoring the size of
// its head.
func (x *exchange) small(h *owner) bool {
	n := x.r.BodySize()
	return n >= 0 && n < int64(h.session.small) && x.upgrade == "" && !x.r.Expects
}

// way is how a request travels.
type way uint8

const (
	undecided way = iota
	asSmall
	asStream
)

// carry sends the request and forwards the answer.
func (x *exchange) carry() {
	x.forward = h1.Forward{
		Head: &x.r.Head, Peer: x.r.peer, Secure: x.r.secure, Upgrade: x.upgrade,
		StripAuth: x.owner.auth != nil, Trusted: x.s.trusts(x.r.peer.Addr()),
	}
	text := relay.Frames.Get().(*[]byte)
	defer relay.Frames.Put(text)
	var err error
	if *text, err = x.forward.Append((*text)[:0]); err != nil || len(*text) > h1.MaxHead {
		x.permit.Release()
		x.refuse(Malformed, err)
		return
	}
	x.noteID(*text)
	x.open(*text)
	if x.small(x.owner) && len(*text)+int(x.r.BodySize()) <= x.owner.session.small {
		x.way, x.room = asSmall, text
		x.carrySmall()
		return
	}
	if err := x.permit.Promote(); err != nil {
		x.permit.Release()
		x.refuse(Overloaded, err)
		return
	}
	x.way = asStream
	x.carryStream(*text)
}

// open fills the opening message to the owner, with text as the head.
func (x *exchange) open(text []byte) {
	x.buf = message.AppendOpening(x.buf[:0], &message.Opening{Flags: x.flags, Tunnel: x.owner.id, Visitor: x.r.peer, Head: text})
}

func (s *Server) trusts(peer netip.Addr) bool { return within(s.TrustedProxies, peer) }

// carrySmall is one wire request; its body is read whole first.
func (x *exchange) carrySmall() {
	if n := int(x.r.BodySize()); n > 0 {
		at := len(x.buf)
		x.buf = append(x.buf, make([]byte, n)...)
		x.t.readUntil(time.Now().Add(x.s.limits.Head))
		if _, err := io.ReadFull(x.t, x.buf[at:]); err != nil {
			x.permit.Release()
			x.refuseBody(err)
			return
		}
		x.t.readUntil(time.Time{})
	}
	if err := x.bodyIsHere(); err != nil {
		x.permit.Release()
		x.refuse(reasonOf(x.r.ctx, err), err)
		return
	}
	answer, err := x.call()
	for err != nil {
		if err = x.again(err); err != nil {
			x.fail(err)
			return
		}
		message.SetTunnel(x.buf, x.owner.id)
		answer, err = x.call()
	}
	text, rest, err := message.ParseAnswer(answer.Head)
	if answer.Stream != nil {
		x.promoted(answer.Stream, text, rest, err)
		return
	}
	if err == nil {
		err = x.head.Parse(text, h1.LinkAnswer)
	}
	if err == nil {
		err = wholeWith(&x.head, len(rest), x.flags&message.FlagHead != 0)
	}
	if err != nil {
		x.fail(err)
		return
	}
	x.permit.Answered(tooMuch(x.head.Status))
	if x.begin(text, rest, true) == nil && x.t.end(nil, nil) == nil {
		x.served(int64(len(rest)))
		return
	}
	x.s.cancelled.Add(1)
	x.t.abort()
}

// bodyIsHere exchanges the permit of a body that was awaited for that of a request.
func (x *exchange) bodyIsHere() error {
	if x.took != Body {
		return nil
	}
	permit, err := x.permit.Begin(x.r.ctx)
	if err == nil {
		x.permit = permit
	}
	return err
}

// refuseBody answers a request whose body did not arrive. The visitor may be gone.
func (x *exchange) refuseBody(err error) {
	switch {
	case isTimeout(err):
		x.refuse(Malformed, h1.BadRequest(http.StatusRequestTimeout, "the body comes too slowly"))
	case errors.Is(err, h1.ErrMalformed):
		x.refuse(Malformed, err)
	default:
		x.refuse(Gone, err)
	}
}

// tooMuch reports whether a status means that the target is overloaded.
func tooMuch(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// again finds the next client to receive an unanswered request: another member of the group, or the
// same client over its next connection, for which it waits a moment if the client was lost. The
// request had no effect, or repeating it does no harm. If there is no such client, the error is for
// the visitor; why is the error of the last attempt.
func (x *exchange) again(why error) error {
	became := outcomeOf(x.conn, why)
	if x.r.ctx.Err() != nil || !x.tries.again(&x.assignment, became, x.flags&message.FlagIdempotent != 0) {
		return why
	}
	x.answered(reasonOf(x.r.ctx, why))
	lost := became != outcomeRefused
	if lost {
		x.s.registry.lost(x.owner.session, x.conn)
	}
	next, failed := x.s.admit(x.r.ctx, x.endpoint, x, x.tries.before(), lost)
	switch {
	case failed == nil:
	case !lost && rankOf(failed) >= rankLater:
		return failed
	default:
		return why
	}
	x.s.resent.Add(1)
	x.assignment = next
	return nil
}

// wholeWith checks that the head of an answer in one piece announces its length.
func wholeWith(h *h1.Head, n int, toHead bool) error {
	switch {
	case h.Status < 200:
		return message.Malformed("status %d in a small exchange", h.Status)
	case h.Bodiless(toHead) && n > 0:
		return message.Malformed("%d bytes where there is no body", n)
	case h.Bodiless(toHead):
		return nil
	case h.Chunked || h.Length >= 0 && h.Length != int64(n):
		return message.Malformed("%d bytes, and the head says otherwise", n)
	}
	return nil
}

// fail answers for an exchange that has no head yet.
func (x *exchange) fail(err error) {
	reason := reasonOf(x.r.ctx, err)
	if reason == Gone {
		x.s.cancelled.Add(1)
	}
	x.answered(reason)
	x.refuse(reason, err)
}

// answered reports to the permit that an overload prevented the answer.
func (x *exchange) answered(reason Reason) {
	switch reason {
	case ClientFull, TooLate, Unreachable:
		x.permit.Answered(true)
	}
}

// promoted goes on where the answer to a small exchange turned out to be long.
func (x *exchange) promoted(st *wire.Stream, text, rest []byte, err error) {
	if err == nil {
		if err = x.permit.Promote(); err != nil {
			_ = st.Reset(wire.ResourceExhausted)
			x.fail(err)
			return
		}
	}
	x.stop = x.cancelWith(st)
	defer x.stop()
	a := answerReader{x: x, st: st, pace: &pace{}}
	defer a.pace.end()
	if err == nil && len(text) > 0 {
		if err = a.finalHead(text); err == nil && len(rest) > 0 {
			err = a.body(rest)
		}
	}
	if err = a.receive(err); err != nil {
		_ = st.Reset(resetCode(err))
	} else {
		_ = st.Close()
	}
	a.finish(err)
}

// call sends a small exchange, and waits for its answer.
func (x *exchange) call() (*wire.Answer, error) {
	conn, slotFree := x.owner.session.choose(x.permit.Release)
	x.conn = conn
	answer, err := conn.CallStream(x.r.ctx, message.KindHTTP, x.buf, wire.CallOptions{SlotFree: slotFree, Into: (*x.room)[:0]})
	if err == nil {
		*x.room = answer.Head
	}
	return answer, err
}

// cancelWith resets the stream when the visitor leaves.
func (x *exchange) cancelWith(st *wire.Stream) (stop func() bool) {
	return context.AfterFunc(x.r.ctx, func() { _ = st.Reset(wire.Cancelled) })
}

// carryStream carries the exchange by a wire stream. text is the head, kept for the next attempt.
func (x *exchange) carryStream(text []byte) {
	for {
		err := x.stream()
		if err == nil {
			return
		}
		if err = x.again(err); err != nil {
			x.fail(err)
			return
		}
		x.open(text)
	}
}

// stream is one attempt: the body goes up while the answer comes down. The error is of one
// that has led to nothing, and has not taken anything of the body.
func (x *exchange) stream() error {
	conn, slotFree := x.owner.session.choose(x.permit.Release)
	x.conn = conn
	st, err := conn.Open(x.r.ctx, message.KindHTTP, wire.OpenOptions{First: x.buf, SlotFree: slotFree})
	if err != nil {
		return err
	}
	x.stop = x.cancelWith(st)
	defer x.stop()
	x.t.duplex()
	x.up = x.upload(st)
	a := answerReader{x: x, st: st}
	err = a.receive(nil)
	if a.switched {
		return nil
	}
	if whole := x.up.end(st); whole && err == nil {
		_ = st.Close()
	} else {
		_ = st.Reset(resetCode(err)) // a truncated request must not look complete
	}
	switch {
	case !a.begun && x.up.err != nil:
		x.refuseBody(x.up.err)
		return nil
	case !a.begun && x.r.BodySize() == 0:
		return err // a.whole guarantees an error
	}
	a.finish(err)
	return nil
}

// resetCode returns the code that tells the client why an exchange ends early.
func resetCode(err error) wire.Code {
	if errors.Is(err, message.ErrMalformed) || errors.Is(err, h1.ErrMalformed) {
		return wire.Protocol
	}
	return wire.Cancelled
}
