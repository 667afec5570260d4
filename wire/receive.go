package wire

// Feed deals with the first frame of b and returns its length; 0 without an error
// means that b does not hold all of it. The preface has been cut off by the
// caller, with CheckPreface. The error is a *ProtocolError, or *Error if the peer
// has closed; it has closed the connection and repeats itself.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Feed(b []byte, ev *Event) (n int, err error) {
	*ev = Event{Frame: &m.frame}
	if m.err != nil {
		return 0, m.err
	}
	n, err = Next(b, m.self.MaxFrame, &m.frame)
	if err != nil {
		broken := err.(*ProtocolError)
		return 0, m.closeWith(err, broken.Code)
	}
	if n == 0 {
		return 0, m.awaited(b)
	}
	f := &m.frame
	m.rx.frame(f.Type, f.Flags, n)
	if hasSlot(f.Type) && f.ID > postLaneID {
		ev.Slot = f.Slot()
	}
	if m.peer == nil {
		return n, m.first(f, ev)
	}
	return n, m.step(f, ev)
}

// awaited judges a frame of which only a part has come: nothing is awaited from a
// peer that is not known yet but HELLO or a refusal, which are short.
func (m *Machine) awaited(b []byte) error {
	if m.peer != nil || len(b) < HeaderSize {
		return nil
	}
	h := ParseHeader(b)
	if h.Type() == HELLO || h.Type() == GOAWAY {
		return nil
	}
	m.frame = Frame{Type: h.Type(), ID: h.ID()}
	return m.broken(Protocol, NotHello)
}

// first deals with the frame that must be HELLO or a refusal.
func (m *Machine) first(f *Frame, ev *Event) error {
	switch f.Type {
	case HELLO:
		return m.onHello(f, ev)
	case GOAWAY:
		code := f.Code
		if code == 0 {
			code = Unavailable
		}
		return m.peerClosed(f, code)
	}
	return m.broken(Protocol, NotHello)
}

// step deals with a frame once HELLO has come: SPEC section 11.
func (m *Machine) step(f *Frame, ev *Event) error {
	switch f.Type {
	case POST, POSTS, REQ, RES, DATA:
		if f.Has(FlagComp) && len(m.self.Compression) == 0 {
			return m.broken(Protocol, NoCompression)
		}
	}
	switch f.Type {
	case POST, POSTS:
		return m.onPost(f, ev)
	case REQ, OPEN:
		return m.onFirst(f, ev)
	case RES:
		return m.onResponse(f, ev)
	case DATA:
		return m.onData(f, ev)
	case RESET:
		if f.Has(FlagStop) {
			return m.onStop(f, ev)
		}
		return m.onReset(f, ev)
	case CREDIT:
		return m.onCredit(f, ev)
	case CANCEL:
		return m.onCancel(f, ev)
	case PING:
		return m.onPing(f, ev)
	case ACK:
		return m.onAck(f, ev)
	case GOAWAY:
		return m.onGoaway(f, ev)
	case BIND:
		return m.onBind(f, ev)
	case HELLO:
		return m.broken(Protocol, SecondHello)
	}
	return m.wasted() // EXTENSION
}

func (m *Machine) onHello(f *Frame, ev *Event) error {
	h, err := ParseHello(f.Body)
	if err != nil {
		return m.closeWith(err, Protocol)
	}
	if h.MinVersion > m.self.MaxVersion || h.MaxVersion < m.self.MinVersion {
		return m.broken(Version, NoVersion)
	}
	m.peer = h
	m.idle = min(m.idle, h.Idle)
	for name, number := range h.Kinds {
		m.setPeerKind(number, name)
	}
	if s := h.Session; s != nil {
		m.have, m.known, m.done = s.Base, s.Base, s.Base
	}
	m.connSend += int64(h.ConnBudget - limitConn.before)
	m.postsSend += int64(h.PostInitial - limitPost.before)
	for i := range m.ours.slots {
		m.ours.slots[i].send += int64(h.StreamInitial - limitStream.before)
	}
	ev.Op = OpHello
	return nil
}

// peerClosed ends the connection as the peer has said, without a GOAWAY of ours.
func (m *Machine) peerClosed(f *Frame, code Code) error {
	m.away = Goaway{milliseconds(f.RetryAfter), milliseconds(f.Jitter)}
	m.untouched = f.ID == 0 && m.rx.frames[RES] == 0
	m.err = &Error{Code: code, Msg: string(f.Text), RetryAfter: milliseconds(f.RetryAfter)}
	return m.err
}

func (m *Machine) onGoaway(f *Frame, ev *Event) error {
	if f.Code != 0 {
		return m.peerClosed(f, f.Code)
	}
	m.goawayReceived = true
	m.away = Goaway{milliseconds(f.RetryAfter), milliseconds(f.Jitter)}
	ev.Op = OpGoaway
	return nil
}

func (m *Machine) onBind(f *Frame, ev *Event) error {
	if m.PeerKind(f.ID) != "" {
		return m.broken(Protocol, BoundTwice)
	}
	m.setPeerKind(f.ID, string(f.Text))
	ev.Op = OpBind
	return m.wasted()
}

func (m *Machine) onPost(f *Frame, ev *Event) error {
	n := len(f.Body)
	if m.PeerKind(f.ID) == "" {
		return m.broken(Protocol, UnboundKind)
	}
	if int64(n) > m.posts.receive {
		return m.broken(FlowControl, OverPosts)
	}
	m.posts.receive -= int64(n)
	m.worked(n)
	bodies := uint64(1)
	if f.Type == POSTS {
		bodies = f.Count
	}
	m.rx.posts += bodies
	if f.Has(FlagAck) {
		if m.known > m.have {
			ev.Skip = int(min(bodies, m.known-m.have))
			m.rx.dropPosts(f, ev.Skip)
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

func (m *Machine) onAck(f *Frame, ev *Event) error {
	if f.Count < m.acked {
		return m.broken(Protocol, AckBack)
	}
	if f.Count > m.everSent {
		return m.broken(Protocol, AckAhead)
	}
	m.acked = f.Count
	ev.Op = OpAck
	return nil
}

func (m *Machine) onCredit(f *Frame, ev *Event) error {
	switch f.ID {
	case connectionID:
		m.connSend += int64(f.Credit)
	case postLaneID:
		m.postsSend += int64(f.Credit)
	default:
		return m.onSlotCredit(f, ev)
	}
	if max(m.connSend, m.postsSend) > maxCredit {
		return m.broken(FlowControl, CreditOverflow)
	}
	ev.Op = OpCredit
	return m.granted(f)
}

func (m *Machine) onSlotCredit(f *Frame, ev *Event) error {
	s, _, is := m.find(f.Slot())
	if is != isLive {
		return m.notLive(is)
	}
	if !s.is(oursOpen) {
		return m.wasted()
	}
	s.send += int64(f.Credit)
	if s.send > maxCredit {
		return m.broken(FlowControl, CreditOverflow)
	}
	ev.Op = OpCredit
	return m.granted(f)
}

// granted counts a grant that is too small to be worth its frame.
func (m *Machine) granted(f *Frame) error {
	if f.Credit < smallGrant {
		return m.wasted()
	}
	return nil
}

// notLive is what a frame gets that names a slot which is not live.
func (m *Machine) notLive(is found) error {
	if is == isUnknown {
		return m.broken(Protocol, NeverOpened)
	}
	m.rx.stale++
	return m.wasted()
}
