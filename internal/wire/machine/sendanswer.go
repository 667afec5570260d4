package machine

import (
	"cmp"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Respond answers a request, or accepts a stream. With more, which a stream
// needs, Data goes on.
func (m *Machine) Respond(id frame.Slot, meta, body []byte, more bool) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	f := frame.Frame{Type: frame.RES, ID: uint32(id), Body: body}
	f.SetMeta(meta)
	switch {
	case id.Side() == m.role || s.is(begun) || !s.is(oursOpen) || s.form == stream && !more:
		return protocol.ErrSlot
	case s.code != 0, s.is(cancelled) && more:
		return protocol.ErrStopped
	case f.Size() > m.MaxFrame():
		return protocol.ErrTooLarge
	}
	s.set(begun)
	s.clear(undecided)
	if more {
		f.Flags |= frame.FlagMore
		s.set(oursBytes)
		m.put(&f)
		return nil
	}
	m.put(&f)
	m.endOurs(s)
	s.set(discard)
	m.settle(id, s)
	return nil
}

// Fail ends a request or stream of the peer: by RES ERR if nothing was answered yet, else by RESET.
func (m *Machine) Fail(id frame.Slot, e *protocol.Error) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if id.Side() == m.role || !s.is(oursOpen) || e.Code == 0 {
		return protocol.ErrSlot
	}
	m.putFailure(id, s, e)
	return nil
}

func (m *Machine) putFailure(id frame.Slot, s *slot, e *protocol.Error) {
	reset := s.code != 0 && s.form == stream
	if s.is(begun) || reset {
		m.putReset(s, id, 0, cmp.Or(s.code, e.Code)) // the peer's fault goes first
	} else {
		f := frame.Frame{
			Type: frame.RES, Flags: frame.FlagErr, ID: uint32(id), Code: e.Code, NotStarted: e.NotStarted,
			RetryAfter: uint32(e.RetryAfter.Milliseconds()), Text: cutText(e.Msg, frame.MaxMessage),
		}
		if f.Body = e.Details; !frame.ValidDetails(f.Body) || f.Size()+frame.ErrorBlockSize+len(f.Text) > m.MaxFrame() {
			f.Body = nil
		}
		m.put(&f)
	}
	s.set(begun | discard)
	s.clear(undecided)
	m.endOurs(s)
	m.settle(id, s)
}

// Done records that the handler of a request or stream has returned. If its last frame was not
// sent, it is sent now, with the code of the fault, or INTERNAL. If the peer still sends, it is
// told to stop.
func (m *Machine) Done(id frame.Slot) {
	s, err := m.own(id)
	if err != nil || id.Side() == m.role {
		return
	}
	if !s.is(oursOpen) {
		if !s.is(discard) {
			m.putReset(s, id, frame.FlagStop, protocol.Cancelled)
			s.set(discard)
		}
		return
	}
	code := protocol.Internal
	if s.is(cancelled) {
		code = protocol.Cancelled
	}
	if s.code != 0 {
		code = s.code
	}
	m.putFailure(id, s, &protocol.Error{Code: code})
}
