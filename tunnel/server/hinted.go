package server

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"paddock/tunnel"
	"paddock/tunnel/internal/message"
	"paddock/wire"
)

// hinted is the last that a client has said of a tunnel, or of all its tunnels. The zero
// value is nothing. Safe for concurrent use.
type hinted struct{ last atomic.Pointer[said] }

// said is a hint that holds until then.
type said struct {
	state message.HintState
	until time.Time
}

func (h *hinted) set(what message.Hint) {
	if what.State == message.HintOpen {
		h.last.Store(nil)
		return
	}
	h.last.Store(&said{what.State, time.Now().Add(what.Span)})
}

// state is what holds now.
func (h *hinted) state() message.HintState {
	last := h.last.Load()
	if last == nil || !time.Now().Before(last.until) {
		return message.HintOpen
	}
	return last.state
}

// Why a visitor is refused before he has taken the link, beside errLinkBehind.
var (
	errHintFull = fmt.Errorf("%w: the client has said that it is full", tunnel.ErrOverloaded)
	errHintDown = errors.New("tunnel: the client has said that the target takes no connection")
)

// shed is why no visitor is to be brought to the holder now, nil if he may be.
func (h *holder) shed() error {
	if h.session.behind() {
		return errLinkBehind
	}
	for _, said := range []*hinted{&h.hinted, &h.session.hinted} {
		switch said.state() {
		case message.HintFull:
			return errHintFull
		case message.HintDown:
			return errHintDown
		}
	}
	return nil
}

// hint serves tunnel.hint, on the link's reader. One about what the client does not hold
// means nothing.
func (s *Server) hint(ctx context.Context, body []byte) error {
	what, err := message.ParseHint(body)
	if err != nil {
		return err
	}
	s.hints.Add(1)
	conn := wire.ConnFrom(ctx)
	identity := s.identify(conn)
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[identity]
	switch {
	case x == nil || !x.has(conn):
	case what.Tunnel == 0:
		x.hinted.set(what)
	case x.claims[what.Tunnel] != nil:
		if h := x.claims[what.Tunnel].holder.Load(); h != nil && h.session == x {
			h.hinted.set(what)
		}
	}
	return nil
}
