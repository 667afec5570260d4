package server

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

// Fallback is why the link carries a visitor of a direct tunnel; it is also the label of the
// counter.
type Fallback uint8

// The reasons.
const (
	DirectFull    Fallback = iota // Limits.Direct are carried already
	DirectPaused                  // the client could make none a moment ago
	DirectLate                    // none came in time
	DirectRefused                 // the client made none
	fallbacks
)

// String is the reason in a log.
func (f Fallback) String() string {
	return [fallbacks]string{"full", "paused", "late", "refused"}[f]
}

// Fallbacks returns all reasons for a fallback.
func Fallbacks() []Fallback { return []Fallback{DirectFull, DirectPaused, DirectLate, DirectRefused} }

// DirectFallback is a visitor of a direct tunnel that the link carries.
type DirectFallback struct {
	Reason   Fallback
	Tunnel   string // where visitors find it
	Identity string // of the client
	Peer     string // the visitor's address
	Waited   time.Duration
	Err      error // more about it, nil if there is no more
}

// directCounts are those of a session.
type directCounts struct {
	now    atomic.Int64     // channels
	bytes  [2]atomic.Int64  // from visitors, to visitors
	paused relay.AtomicTime // until when none is asked for
}

// carryDirect carries a visitor by a channel. carried is false if that is for the link to
// do, which release is for then: it gives the permit back.
func (s *Server) carryDirect(at *assignment, conn net.Conn, open *message.Channel, release func()) (carried bool, rest func()) {
	c, h := at.lease, at.owner
	d, x, began := &s.directs, h.session, time.Now()
	fall := func(why Fallback, err error) {
		d.falls[why].Add(1)
		if s.Hooks.DirectFallback != nil {
			s.Hooks.DirectFallback(DirectFallback{why, c.where, c.identity, conn.RemoteAddr().String(), time.Since(began), err})
		}
	}
	if d.now.Add(1) > int64(s.limits.Direct) {
		d.now.Add(-1)
		fall(DirectFull, nil)
		return false, release
	}
	defer d.now.Add(-1)
	if x.direct.paused.IsAhead() {
		fall(DirectPaused, nil)
		return false, release
	}
	permit := &jointPermit{release: release}
	permit.holders.Store(2) // the stream, and this call, which may need it for another one
	link, slotFree := x.choose(permit.leave)
	a := d.issue(link, c.at.Protocol)
	if a == nil {
		slotFree()
		fall(DirectFull, nil)
		return false, permit.leave
	}
	defer d.withdraw(a)
	asked := *open
	asked.Tunnel, asked.Ticket = h.id, a.Ticket
	st, err := link.Open(s.ctx, message.KindConn, wire.OpenOptions{First: message.AppendChannel(nil, &asked), SlotFree: slotFree})
	if err != nil {
		return false, permit.leave // the link would be refused for the same reason
	}
	v := s.watchStream(st, conn)
	channel, err := v.await(s.ctx, a, s.limits.DirectWait)
	if err == nil {
		s.relayDirect(c, h, v, channel, conn, open, began)
		permit.leave()
		return true, nil
	}
	_ = st.Reset(wire.Cancelled)
	switch why := fallbackOf(err); {
	case s.ctx.Err() != nil || why == fallbacks:
		s.refuseRaw(c.endpoint, c.identity, conn, open, err)
		permit.leave()
		return true, nil
	default:
		x.direct.paused.Set(time.Now().Add(relay.DirectPause))
		fall(why, err)
		return false, permit.leave
	}
}

// jointPermit is a permit that its last owner releases.
type jointPermit struct {
	holders atomic.Int32
	release func()
}

func (p *jointPermit) leave() {
	if p.holders.Add(-1) == 0 {
		p.release()
	}
}

// fallbackOf returns the fallback for an error of await; fallbacks if the visitor has left or
// cannot be served.
func fallbackOf(err error) Fallback {
	var e *wire.Error
	switch {
	case errors.Is(err, errNoChannel):
		return DirectLate
	case errors.As(err, &e) && e.Code == wire.FailedPrecondition:
		return DirectRefused
	}
	return fallbacks
}

// errNoChannel is that no channel has come.
var errNoChannel = errors.New("tunnel: no direct channel has come in time")

// watchedStream is the stream of a visitor that a channel carries, or may carry soon.
type watchedStream struct {
	st    *wire.Stream
	ended chan error // has room for how the stream ended, io.EOF for well

	mu  sync.Mutex
	cut func() // guarded by mu; cuts the relay when the stream fails
}

// follow reads the stream until its end. Nothing comes on it.
func (s *Server) watchStream(st *wire.Stream, conn net.Conn) *watchedStream {
	v := &watchedStream{st: st, ended: make(chan error, 1)}
	stop := context.AfterFunc(s.ctx, func() { _ = st.Reset(wire.Unavailable) })
	s.tasks.Go(func() {
		defer stop()
		n, err := st.Read(make([]byte, 1))
		if n > 0 {
			err = message.Malformed("bytes on the stream of a direct channel")
			_ = st.Reset(wire.Protocol)
		}
		v.ended <- err
		v.mu.Lock()
		cut := v.cut
		v.mu.Unlock()
		if cut != nil && !errors.Is(err, io.EOF) {
			cut()
		}
	})
	return v
}

// await waits for the channel, and answers it.
func (v *watchedStream) await(ctx context.Context, a *pendingTicket, wait time.Duration) (*relay.DirectChannel, error) {
	select {
	case c := <-a.came:
		_ = c.SetWriteDeadline(time.Now().Add(relay.DirectTime))
		if _, err := c.Write(a.Proof("server")); err != nil {
			c.Cut()
			return nil, errNoChannel
		}
		_ = c.SetWriteDeadline(time.Time{})
		return c, nil
	case err := <-v.ended:
		return nil, err
	case <-time.After(wait):
		return nil, errNoChannel
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// direct relay carries the visitor until both directions have ended.
func (s *Server) relayDirect(c *lease, h *owner, v *watchedStream, channel *relay.DirectChannel, conn net.Conn, open *message.Channel, began time.Time) {
	counts := &h.session.direct
	s.directs.carried.Add(1)
	counts.now.Add(1)
	defer counts.now.Add(-1)
	defer channel.Close()
	w := relay.NewDirectRelay(conn, channel, s.limits.Linger, func(from int, n int64) {
		counts.bytes[from].Add(n)
		s.directs.bytes[from].Add(n)
	})
	v.mu.Lock()
	v.cut = w.Cut
	v.mu.Unlock()
	select {
	case err := <-v.ended: // before the relay was set
		if !errors.Is(err, io.EOF) {
			w.Cut()
		}
	default:
	}
	_ = v.st.CloseWrite()
	err := w.Run()
	s.carried(c, open, &w.Transfer, v.st, began, true)
	if err != nil {
		s.cancelled.Add(1)
		_ = v.st.Reset(wire.Cancelled)
		s.log.Debug("tunnel: direct connection", "address", c.where, "error", err)
		return
	}
	s.served.Add(1)
}
