package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// MaxConns bounds the connections of one client.
const MaxConns = 16

// link is one of the connections of a session.
type link struct {
	*wire.Conn
	underWay atomic.Int64 // exchanges that were begun while the session had several links
}

func newLinks(conn *wire.Conn) *[]*link { return &[]*link{{Conn: conn}} }

// all are the links of a session, at least one: the last one stays when it has ended.
func (x *session) all() []*link { return *x.links.Load() }

// lead is the one that has been there longest.
func (x *session) lead() *wire.Conn { return x.all()[0].Conn }

// has reports whether a connection is one of the session's.
func (x *session) has(conn *wire.Conn) bool {
	return slices.ContainsFunc(x.all(), func(l *link) bool { return l.Conn == conn })
}

// choose returns the least loaded connection for an exchange, and the function to call when the
// exchange has ended.
func (x *session) choose(slotFree func()) (*wire.Conn, func()) {
	links := x.all()
	if len(links) == 1 {
		return links[0].Conn, slotFree
	}
	best := x.least(links, func(l *link) bool { return !l.behind(x.server) })
	if best == nil {
		best = x.least(links, func(*link) bool { return true })
	}
	if best == nil {
		return links[0].Conn, slotFree
	}
	best.underWay.Add(1)
	return best.Conn, func() {
		best.underWay.Add(-1)
		slotFree()
	}
}

// least is the one of the links that live, and fit, with the least under way; nil if there
// is none.
func (x *session) least(links []*link, fits func(*link) bool) (best *link) {
	for _, l := range links {
		if l.Err() == nil && fits(l) && (best == nil || l.underWay.Load() < best.underWay.Load()) {
			best = l
		}
	}
	return best
}

// errLinkBehind wraps ErrOverloaded: earlier exchanges are waiting for the link already.
var errLinkBehind = fmt.Errorf("%w: the client's link is behind", tunnel.ErrOverloaded)

// behind reports whether the link has been blocked, or its client silent, for longer than
// Limits.Unsent.
func (l *link) behind(s *Server) bool { return s.limits.Unsent > 0 && l.Lag() >= s.limits.Unsent }

// behind reports whether all links are congested: a new exchange would only wait, and hold its
// permit meanwhile. Open streams wait at their sources.
func (x *session) behind() bool {
	for _, l := range x.all() {
		if l.Err() != nil || !l.behind(x.server) {
			return false
		}
	}
	return true
}

// admits reports whether a connection comes beside those of the session, or in place of one
// of several: it is of the same life of the same client. registry.mu is held.
func (x *session) admits(conn *wire.Conn) bool {
	mine, its := x.lead().Peer().Session, conn.Peer().Session
	if mine == nil || its == nil || mine.ID != its.ID || mine.Epoch != its.Epoch {
		return false
	}
	links := x.all()
	return len(links) > 1 || links[0].Peer().Session.Index != its.Index
}

// join adds a connection that is admitted, and returns the one whose place it has taken,
// or nil. registry.mu is held.
func (x *session) join(conn *wire.Conn) (before *wire.Conn, err error) {
	links := slices.Clone(x.all())
	at := slices.IndexFunc(links, func(l *link) bool { return l.Peer().Session.Index == conn.Peer().Session.Index })
	switch {
	case at >= 0:
		before = links[at].Conn
		links[at] = &link{Conn: conn}
	case len(links) >= MaxConns:
		return nil, message.Refused(wire.ResourceExhausted, "more than %d connections", MaxConns)
	default:
		links = append(links, &link{Conn: conn})
	}
	x.links.Store(&links)
	return before, nil
}

// part takes a connection out, unless it is the last one. registry.mu is held.
func (x *session) part(conn *wire.Conn) (last bool) {
	links := x.all()
	if len(links) == 1 {
		return true
	}
	links = slices.DeleteFunc(slices.Clone(links), func(l *link) bool { return l.Conn == conn })
	x.links.Store(&links)
	return false
}

// hintStatus holds the last hint of a client about a tunnel, or about all of its tunnels. The zero
// value holds none. Safe for concurrent use.
type hintStatus struct{ last atomic.Pointer[timedHint] }

// timedHint is a hint that holds until then.
type timedHint struct {
	state message.HintState
	until time.Time
}

func (h *hintStatus) set(what message.Hint) {
	if what.State == message.HintOpen {
		h.last.Store(nil)
		return
	}
	h.last.Store(&timedHint{what.State, time.Now().Add(what.Span)})
}

// state returns the present state.
func (h *hintStatus) state() message.HintState {
	last := h.last.Load()
	if last == nil || !time.Now().Before(last.until) {
		return message.HintOpen
	}
	return last.state
}

// Reasons to refuse a visitor before it uses the link, beside errLinkBehind.
var (
	errHintFull = fmt.Errorf("%w: the client has said that it is full", tunnel.ErrOverloaded)
	errHintDown = errors.New("tunnel: the client has said that the target takes no connection")
)

// shed returns the reason to send no visitor to the owner now, nil if there is none.
func (h *owner) shed() error {
	if h.session.behind() {
		return errLinkBehind
	}
	for _, said := range []*hintStatus{&h.hint, &h.session.hinted} {
		switch said.state() {
		case message.HintFull:
			return errHintFull
		case message.HintDown:
			return errHintDown
		}
	}
	return nil
}

// hint serves tunnel.hint, on the link's reader. A hint about a tunnel that the client does not
// hold is ignored.
func (s *Server) hint(ctx context.Context, body []byte) error {
	what, err := message.ParseHint(body)
	if err != nil {
		return err
	}
	s.hints.Add(1)
	conn := wire.ConnFrom(ctx)
	identity := s.identify(conn)
	s.registry.mu.Lock()
	defer s.registry.mu.Unlock()
	x := s.registry.sessions[identity]
	switch {
	case x == nil || !x.has(conn):
	case what.Tunnel == 0:
		x.hinted.set(what)
	case x.leases[what.Tunnel] != nil:
		if h := x.leases[what.Tunnel].owner.Load(); h != nil && h.session == x {
			h.hint.set(what)
		}
	}
	return nil
}
