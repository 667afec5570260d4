// Package machine is one side of a wire connection as a plain value: the rules of docs/wire/SPEC.md
// without I/O, clock and goroutines. Received bytes and the application's calls go in; events and
// output bytes come out.
//
// A Machine is not safe for concurrent use. A slice in an Event is borrowed from the input: it is
// valid until the caller reuses the buffer.
package machine

import (
	"math"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

const (
	// HelloTimeout is how long the peer's preface and HELLO may take.
	HelloTimeout = 5 * time.Second
	// maxCredit bounds every credit.
	maxCredit = math.MaxInt32
	// smallGrant is the least CREDIT that counts as work.
	smallGrant = 1024
	// MaxUseless is how many frames that do no work a peer may send within T.
	MaxUseless = 10_000
	// lateGrants is how many CREDITs a peer may have under way when it learns that a half with
	// bytes has ended: its steps are an eighth of the window at least.
	lateGrants = 8
)

// Machine is one side of a connection: the rules of SPEC, and nothing else. Received bytes go into
// Feed, which returns their meaning in an Event; the application's calls are methods; output
// gathers in one buffer, which Take returns. Time is an offset on the caller's monotonic clock.
//
// It is not safe for concurrent use: its owner guards it with one lock, held for
// one call, never during I/O or a handler. No call blocks, and none allocates
// but to grow the tables and the buffer.
//
// Invariant: for each credit, the sum of three numbers is the initial value: the bytes that the
// peer may still send, the bytes that were consumed and not granted yet, and the bytes that were
// delivered and not consumed.
type Machine struct {
	role      frame.Role
	Self      protocol.Hello // our own
	PeerHello *protocol.Hello
	Failure   error // once closed

	goawaySent, GoawayReceived bool

	Ours, Theirs slotTable
	Freed        bool         // a slot of ours has become free; its reader resets this
	Watched      []frame.Slot // slots of ours that have become free and that Watch has named; likewise
	frame        frame.Frame  // of the present Feed

	// Of receiving.
	kinds     []string // the peer's, by number; "" is not bound
	accepted  uint32   // REQ and OPEN, for GOAWAY
	Conn      window
	Posts     window
	have      uint64 // posts with ACK that came, by number
	known     uint64 // those up to here were handled before this connection
	done      uint64 // those up to here have been handled
	Away      Goaway
	Untouched bool // the peer has closed and accepted nothing
	useless   int
	excused   int // CREDITs to come that may have crossed the end of their half
	ignored   uint64
	Rx        Tally

	// Of sending.
	output
	bound     map[string]uint32 // our kinds
	ConnSend  int64             // bytes that we may still send
	PostsSend int64
	Sent      uint64 // posts with ACK, by number
	everSent  uint64 // in the session, on any connection
	Acked     uint64

	life
}

// window is a credit that we give: receive bytes may still come, owed were
// consumed and not granted again.
type window struct{ Receive, Owed, Initial int64 }

// Goaway holds the times in the peer's last GOAWAY: this side may come back after RetryAfter plus a
// random part of Jitter, so that not all come at once.
type Goaway struct{ RetryAfter, Jitter time.Duration }

func newWindow(initial uint32) window {
	return window{Receive: int64(initial), Initial: int64(initial)}
}

// give takes consumed bytes back, and reports whether it is time for a grant: half a window, so
// that a sender never waits in vain.
func (w *window) give(n int) (due bool) {
	w.Owed += int64(n)
	return w.Owed >= w.Initial/2
}

// New returns a machine whose preface and HELLO are in its output. The
// error is ErrHello, if the peer would refuse hello.
func New(role frame.Role, hello protocol.Hello, now time.Duration) (*Machine, error) {
	hello = frame.WithDefaults(hello)
	m := &Machine{
		role: role, Self: hello,
		Conn: newWindow(hello.ConnBudget), Posts: newWindow(hello.PostInitial),
		bound:    map[string]uint32{},
		ConnSend: int64(frame.LimitConn.Before), PostsSend: int64(frame.LimitPost.Before),
	}
	payload, err := frame.AppendHello(nil, hello)
	if err != nil {
		return nil, err
	}
	for name, number := range hello.Kinds {
		m.bound[name] = number
	}
	if s := hello.Session; s != nil {
		m.Sent, m.everSent, m.Acked = s.Base, s.Base, s.Base
	}
	m.startLife(hello.Idle, now)
	m.startOutput()
	m.Out = append(m.Out, frame.Preface...)
	m.put(&frame.Frame{Type: frame.HELLO, Body: payload})
	return m, nil
}

// Peer returns the peer's HELLO, nil until it has come.
func (m *Machine) Peer() *protocol.Hello { return m.PeerHello }

// Err is why the connection is closed, nil while it is not.
func (m *Machine) Err() error { return m.Failure }

// Live is how many requests and streams there are, of both sides.
func (m *Machine) Live() int { return m.Ours.Live + m.Theirs.Live }

// Draining reports whether a GOAWAY has been sent or has come.
func (m *Machine) Draining() bool { return m.goawaySent || m.GoawayReceived }

// PeerKind is the name that the peer has bound to a number, "" if it has not.
func (m *Machine) PeerKind(number uint32) string {
	if int(number) >= len(m.kinds) {
		return ""
	}
	return m.kinds[number]
}

// setPeerKind binds a number of the peer's. The list is as long as the highest
// number, which is that of kinds if the peer counts from 1: an idle connection is
// to be small.
func (m *Machine) setPeerKind(number uint32, name string) {
	if missing := int(number) + 1 - len(m.kinds); missing > 0 {
		m.kinds = append(m.kinds, make([]string, missing)...)
	}
	m.kinds[number] = name
}

// table is the one in which id lies; own reports whether it is ours.
func (m *Machine) table(id frame.Slot) (t *slotTable, own bool) {
	if id.Side() == m.role {
		return &m.Ours, true
	}
	return &m.Theirs, false
}

// find looks up the slot of a frame that has come.
func (m *Machine) find(id frame.Slot) (s *slot, own bool, is found) {
	t, own := m.table(id)
	s, is = t.find(id)
	return s, own, is
}

// settle frees the slot if both last frames have passed.
func (m *Machine) settle(id frame.Slot, s *slot) {
	if s.bits&(oursOpen|theirsOpen) != 0 || s.form == free {
		return
	}
	t, own := m.table(id)
	t.Live--
	if s.form == stream {
		t.Streams--
	}
	was := s.bits
	s.form, s.bits = free, s.bits&listed
	if own {
		t.spare = append(t.spare, id.Index())
		m.Freed = true
		if was&watched != 0 {
			m.Watched = append(m.Watched, id)
		}
	}
}

// closeWith closes the connection, with a GOAWAY as the last frame.
func (m *Machine) closeWith(err error, code protocol.Code) error {
	if m.Failure == nil {
		m.Failure = err
		m.last = len(m.Out)
		m.put(&frame.Frame{Type: frame.GOAWAY, ID: m.accepted, Code: code})
	}
	return m.Failure
}

// broken closes the connection because of the present frame.
func (m *Machine) broken(code protocol.Code, reason frame.Reason) error {
	f := &m.frame
	return m.closeWith(&frame.ProtocolError{Frame: f.Type, ID: f.ID, Code: code, Reason: reason}, code)
}

// wasted counts a frame that did no work.
func (m *Machine) wasted() error {
	m.ignored++
	if m.useless++; m.useless >= MaxUseless {
		return m.broken(protocol.Flood, frame.NoWork)
	}
	return nil
}

// late ignores CREDIT for a half that has ended, and counts it unless it may have crossed the end.
func (m *Machine) late() error {
	if m.excused == 0 {
		return m.wasted()
	}
	m.excused--
	m.ignored++
	return nil
}

// worked notes delivered bytes.
func (m *Machine) worked(n int) {
	if n > 0 {
		m.useless = 0
	}
}

// rttWindow is the length of a window of the rttFilter.
const rttWindow = 10 * time.Second

// RttFilter keeps the shortest round trip of the last 10 to 20 s, because a PING that waited
// behind bulk data has measured the queue and not the path.
type RttFilter struct {
	best, previous time.Duration // of this window and of the one before; 0: none
	since          time.Duration
}

// Add records a round trip measured at now.
func (f *RttFilter) Add(rtt, now time.Duration) {
	if now-f.since > rttWindow {
		f.previous, f.best, f.since = f.best, 0, now
	}
	if f.best == 0 || rtt < f.best {
		f.best = rtt
	}
}

// Min returns the shortest round trip, 0 if none was measured.
func (f *RttFilter) Min() time.Duration {
	if f.best == 0 || f.previous != 0 && f.previous < f.best {
		return f.previous
	}
	return f.best
}
