package bus

import (
	"sync"
	"sync/atomic"

	"paddock/bus/internal/protocol"
)

// runMessages and runBytes bound a run: the messages that one client gets together.
const (
	runMessages = 128
	runBytes    = 16 << 10
)

// run is publications to one subject that follow each other in a batch and reach several network
// clients. Each client gets them together: under its lock, which is taken once, and as one text,
// which those with the same subscription id share. It holds gathered messages back only until other
// work is due: see [router.routeRun].
type run struct {
	to      *receivers // nil = nothing has been gathered
	from    endpoint
	subject []byte // borrowed from the batch, as are the pieces
	pieces  []piece
	size    int // bytes of the pieces
	payload int // of these, bytes that count as sent

	text *sharedText // the messages for a subscription
	sid  string      // whose id this is; "" = not made yet
}

// sharedText is bytes that several clients share. It does not change while more than one of them
// has it.
type sharedText struct {
	buf  []byte
	refs atomic.Int32
}

var sharedTexts = sync.Pool{New: func() any { return &sharedText{buf: make([]byte, 0, runBytes+runBytes/4)} }}

// newSharedText returns an empty one with one reference.
func newSharedText() *sharedText {
	t := sharedTexts.Get().(*sharedText)
	t.buf = t.buf[:0]
	t.refs.Store(1)
	return t
}

func (t *sharedText) release() {
	if t.refs.Add(-1) == 0 {
		sharedTexts.Put(t)
	}
}

// piece is the part of one publication.
type piece struct {
	exact []byte // "size\r\n", data and "\r\n"
	data  []byte
}

// formRuns reports whether publications to r may form runs: if each goes to several network
// clients, once to each. A client with two subscriptions gets message by message, in their order.
func formRuns(plain []*subscription, groups []group) bool {
	if len(plain) < 2 || len(groups) > 0 {
		return false
	}
	seen := make(map[endpoint]struct{}, len(plain))
	for _, s := range plain {
		if _, remote := s.owner.(*client); !remote {
			return false
		}
		seen[s.owner] = struct{}{}
	}
	return len(seen) == len(plain)
}

// begins reports whether p, of a client that wants no answers, may begin a run.
func (to *receivers) begins(p *protocol.Publication) bool {
	return to.fanOut && len(p.Exact) > 0 && len(p.Reply) == 0
}

// continues reports whether p belongs to the run: its subject was examined when the run began.
func (g *run) continues(p *protocol.Publication) bool {
	return g.to != nil && len(p.Exact) > 0 && len(p.Reply) == 0 && string(p.Subject) == string(g.subject) &&
		len(g.pieces) < runMessages && g.size+len(p.Exact) <= runBytes
}

func (g *run) begin(to *receivers, from endpoint, p *protocol.Publication) {
	g.to, g.from, g.subject = to, from, p.Subject
	g.add(p)
}

func (g *run) add(p *protocol.Publication) {
	g.pieces = append(g.pieces, piece{p.Exact, p.Payload})
	g.size += len(p.Exact)
	g.payload += len(p.Payload)
}

// textFor returns the messages as s gets them.
func (g *run) textFor(s *subscription) []byte {
	if g.sid == s.sidText {
		return g.text.buf
	}
	if g.text == nil || g.text.refs.Load() > 1 {
		if g.text != nil {
			g.text.release()
		}
		g.text = newSharedText()
	}
	b := g.text.buf[:0]
	for i := range g.pieces {
		b = append(append(append(append(append(b, "MSG "...), g.subject...), ' '), s.sidText...), g.pieces[i].exact...)
	}
	g.text.buf, g.sid = b, s.sidText
	return b
}

// routeRun routes the gathered messages. It is called before any other work of the batch.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) routeRun() {
	g := &r.run
	if g.to == nil {
		return
	}
	to := g.to
	g.to = nil // a panic must not come here again
	r.counts.inMsgs += uint64(len(g.pieces))
	r.counts.inBytes += uint64(g.payload)
	for _, s := range to.plain {
		if len(g.pieces) == 1 || !r.offerRun(s) {
			r.offerPieces(s)
		}
	}
	clear(g.pieces)
	g.pieces, g.size, g.payload = g.pieces[:0], 0, 0
	g.from, g.subject, g.sid = nil, nil, ""
}

// offerPieces offers one message after the other.
func (r *router) offerPieces(s *subscription) {
	g := &r.run
	for i := range g.pieces {
		r.msg.reset(g.subject, nil, nil, g.pieces[i].data)
		r.msg.exact = g.pieces[i].exact
		r.offer(s, g.from)
	}
}

// offerRun appends the whole run to the pending bytes of the owner of s. false = it cannot go as a
// whole, and nothing has been done.
func (r *router) offerRun(s *subscription) bool {
	c, g := s.owner.(*client), &r.run
	n := len(g.textFor(s))
	r.lockClient(c)
	switch {
	case !c.takes(s, g.subject, g.from), !r.spill(c, n, s, g.subject, g.from):
		return true // no receiver
	case s.max > 0 || c.out.pending+int64(n) > c.srv.cfg().MaxPending:
		return false
	}
	if !c.out.share(g.text) {
		t := c.out.grow(n)
		t.buf = append(t.buf, g.text.buf...)
		c.out.pending += int64(n)
	}
	r.lockBytes -= n
	s.delivered += uint64(len(g.pieces))
	r.mark(c)
	c.delivered.msgs += uint64(len(g.pieces))
	c.delivered.bytes += uint64(g.payload)
	r.counts.outMsgs += uint64(len(g.pieces))
	r.counts.outBytes += uint64(g.payload)
	return true
}
