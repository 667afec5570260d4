package client

import (
	"sync"
	"sync/atomic"
	"time"

	"paddock/tunnel/internal/message"
	"paddock/tunnel/internal/relay"
	"paddock/wire"
)

const (
	// hintPause is the time after a hint in which no further hint about the tunnel is sent, except
	// that it is open again: the state of a tunnel at its bound would change with every visitor.
	hintPause = minDialAgain
	// hintGap is the least time between two hints of a client about any tunnels, except hints that
	// take others back: with a thousand tunnels hints must not fill the link.
	hintGap = 5 * time.Millisecond
)

// hintSender reports to the server that a tunnel, or the whole client, takes no visitors at
// present, so that they are refused before they use the link; and that this is over. A hint is sent
// when a visitor was refused, so no timer is needed: if a hint expires while its state lasts, the
// next refusal repeats it. A missing hint costs a visitor's round trip over the link, no more. Safe
// for concurrent use.
type hintSender struct {
	c      *Client                      // nil: no hints are sent
	tunnel uint16                       // 0: all of them
	over   func(message.HintState) bool // the state of the hint has ended

	told  atomic.Uint32    // message.HintState
	quiet relay.AtomicTime // until then only HintOpen is sent

	mu   sync.Mutex // held while a hint is sent, so that hints keep their order
	conn *wire.Conn // guarded by mu; on which the last hint was sent
}

// tell reports that visitors cannot be served for span, in whole milliseconds that are longer than
// it, and at most message.MaxHint.
func (h *hintSender) tell(state message.HintState, span time.Duration) {
	defer h.settle() // the state may have ended before the hint was recorded
	if h.c == nil || h.quiet.IsAhead() || !h.c.hinted.Pass(hintGap) {
		return
	}
	conn := h.c.hinting()
	if conn == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.quiet.Set(time.Now().Add(hintPause))
	h.told.Store(uint32(state))
	h.conn = conn
	h.post(message.Hint{State: state, Tunnel: h.tunnel, Span: min(span.Truncate(time.Millisecond)+time.Millisecond, message.MaxHint)})
}

// settle takes a hint back if it is not true any more. It is called whenever that may be the case.
func (h *hintSender) settle() {
	state := h.told.Load()
	if state == uint32(message.HintOpen) || !h.over(message.HintState(state)) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.told.CompareAndSwap(state, uint32(message.HintOpen)) {
		h.post(message.Hint{Tunnel: h.tunnel})
	}
}

// post does not wait: while the link is congested, the last hint of a tunnel waits. The end of the
// connection is ignored: its hints expire soon. h.mu is held.
func (h *hintSender) post(what message.Hint) {
	h.c.counts.hints.Add(1)
	_ = h.conn.PostKeyed(message.KindHint, string([]byte{byte(h.tunnel), byte(h.tunnel >> 8)}), message.AppendHint(nil, what))
}

// hinting is a connection whose server takes hints, nil if there is none.
func (c *Client) hinting() *wire.Conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	for conn, takes := range c.conns {
		if takes && conn.Err() == nil {
			return conn
		}
	}
	return nil
}

// takesHints notes that the server of conn accepts hints, if tunnels are bound on conn.
func (c *Client) takesHints(conn *wire.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, is := c.conns[conn]; is {
		c.conns[conn] = true
	}
}
