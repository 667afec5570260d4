package machine

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Feed deals with the first frame of b and returns its length; 0 without an error
// means that b does not hold all of it. The preface has been cut off by the
// caller, with CheckPreface. The error is a *ProtocolError, or *Error if the peer
// has closed; it has closed the connection and repeats itself.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Feed(b []byte, ev *Event) (n int, err error) {
	*ev = Event{Frame: &m.frame}
	if m.Failure != nil {
		return 0, m.Failure
	}
	n, err = frame.Next(b, m.Self.MaxFrame, &m.frame)
	if err != nil {
		broken := err.(*frame.ProtocolError)
		return 0, m.closeWith(err, broken.Code)
	}
	if n == 0 {
		return 0, m.awaited(b)
	}
	f := &m.frame
	m.Rx.frame(f.Type, f.Flags, n)
	if frame.HasSlot(f.Type) && f.ID > frame.PostLaneID {
		ev.Slot = f.Slot()
	}
	if m.PeerHello == nil {
		return n, m.first(f, ev)
	}
	return n, m.step(f, ev)
}

// awaited judges a frame of which only a part has come: nothing is awaited from a
// peer that is not known yet but HELLO or a refusal, which are short.
func (m *Machine) awaited(b []byte) error {
	if m.PeerHello != nil || len(b) < frame.HeaderSize {
		return nil
	}
	h := frame.ParseHeader(b)
	if h.Type() == frame.HELLO || h.Type() == frame.GOAWAY {
		return nil
	}
	m.frame = frame.Frame{Type: h.Type(), ID: h.ID()}
	return m.broken(protocol.Protocol, frame.NotHello)
}

// first deals with the frame that must be HELLO or a refusal.
func (m *Machine) first(f *frame.Frame, ev *Event) error {
	switch f.Type {
	case frame.HELLO:
		return m.onHello(f, ev)
	case frame.GOAWAY:
		code := f.Code
		if code == 0 {
			code = protocol.Unavailable
		}
		return m.peerClosed(f, code)
	}
	return m.broken(protocol.Protocol, frame.NotHello)
}

// step deals with a frame once HELLO has come: SPEC section 11.
func (m *Machine) step(f *frame.Frame, ev *Event) error {
	switch f.Type {
	case frame.POST, frame.POSTS, frame.REQ, frame.RES, frame.DATA:
		if f.Has(frame.FlagComp) && len(m.Self.Compression) == 0 {
			return m.broken(protocol.Protocol, frame.NoCompression)
		}
	}
	switch f.Type {
	case frame.POST, frame.POSTS:
		return m.onPost(f, ev)
	case frame.REQ, frame.OPEN:
		return m.onFirst(f, ev)
	case frame.RES:
		return m.onResponse(f, ev)
	case frame.DATA:
		return m.onData(f, ev)
	case frame.RESET:
		if f.Has(frame.FlagStop) {
			return m.onStop(f, ev)
		}
		return m.onReset(f, ev)
	case frame.CREDIT:
		return m.onCredit(f, ev)
	case frame.CANCEL:
		return m.onCancel(f, ev)
	case frame.PING:
		return m.onPing(f, ev)
	case frame.ACK:
		return m.onAck(f, ev)
	case frame.GOAWAY:
		return m.onGoaway(f, ev)
	case frame.BIND:
		return m.onBind(f, ev)
	case frame.HELLO:
		return m.broken(protocol.Protocol, frame.SecondHello)
	}
	return m.wasted() // EXTENSION
}

func (m *Machine) onHello(f *frame.Frame, ev *Event) error {
	h, err := frame.ParseHello(f.Body)
	if err != nil {
		return m.closeWith(err, protocol.Protocol)
	}
	if h.MinVersion > m.Self.MaxVersion || h.MaxVersion < m.Self.MinVersion {
		return m.broken(protocol.Version, frame.NoVersion)
	}
	m.PeerHello = h
	m.Idle = min(m.Idle, h.Idle)
	for name, number := range h.Kinds {
		m.setPeerKind(number, name)
	}
	if s := h.Session; s != nil {
		m.have, m.known, m.done = s.Base, s.Base, s.Base
	}
	m.ConnSend += int64(h.ConnBudget - frame.LimitConn.Before)
	m.PostsSend += int64(h.PostInitial - frame.LimitPost.Before)
	for i := range m.Ours.slots {
		m.Ours.slots[i].send += int64(h.StreamInitial - frame.LimitStream.Before)
	}
	ev.Op = OpHello
	return nil
}

// peerClosed ends the connection as the peer has said, without a GOAWAY of ours.
func (m *Machine) peerClosed(f *frame.Frame, code protocol.Code) error {
	m.Away = Goaway{Milliseconds(f.RetryAfter), Milliseconds(f.Jitter)}
	m.Untouched = f.ID == 0 && m.Rx.Frames[frame.RES] == 0
	m.Failure = &protocol.Error{Code: code, Msg: string(f.Text), RetryAfter: Milliseconds(f.RetryAfter)}
	return m.Failure
}

func (m *Machine) onGoaway(f *frame.Frame, ev *Event) error {
	if f.Code != 0 {
		return m.peerClosed(f, f.Code)
	}
	m.GoawayReceived = true
	m.Away = Goaway{Milliseconds(f.RetryAfter), Milliseconds(f.Jitter)}
	ev.Op = OpGoaway
	return nil
}

func (m *Machine) onBind(f *frame.Frame, ev *Event) error {
	if m.PeerKind(f.ID) != "" {
		return m.broken(protocol.Protocol, frame.BoundTwice)
	}
	m.setPeerKind(f.ID, string(f.Text))
	ev.Op = OpBind
	return m.wasted()
}

func (m *Machine) onPost(f *frame.Frame, ev *Event) error {
	n := len(f.Body)
	if m.PeerKind(f.ID) == "" {
		return m.broken(protocol.Protocol, frame.UnboundKind)
	}
	if int64(n) > m.Posts.Receive {
		return m.broken(protocol.FlowControl, frame.OverPosts)
	}
	m.Posts.Receive -= int64(n)
	m.worked(n)
	bodies := uint64(1)
	if f.Type == frame.POSTS {
		bodies = f.Count
	}
	m.Rx.Posts += bodies
	if f.Has(frame.FlagAck) {
		if m.known > m.have {
			ev.Skip = int(min(bodies, m.known-m.have))
			m.Rx.dropPosts(f, ev.Skip)
		}
		m.have += bodies
		if uint64(ev.Skip) == bodies {
			m.PostsDone(n)
			return nil
		}
		ev.Last = m.have
	}
	ev.Op = OpPost
	return nil
}

func (m *Machine) onAck(f *frame.Frame, ev *Event) error {
	if f.Count < m.Acked {
		return m.broken(protocol.Protocol, frame.AckBack)
	}
	if f.Count > m.everSent {
		return m.broken(protocol.Protocol, frame.AckAhead)
	}
	m.Acked = f.Count
	ev.Op = OpAck
	return nil
}

func (m *Machine) onCredit(f *frame.Frame, ev *Event) error {
	switch f.ID {
	case frame.ConnectionID:
		m.ConnSend += int64(f.Credit)
	case frame.PostLaneID:
		m.PostsSend += int64(f.Credit)
	default:
		return m.onSlotCredit(f, ev)
	}
	if max(m.ConnSend, m.PostsSend) > maxCredit {
		return m.broken(protocol.FlowControl, frame.CreditOverflow)
	}
	ev.Op = OpCredit
	return m.granted(f)
}

func (m *Machine) onSlotCredit(f *frame.Frame, ev *Event) error {
	s, _, is := m.find(f.Slot())
	switch {
	case is == isUnknown:
		return m.notLive(is)
	case is == isStale:
		m.Rx.Stale++
		return m.late()
	case !s.is(oursOpen):
		return m.late()
	}
	s.send += int64(f.Credit)
	if s.send > maxCredit {
		return m.broken(protocol.FlowControl, frame.CreditOverflow)
	}
	ev.Op = OpCredit
	return m.granted(f)
}

// granted counts a grant that is too small to be worth its frame.
func (m *Machine) granted(f *frame.Frame) error {
	if f.Credit < smallGrant {
		return m.wasted()
	}
	return nil
}

// notLive handles a frame whose slot is not live.
func (m *Machine) notLive(is found) error {
	if is == isUnknown {
		return m.broken(protocol.Protocol, frame.NeverOpened)
	}
	m.Rx.Stale++
	return m.wasted()
}
