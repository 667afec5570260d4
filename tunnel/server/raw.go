package server

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// rawVisit is a visitor of an endpoint for raw connections.
type rawVisit struct {
	s          *Server
	endpoint   *endpoint
	open       *message.Channel // describes the visitor
	tries      attempts
	assignment // once it is admitted
}

// enter finds the client for the visitor, and takes a permit. ctx bounds the wait for both.
func (r *rawVisit) enter(ctx context.Context) (err error) {
	r.assignment, err = r.s.admit(ctx, r.endpoint, r, nil, true)
	return err
}

// dial opens the stream of an admitted visitor, at another member of a group if the first one
// refuses it; release is called at its end, or if there is none.
func (r *rawVisit) dial(ctx context.Context, release func()) (*wire.Stream, error) {
	for {
		r.open.Tunnel = r.owner.id
		conn, slotFree := r.owner.session.choose(release)
		st, err := conn.Open(ctx, message.KindConn, wire.OpenOptions{First: message.AppendChannel(nil, r.open), SlotFree: slotFree})
		if err == nil || !r.again(ctx, conn, err) {
			return st, err
		}
		release = r.permit.Release
	}
}

// far returns the relay's end of a stream: for a group one that may move to another member.
func (r *rawVisit) remote(ctx context.Context, st *wire.Stream) relay.RemoteStream {
	if !r.endpoint.grouped() {
		return &relay.RawStream{Stream: st}
	}
	return &rawRetry{ctx: ctx, visit: r, now: &relay.RawStream{Stream: st}, changed: make(chan struct{})}
}

// again finds the next member. None of the visitor's bytes have reached a service.
func (r *rawVisit) again(ctx context.Context, conn *wire.Conn, err error) bool {
	became := outcomeOf(conn, err)
	if !r.endpoint.grouped() || ctx.Err() != nil || !r.tries.again(&r.assignment, became, false) {
		return false
	}
	if became != outcomeRefused {
		r.s.registry.lost(r.owner.session, conn)
	}
	next, failed := r.s.admit(ctx, r.endpoint, r, r.tries.before(), false)
	if failed != nil {
		return false
	}
	r.s.resent.Add(1)
	r.assignment = next
	return true
}

// suits implements admissionRequest.
func (*rawVisit) suits(*owner) error { return nil }

// class implements admissionRequest.
func (*rawVisit) class() Class { return Stream }

// needs implements admissionRequest.
func (*rawVisit) needs(*owner) (class Class, size int) { return Stream, 2 * message.MaxRecord }

// maxKept bounds the visitor's bytes that are kept until the first byte of an answer: they suffice
// for the beginning of TLS.
const maxKept = 16 << 10

// rawRetry is the stream of a raw connection of a group. Until the first byte of an answer, if a
// member reports that its service has seen nothing, the visitor's bytes so far are sent to another
// member. After that it is a rawStream, and costs no more.
//
// One goroutine is in WriteTo, which changes the member, and one sends.
type rawRetry struct {
	ctx   context.Context
	visit *rawVisit

	settled atomic.Bool // the member is final
	mu      sync.Mutex
	now     *relay.RawStream // guarded by mu until it is settled
	kept    []byte           // guarded by mu
	ended   bool             // guarded by mu: the visitor has ended its half
	cut     func()           // guarded by mu; of WhenCut
	changed chan struct{}    // guarded by mu: closed when now is another, or it is settled
}

// stream is the present one.
func (r *rawRetry) stream() *relay.RawStream {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now
}

// settle fixes the present member.
func (r *rawRetry) settle() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settleLocked()
}

func (r *rawRetry) settleLocked() {
	if !r.settled.Load() {
		r.settled.Store(true)
		r.kept = nil
		r.now.WhenCut(r.cut)
		close(r.changed)
	}
}

// WriteTo writes the bytes of the member. The first ones settle it.
func (r *rawRetry) WriteTo(w io.Writer) (total int64, err error) {
	defer r.settle()
	first := relay.Frames.Get().(*[]byte)
	defer relay.Frames.Put(first)
	for !r.settled.Load() {
		n, err := r.stream().Read((*first)[:cap(*first)])
		if n == 0 && err != nil && !errors.Is(err, io.EOF) && r.move(err) {
			continue
		}
		r.settle()
		if n > 0 {
			n, err := w.Write((*first)[:n])
			if total += int64(n); err != nil {
				return total, err
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			return total, nil
		case err != nil:
			return total, err
		}
	}
	n, err := r.stream().WriteTo(w)
	return total + n, err
}

// move opens a stream to another member and sends all bytes of the visitor so far. The lock is
// held, so that later bytes follow them.
func (r *rawRetry) move(why error) (moved bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.settled.Load() || !r.visit.again(r.ctx, r.now.Conn(), why) {
		return false
	}
	rest := r.visit.open.Rest
	r.visit.open.Rest = append(rest[:len(rest):len(rest)], r.kept...)
	st, err := r.visit.dial(r.ctx, r.visit.permit.Release)
	r.visit.open.Rest = rest
	if err != nil {
		return false
	}
	_ = r.now.Reset(wire.Cancelled)
	r.now = &relay.RawStream{Stream: st}
	close(r.changed)
	r.changed = make(chan struct{})
	if r.ended {
		_ = st.CloseWrite()
	}
	return true
}

// Send keeps the sent bytes as long as they may be sent again. If it fails meanwhile, WriteTo finds
// the cause: b is sent to the next member, or there is none.
func (r *rawRetry) Send(b []byte) error {
	if r.settled.Load() {
		return r.now.Send(b)
	}
	r.mu.Lock()
	now, changed := r.now, r.changed
	if r.kept = append(r.kept, b[1:]...); len(r.kept) > maxKept {
		r.settleLocked()
	}
	r.mu.Unlock()
	err := now.Send(b)
	if err == nil {
		return nil
	}
	<-changed
	if r.stream() == now {
		return err
	}
	return nil
}

// TrySend does not, before it is settled.
func (r *rawRetry) TrySend(b []byte) bool { return r.settled.Load() && r.now.TrySend(b) }

// CloseWrite ends the visitor's direction, at whichever member it is.
func (r *rawRetry) CloseWrite() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	return r.now.CloseWrite()
}

// Reset ends it.
func (r *rawRetry) Reset(code wire.Code) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settleLocked()
	return r.now.Reset(code)
}

// SetReadDeadline bounds the wait for the member's bytes.
func (r *rawRetry) SetReadDeadline(t time.Time) error { return r.stream().SetReadDeadline(t) }

// WhenCut sets the function that is called when a settled stream is cut. Before that WriteTo
// notices it.
func (r *rawRetry) WhenCut(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cut = f; r.settled.Load() {
		r.now.WhenCut(f)
	}
}

var _ relay.RemoteStream = (*rawRetry)(nil)
