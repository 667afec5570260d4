package tunnel

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"paddock/internal/hostname"
	"paddock/tunnel/internal/h1"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// exchange is one request of a visitor on its way through the front.
type exchange struct {
	s       *Server
	t       turn
	r       *request
	claim   *claim
	holder  *holder
	permit  Permit
	awaited bool       // the permit is that of a body that was still to come
	conn    *wire.Conn // of a small exchange, once it is chosen
	flags   message.Flags
	upgrade string
	id      string // of the request, where Hooks.Served is set
	began   time.Time
	buf     []byte  // of a frame; given back in the end
	room    *[]byte // of the answer to a small exchange, likewise
	head    h1.Head
	up      *upload       // of a stream
	stop    func() bool   // the visitor's leaving resets the stream no more
	proceed chan struct{} // closed when an expecting visitor may send his body
}

// frames are buffers for small exchanges and records.
var frames = sync.Pool{New: func() any { b := make([]byte, 0, 4<<10); return &b }}

// exchange is the front: it carries a visitor's request, of which x says where it is, to
// the tunnel of its host.
func (s *Server) exchange(x *exchange) {
	x.s, x.began = s, time.Now()
	if reason, err := x.admit(); err != nil {
		x.refuse(reason, err)
		return
	}
	buf := frames.Get().(*[]byte)
	x.buf = (*buf)[:0]
	x.carry()
	*buf = x.buf[:0]
	frames.Put(buf)
}

func (x *exchange) refuse(reason Reason, err error) {
	f := Refusal{Reason: reason, Err: err, Waited: time.Since(x.began)}
	if x.claim != nil {
		f.Tunnel, f.Identity = x.claim.where, x.claim.identity
		x.claim.refused.Add(1)
	}
	x.s.refuse(x.t, f)
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
	if x.claim = s.routes.find(host, path); x.claim == nil {
		return NoRoute, errors.New("no tunnel")
	}
	if r.serverName != "" && r.serverName != host && !s.leadsTo(r.serverName, path, x.claim) {
		return Misdirected, errors.New("TLS was begun with another name")
	}
	if x.claim.at.Path != "" && h1.Climbs(path) {
		return Malformed, errors.New("the path climbs")
	}
	if err := s.allowed(x.claim.identity, x.claim.at); err != nil {
		return Denied, err
	}
	if x.holder, err = x.held(); err != nil {
		return reasonOf(r.ctx, err), err
	}
	if auth := x.holder.auth; auth != nil && !auth.admits(string(r.Get("authorization"))) {
		return Unauthenticated, errors.New("user or password")
	}
	if err := x.holder.shed(); err != nil {
		return reasonOf(r.ctx, err), err
	}
	x.classify()
	class, size := x.needs()
	x.awaited = class == Body
	if x.permit, err = x.claim.lane.Enter(r.ctx, class, size); err != nil {
		return reasonOf(r.ctx, err), err
	}
	return 0, nil
}

// leadsTo says whether the name with which TLS was begun is one of the client's who has the
// claim.
func (s *Server) leadsTo(serverName, path string, c *claim) bool {
	name, err := hostname.Normalise(serverName)
	if err != nil {
		return false
	}
	named := s.routes.find(name, path)
	return named != nil && named.identity == c.identity
}

// held is who serves the claim, for a moment also somebody who comes back; not with a body
// of HTTP/2, which comes meanwhile whoever reads it, and is counted by nobody yet.
func (x *exchange) held() (*holder, error) {
	if x.r.http2 && x.r.BodySize() != 0 && x.claim.holder.Load() == nil {
		return nil, ErrAway
	}
	return x.claim.wait(x.r.ctx, &x.s.limits)
}

// needs is what a permit is asked for: with what HTTP/2 keeps of a long body before it is
// read.
func (x *exchange) needs() (class Class, size int) {
	switch {
	case x.small() && x.t.here(x.r.BodySize()):
		return Request, message.MaxSmall
	case x.small():
		return Body, message.MaxSmall
	case x.r.http2 && x.r.BodySize() != 0:
		return Stream, 2*message.MaxRecord + h2StreamBuffer
	}
	return Stream, 2 * message.MaxRecord
}

// classify reads what decides how the request travels.
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

// small says whether the request may be a small exchange, but for the size of its head.
func (x *exchange) small() bool {
	n := x.r.BodySize()
	return n >= 0 && n < int64(x.holder.session.small) && x.upgrade == "" && !x.r.Expects
}

// carry sends the request and brings the answer.
func (x *exchange) carry() {
	f := h1.Forward{
		Head: &x.r.Head, Peer: x.r.peer, Secure: x.r.secure, Upgrade: x.upgrade,
		StripAuth: x.holder.auth != nil, Trusted: x.s.trusts(x.r.peer.Addr()),
	}
	text := frames.Get().(*[]byte)
	defer frames.Put(text)
	var err error
	if *text, err = f.Append((*text)[:0]); err != nil || len(*text) > h1.MaxHead {
		x.permit.Release()
		x.refuse(Malformed, err)
		return
	}
	x.noteID(*text)
	x.buf = message.AppendOpening(x.buf, &message.Opening{Flags: x.flags, Tunnel: x.holder.id, Visitor: x.r.peer, Head: *text})
	if x.small() && len(*text)+int(x.r.BodySize()) <= x.holder.session.small {
		x.room = text
		x.carrySmall()
		return
	}
	if err := x.permit.Promote(); err != nil {
		x.permit.Release()
		x.refuse(Overloaded, err)
		return
	}
	x.carryStream()
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
	if err != nil && x.again(err) {
		answer, err = x.call()
	}
	if err != nil {
		x.fail(err)
		return
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
	if !x.awaited {
		return nil
	}
	permit, err := x.permit.Begin(x.r.ctx)
	if err == nil {
		x.permit = permit
	}
	return err
}

// refuseBody answers where the body has not come: nobody may be there any more.
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

// tooMuch says whether a status tells of a target that cannot do what it is asked.
func tooMuch(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// again prepares to send the request once more, over the next connection of the client:
// the present one was lost, and nothing was sent, or it does no harm.
func (x *exchange) again(err error) bool {
	ctx := x.r.ctx
	safe := errors.Is(err, wire.ErrNotSent) || errors.Is(err, wire.ErrMaybeSent) && x.flags&message.FlagIdempotent != 0
	if !safe || ctx.Err() != nil {
		return false
	}
	x.s.lost(x.holder.session, x.conn)
	h, err := x.claim.wait(ctx, &x.s.limits)
	if err != nil || len(x.buf) > h.session.small || h.auth != nil && !h.auth.admits(string(x.r.Get("authorization"))) {
		return false
	}
	permit, err := x.claim.lane.Enter(ctx, Request, message.MaxSmall)
	if err != nil {
		return false
	}
	x.holder, x.permit = h, permit
	message.SetTunnel(x.buf, h.id)
	return true
}

// wholeWith checks that an answer of one piece says how long it is.
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
	switch reason {
	case Gone:
		x.s.cancelled.Add(1)
	case ClientFull, TooLate, Unreachable:
		x.permit.Answered(true)
	}
	x.refuse(reason, err)
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
	conn, over := x.holder.session.choose(x.permit.Release)
	x.conn = conn
	answer, err := conn.CallStream(x.r.ctx, message.KindHTTP, x.buf, wire.CallOptions{Over: over, Into: (*x.room)[:0]})
	if err == nil {
		*x.room = answer.Head
	}
	return answer, err
}

// cancelWith resets the stream when the visitor leaves.
func (x *exchange) cancelWith(st *wire.Stream) (stop func() bool) {
	return context.AfterFunc(x.r.ctx, func() { _ = st.Reset(wire.Cancelled) })
}

// carryStream is a wire stream; the body goes up while the answer comes down.
func (x *exchange) carryStream() {
	conn, over := x.holder.session.choose(x.permit.Release)
	st, err := conn.Open(x.r.ctx, message.KindHTTP, wire.OpenOptions{First: x.buf, Over: over})
	if err != nil {
		x.fail(err)
		return
	}
	x.stop = x.cancelWith(st)
	defer x.stop()
	x.t.duplex()
	x.up = x.upload(st)
	a := answerReader{x: x, st: st}
	err = a.receive(nil)
	if a.switched {
		return
	}
	if whole := x.up.end(st); whole && err == nil {
		_ = st.Close()
	} else {
		_ = st.Reset(resetCode(err)) // what was not sent whole must not look so
	}
	if !a.begun && x.up.err != nil {
		x.refuseBody(x.up.err)
		return
	}
	a.finish(err)
}

// resetCode is what the client is told of an exchange that ends early.
func resetCode(err error) wire.Code {
	if errors.Is(err, message.ErrMalformed) || errors.Is(err, h1.ErrMalformed) {
		return wire.Protocol
	}
	return wire.Cancelled
}
