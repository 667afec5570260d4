package wire

import "strings"

// Bind returns the number of one of our kinds, and tells the peer if it is new.
func (m *Machine) Bind(name string) (number uint32, err error) {
	if number, ok := m.bound[name]; ok {
		return number, nil
	}
	if m.err != nil {
		return 0, ErrClosed
	}
	if !ValidKindName(name) {
		return 0, ErrKind
	}
	taken := make([]bool, MaxKind+1)
	for _, n := range m.bound {
		taken[n] = true
	}
	for number = 1; number <= MaxKind; number++ {
		if !taken[number] {
			m.bound[name] = number
			m.put(&Frame{Type: BIND, ID: number, Text: []byte(name)})
			return number, nil
		}
	}
	return 0, ErrKind
}

// maxFrame is how much payload the peer takes.
func (m *Machine) maxFrame() int {
	if m.peer == nil {
		return int(limitFrame.before)
	}
	return int(m.peer.MaxFrame)
}

// tooLarge is for what does not fit: for ever, or until HELLO has come.
func (m *Machine) tooLarge() error {
	if m.peer == nil {
		return ErrNoCredit
	}
	return ErrTooLarge
}

func (m *Machine) putReset(s *slot, id Slot, flags Flags, code Code) {
	m.put(&Frame{Type: RESET, Flags: flags, ID: uint32(id), Code: code})
	if flags == 0 {
		s.set(resetSent)
	}
}

// endOurs notes that our last frame is in the output. A RESET behind it is not.
func (m *Machine) endOurs(s *slot) {
	if s.is(oursOpen) {
		s.clear(oursOpen)
		s.put = m.takes
	}
}

// own finds a live slot for a call of the application.
func (m *Machine) own(id Slot) (*slot, error) {
	if m.err != nil {
		return nil, ErrClosed
	}
	s, _, is := m.find(id)
	if is != isLive {
		return nil, ErrSlot
	}
	return s, nil
}

// cutText makes a text legal: not too long, and UTF-8.
func cutText(text string, most int) []byte {
	return []byte(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}

// Drain tells the peer that we take no new work, and when it may come back.
func (m *Machine) Drain(back Goaway, why string) {
	if m.err == nil && !m.goawaySent {
		m.goawaySent = true
		m.put(&Frame{
			Type: GOAWAY, ID: m.accepted, Text: cutText(why, MaxText),
			RetryAfter: wholeMilliseconds(back.RetryAfter), Jitter: wholeMilliseconds(back.Jitter),
		})
	}
}

// Close ends the connection; why goes to the peer as the last frame.
func (m *Machine) Close(code Code) {
	if m.err == nil {
		_ = m.closeWith(ErrClosed, code)
	}
}

// Drained ends the connection after a drain, where both sides know why.
func (m *Machine) Drained() {
	if m.err == nil {
		m.err = ErrClosed
	}
}
