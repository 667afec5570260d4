package tunnel

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// acceptPause and maxAcceptPause are how long to wait after an Accept that has failed
// for want of resources: it doubles from one to the other.
const acceptPause, maxAcceptPause = 5 * time.Millisecond, time.Second

// acceptTCP is the goroutine of a TCP tunnel's listener; the claim's end closes it.
func (s *Server) acceptTCP(c *claim) {
	defer s.tasks.Done()
	s.accept(&rawVisitors{c.listener, s, c}, &s.tasks, func(conn net.Conn) { s.serveTCP(c, conn) })
}

// rawVisitors bounds the visitors of all TCP tunnels together, before anything is made for
// them: they leave descriptors to the fronts and to clients.
type rawVisitors struct {
	net.Listener
	s *Server
	c *claim
}

// Accept resets those that are over the bound.
func (v *rawVisitors) Accept() (net.Conn, error) {
	for {
		conn, err := v.Listener.Accept()
		if err != nil {
			return nil, err
		}
		most := v.s.limits.RawVisitors
		if err = v.s.rawHeads.enter(addrPort(conn.RemoteAddr()).Addr(), most, most, true); err == nil {
			return conn, nil
		}
		v.s.refuseRaw(v.c, conn, &message.Channel{}, err)
		_ = conn.Close()
	}
}

// accept starts a goroutine of the group for each connection of l, until l is closed.
func (s *Server) accept(l net.Listener, group *sync.WaitGroup, serve func(net.Conn)) {
	pause := acceptPause
	for {
		conn, err := l.Accept()
		if err == nil {
			pause = acceptPause
			group.Go(func() { serve(conn) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		s.starved.Add(1)
		s.log.Warn("tunnel: cannot accept", "address", l.Addr().String(), "error", err, "pause", pause)
		timer := time.NewTimer(pause)
		select {
		case <-s.ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
		pause = min(2*pause, maxAcceptPause)
	}
}

// serveTCP is the goroutine of a visitor of a TCP tunnel.
func (s *Server) serveTCP(c *claim, conn net.Conn) {
	defer s.rawHeads.leave(addrPort(conn.RemoteAddr()).Addr())
	defer conn.Close()
	known, first, err := s.introduced(conn)
	switch {
	case err == nil:
		s.carryRaw(c, known, &message.Channel{Rest: first})
	case !errors.Is(err, io.EOF):
		s.refuseRaw(c, conn, &message.Channel{}, err)
	}
}

// carryRaw carries a visitor's connection as it is, behind what open says of it.
func (s *Server) carryRaw(c *claim, conn net.Conn, open *message.Channel) {
	began := time.Now()
	open.Visitor, open.Local = addrPort(conn.RemoteAddr()), addrPort(conn.LocalAddr())
	h, permit, err := s.enterRaw(s.ctx, c)
	if err != nil {
		s.refuseRaw(c, conn, open, err)
		return
	}
	open.Tunnel = h.id
	release := permit.Release
	if h.direct && s.directs.open.Load() {
		carried, rest := s.carryDirect(c, h, conn, open, release)
		if carried {
			return
		}
		release = rest
	}
	st, err := h.openRaw(s.ctx, open, release)
	if err != nil {
		s.refuseRaw(c, conn, open, err)
		return
	}
	stop := context.AfterFunc(s.ctx, func() { _ = st.Reset(wire.Unavailable) })
	defer stop()
	var over passage
	err = spliceCounted(conn, nil, &rawStream{st}, s.limits.Linger, &over)
	s.carried(c, open, &over, st, began, false)
	if err == nil {
		s.served.Add(1)
	} else {
		s.cancelled.Add(1)
		s.log.Debug("tunnel: raw connection", "address", c.where, "error", err)
	}
}

// refuseRaw tells of a visitor who is refused, and has him reset: there is nothing to tell him.
func (s *Server) refuseRaw(c *claim, conn net.Conn, open *message.Channel, err error) {
	c.refused.Add(1)
	s.refused(Refusal{
		Reason: reasonOf(s.ctx, err), Tunnel: c.where, Identity: c.identity, Peer: conn.RemoteAddr().String(), Host: string(open.Name), Err: err,
	})
	resetConn(conn)
}

// enterRaw finds who serves the claim, and takes a permit. ctx bounds the wait for both.
func (s *Server) enterRaw(ctx context.Context, c *claim) (*holder, Permit, error) {
	if err := s.allowed(c.identity, c.at); err != nil {
		return nil, nil, errors.Join(ErrDenied, err)
	}
	h, err := c.wait(ctx, &s.limits)
	if err != nil {
		return nil, nil, err
	}
	if err := h.shed(); err != nil {
		return nil, nil, err
	}
	permit, err := c.lane.Enter(ctx, Stream, 2*message.MaxRecord)
	return h, permit, err
}

// openRaw opens the stream of a connection that is let in; release is called at its end, or
// if there is none.
func (h *holder) openRaw(ctx context.Context, open *message.Channel, release func()) (*wire.Stream, error) {
	open.Tunnel = h.id
	conn, over := h.session.choose(release)
	return conn.Open(ctx, message.KindConn, wire.OpenOptions{First: message.AppendChannel(nil, open), Over: over})
}
