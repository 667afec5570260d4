package wire

import "cmp"

// Respond answers a request, or accepts a stream. With more, which a stream
// needs, Data goes on.
func (m *Machine) Respond(id Slot, meta, body []byte, more bool) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	f := Frame{Type: RES, ID: uint32(id), Body: body}
	f.setMeta(meta)
	switch {
	case id.Side() == m.role || s.is(begun) || !s.is(oursOpen) || s.form == stream && !more:
		return ErrSlot
	case s.code != 0, s.is(cancelled) && more:
		return ErrStopped
	case f.size() > m.maxFrame():
		return ErrTooLarge
	}
	s.set(begun)
	s.clear(undecided)
	if more {
		f.Flags |= FlagMore
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

// Fail ends what the peer has begun: RES ERR if nothing was answered yet, else
// RESET.
func (m *Machine) Fail(id Slot, e *Error) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if id.Side() == m.role || !s.is(oursOpen) || e.Code == 0 {
		return ErrSlot
	}
	m.putFailure(id, s, e)
	return nil
}

func (m *Machine) putFailure(id Slot, s *slot, e *Error) {
	reset := s.code != 0 && s.form == stream
	if s.is(begun) || reset {
		m.putReset(s, id, 0, cmp.Or(s.code, e.Code)) // what the peer has done wrong goes first
	} else {
		f := Frame{
			Type: RES, Flags: FlagErr, ID: uint32(id), Code: e.Code, NotStarted: e.NotStarted,
			RetryAfter: uint32(e.RetryAfter.Milliseconds()), Text: cutText(e.Msg, MaxMessage),
		}
		if f.Body = e.Details; f.size()+errorBlockSize+len(f.Text) > m.maxFrame() {
			f.Body = nil
		}
		m.put(&f)
	}
	s.set(begun | discard)
	s.clear(undecided)
	m.endOurs(s)
	m.settle(id, s)
}

// Done tells that the handler of a request or stream has returned. If its last
// frame is not out, it goes now, with the code of what went wrong, or INTERNAL.
// If the peer still sends, it is told to stop.
func (m *Machine) Done(id Slot) {
	s, err := m.own(id)
	if err != nil || id.Side() == m.role {
		return
	}
	if !s.is(oursOpen) {
		if !s.is(discard) {
			m.putReset(s, id, FlagStop, Cancelled)
			s.set(discard)
		}
		return
	}
	code := Internal
	if s.is(cancelled) {
		code = Cancelled
	}
	if s.code != 0 {
		code = s.code
	}
	m.putFailure(id, s, &Error{Code: code})
}
