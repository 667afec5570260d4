package tunnel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"paddock/wire"
)

// hinted is the last that a client has said of a tunnel, or of all its tunnels. The zero
// value is nothing. Safe for concurrent use.
type hinted struct{ last atomic.Pointer[said] }

// said is a hint that holds until then.
type said struct {
	state hintState
	until time.Time
}

func (h *hinted) set(what hint) {
	if what.state == hintOpen {
		h.last.Store(nil)
		return
	}
	h.last.Store(&said{what.state, time.Now().Add(what.span)})
}

// state is what holds now.
func (h *hinted) state() hintState {
	last := h.last.Load()
	if last == nil || !time.Now().Before(last.until) {
		return hintOpen
	}
	return last.state
}

// Why a visitor is refused before he has taken the link, beside errLinkBehind.
var (
	errHintFull = fmt.Errorf("%w: the client has said that it is full", ErrOverloaded)
	errHintDown = errors.New("tunnel: the client has said that the target takes no connection")
)

// shed is why no visitor is to be brought to the holder now, nil if he may be.
func (h *holder) shed() error {
	if h.session.behind() {
		return errLinkBehind
	}
	for _, said := range []*hinted{&h.hinted, &h.session.hinted} {
		switch said.state() {
		case hintFull:
			return errHintFull
		case hintDown:
			return errHintDown
		}
	}
	return nil
}

// hint serves tunnel.hint, on the link's reader. One about what the client does not hold
// means nothing.
func (s *Server) hint(ctx context.Context, body []byte) error {
	what, err := parseHint(body)
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
	case what.tunnel == 0:
		x.hinted.set(what)
	case x.claims[what.tunnel] != nil:
		if h := x.claims[what.tunnel].holder.Load(); h != nil && h.session == x {
			h.hinted.set(what)
		}
	}
	return nil
}
