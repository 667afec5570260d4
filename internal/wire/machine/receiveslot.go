package machine

import (
	"math"
	"time"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Milliseconds returns a time of the protocol as a Duration.
func Milliseconds(n uint32) time.Duration { return time.Duration(n) * time.Millisecond }

func wholeMilliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), math.MaxUint32))
}

// onFirst deals with REQ and OPEN, which begin a slot of the peer's.
func (m *Machine) onFirst(f *frame.Frame, ev *Event) error {
	id := f.Slot()
	if id.Side() == m.role {
		return m.broken(protocol.Protocol, frame.WrongSide)
	}
	s, reason := m.Theirs.next(id, m.Self.MaxInflight, m.Takes)
	if reason != "" {
		return m.broken(protocol.Protocol, reason)
	}
	if m.PeerKind(f.Kind) == "" {
		return m.broken(protocol.Protocol, frame.UnboundKind)
	}
	n := 0 // bytes that count against credit
	if f.Type == frame.OPEN {
		m.Rx.first(f.Body)
		if n = len(f.Body); int64(n) > m.Conn.Receive {
			return m.broken(protocol.FlowControl, frame.OverConnection)
		}
		m.Conn.Receive -= int64(n)
	}
	m.beginTheirs(s, f)
	switch {
	case m.goawaySent:
		return m.refuse(id, s, n, protocol.Unavailable, "draining")
	case f.Meta.HasDeadline && f.Meta.Deadline == 0:
		return m.refuse(id, s, n, protocol.DeadlineExceeded, "")
	case int64(n) > s.receive:
		return m.refuse(id, s, n, protocol.FlowControl, "")
	}
	m.accepted++
	s.receive -= int64(n)
	m.worked(len(f.Body))
	if ev.Op = OpRequest; f.Type == frame.OPEN {
		ev.Op = OpOpen
	}
	return nil
}

// beginTheirs sets up the slot that f begins.
func (m *Machine) beginTheirs(s *slot, f *frame.Frame) {
	window := int64(m.Self.StreamInitial)
	if f.Type == frame.OPEN {
		m.Theirs.begin(s, stream)
		s.set(oursOpen | oursBytes | theirsBytes)
		if !f.Has(frame.FlagEnd) {
			s.set(theirsOpen)
		}
		if f.Has(frame.FlagConfirm) {
			s.set(undecided)
		}
	} else {
		m.Theirs.begin(s, request)
		s.set(oursOpen)
		if f.Has(frame.FlagMore) {
			s.set(theirsOpen | theirsBytes)
		}
	}
	s.receive, s.window = window, window
	if s.send = int64(f.Credit); s.send == 0 {
		s.send = int64(m.PeerHello.StreamInitial)
	}
}

// refuse answers for the application; later frames of the slot are dropped.
func (m *Machine) refuse(id frame.Slot, s *slot, n int, code protocol.Code, why string) error {
	m.Discard(n)
	m.putFailure(id, s, &protocol.Error{Code: code, Msg: why, NotStarted: true})
	return m.wasted()
}

func (m *Machine) onResponse(f *frame.Frame, ev *Event) error {
	id := f.Slot()
	s, own, is := m.find(id)
	switch {
	case is != isLive:
		return m.notLive(is)
	case !own:
		return m.broken(protocol.Protocol, frame.WrongSide)
	case s.form == stream:
		return m.onDecision(id, s, ev)
	case s.is(begun):
		return m.broken(protocol.Protocol, frame.AnsweredTwice)
	}
	m.worked(len(f.Body))
	wanted := !s.is(cancelled)
	s.set(begun)
	if f.Has(frame.FlagMore) {
		s.set(theirsBytes)
		s.receive, s.window = int64(m.Self.StreamInitial), int64(m.Self.StreamInitial)
	} else {
		s.clear(theirsOpen)
		if s.is(oursOpen) { // the rest of our body is not wanted
			m.put(&frame.Frame{Type: frame.CANCEL, ID: f.ID})
			m.endOurs(s)
		}
		m.settle(id, s)
	}
	if wanted {
		ev.Op = OpResponse
	}
	return nil
}

// onDecision deals with RES on a stream that we have opened.
func (m *Machine) onDecision(id frame.Slot, s *slot, ev *Event) error {
	f := &m.frame
	switch {
	case !f.Has(frame.FlagErr) && !f.Has(frame.FlagMore):
		return m.broken(protocol.Protocol, frame.PlainAnswer)
	case s.is(begun):
		return m.broken(protocol.Protocol, frame.LateAnswer)
	}
	s.set(begun)
	s.clear(undecided)
	if !s.is(resetSent) {
		ev.Op = OpResponse
		m.worked(len(f.Body))
	}
	if f.Has(frame.FlagErr) {
		s.clear(theirsOpen)
		if s.is(oursOpen) {
			m.putReset(s, id, 0, protocol.Cancelled)
			m.endOurs(s)
		}
		m.settle(id, s)
	}
	return nil
}

func (m *Machine) onData(f *frame.Frame, ev *Event) error {
	id, n := f.Slot(), len(f.Body)
	s, own, is := m.find(id)
	if is == isUnknown {
		return m.broken(protocol.Protocol, frame.NeverOpened)
	}
	if int64(n) > m.Conn.Receive {
		return m.broken(protocol.FlowControl, frame.OverConnection)
	}
	m.Conn.Receive -= int64(n)
	if is == isStale {
		m.Rx.Stale++
		m.Discard(n)
		return m.wasted()
	}
	switch {
	case !s.is(theirsBytes):
		return m.broken(protocol.Protocol, frame.NotAStream)
	case s.is(undecided) && (own && !s.is(resetSent) || n > 0):
		return m.broken(protocol.Protocol, frame.Undecided)
	case !s.is(theirsOpen):
		m.Discard(n)
		return m.abort(id, s, own, protocol.StreamClosed, ev)
	}
	if own {
		s.set(begun)
	}
	if f.Has(frame.FlagEnd) {
		s.clear(theirsOpen)
	}
	if s.is(discard) {
		m.Discard(n)
		m.settle(id, s)
		return m.idleData(f)
	}
	if int64(n) > s.receive {
		m.Discard(n)
		return m.abort(id, s, own, protocol.FlowControl, ev)
	}
	s.receive -= int64(n)
	m.worked(n)
	ev.Op = OpData
	m.settle(id, s)
	return m.idleData(f)
}

// idleData counts DATA that neither carries nor ends anything.
func (m *Machine) idleData(f *frame.Frame) error {
	if len(f.Body) == 0 && !f.Has(frame.FlagEnd) {
		return m.wasted()
	}
	return nil
}

// abort ends a stream whose peer broke its rules. A slot of ours is reset at
// once; one of theirs when the handler has returned, so that breaking rules does
// not make room for the next handler.
func (m *Machine) abort(id frame.Slot, s *slot, own bool, code protocol.Code, ev *Event) error {
	if s.is(discard) {
		return m.wasted()
	}
	ev.Op, ev.Code = OpReset, code
	s.set(discard | stopped)
	if own || !s.is(oursOpen) {
		m.putReset(s, id, 0, code)
		m.endOurs(s)
		m.settle(id, s)
	} else {
		s.code = code
	}
	return m.wasted()
}

func (m *Machine) onReset(f *frame.Frame, ev *Event) error {
	id := f.Slot()
	s, own, is := m.find(id)
	if is != isLive {
		return m.notLive(is)
	}
	if !s.carries(own) {
		return m.broken(protocol.Protocol, frame.NotAStream)
	}
	m.failBoth(id, s, own, f.Code, ev)
	if !own {
		return m.wasted()
	}
	return nil
}

// failBoth ends both halves because the peer has said so.
func (m *Machine) failBoth(id frame.Slot, s *slot, own bool, code protocol.Code, ev *Event) {
	known := s.is(resetSent) || s.code != 0 || own && s.is(cancelled) ||
		s.is(discard) && !s.is(oursOpen)
	s.clear(theirsOpen)
	s.set(discard | stopped)
	if !known {
		ev.Op, ev.Code = OpReset, code
	}
	switch {
	case !s.is(oursOpen):
	case own:
		m.putReset(s, id, 0, code)
		m.endOurs(s)
	case s.code == 0:
		s.code = code
	}
	m.settle(id, s)
}

func (m *Machine) onStop(f *frame.Frame, ev *Event) error {
	s, _, is := m.find(f.Slot())
	switch {
	case is != isLive:
		return m.notLive(is)
	case !s.is(oursOpen):
		return m.wasted()
	case !s.is(oursBytes):
		return m.broken(protocol.Protocol, frame.NotAStream)
	case s.is(stopped):
		return m.wasted()
	}
	s.set(stopped)
	ev.Op, ev.Code = OpStop, f.Code
	return nil
}

func (m *Machine) onCancel(f *frame.Frame, ev *Event) error {
	id := f.Slot()
	s, own, is := m.find(id)
	switch {
	case is != isLive:
		return m.notLive(is)
	case own:
		return m.broken(protocol.Protocol, frame.WrongSide)
	case s.form == stream:
		return m.broken(protocol.Protocol, frame.NotAStream)
	case s.is(cancelled):
		return m.wasted()
	}
	s.set(cancelled)
	switch {
	case s.carries(false):
		m.failBoth(id, s, false, protocol.Cancelled, ev)
	case s.is(begun): // answered; only their body was open
		s.clear(theirsOpen)
		m.settle(id, s)
	default:
		s.clear(theirsOpen)
		s.set(discard)
		ev.Op = OpCancel
	}
	return m.wasted()
}
