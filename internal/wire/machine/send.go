package machine

import (
	"strings"

	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Bind returns the number of one of our kinds, and tells the peer if it is new.
func (m *Machine) Bind(name string) (number uint32, err error) {
	if number, ok := m.bound[name]; ok {
		return number, nil
	}
	if m.Failure != nil {
		return 0, protocol.ErrClosed
	}
	if !frame.ValidKindName(name) {
		return 0, protocol.ErrKind
	}
	taken := make([]bool, frame.MaxKind+1)
	for _, n := range m.bound {
		taken[n] = true
	}
	for number = 1; number <= frame.MaxKind; number++ {
		if !taken[number] {
			m.bound[name] = number
			m.put(&frame.Frame{Type: frame.BIND, ID: number, Text: []byte(name)})
			return number, nil
		}
	}
	return 0, protocol.ErrKind
}

// MaxFrame is how much payload the peer takes.
func (m *Machine) MaxFrame() int {
	if m.PeerHello == nil {
		return int(frame.LimitFrame.Before)
	}
	return int(m.PeerHello.MaxFrame)
}

// tooLarge returns the error for a body that does not fit: for ever, or until HELLO has come.
func (m *Machine) tooLarge() error {
	if m.PeerHello == nil {
		return protocol.ErrNoCredit
	}
	return protocol.ErrTooLarge
}

func (m *Machine) putReset(s *slot, id frame.Slot, flags frame.Flags, code protocol.Code) {
	m.put(&frame.Frame{Type: frame.RESET, Flags: flags, ID: uint32(id), Code: code})
	if flags == 0 {
		s.set(resetSent)
	}
}

// endOurs notes that our last frame is in the output. A RESET behind it is not.
func (m *Machine) endOurs(s *slot) {
	if s.is(oursOpen) {
		s.clear(oursOpen)
		s.put = m.Takes
		if s.is(oursBytes) {
			m.excused = min(m.excused+lateGrants, MaxUseless)
		}
	}
}

// own finds a live slot for a call of the application.
func (m *Machine) own(id frame.Slot) (*slot, error) {
	if m.Failure != nil {
		return nil, protocol.ErrClosed
	}
	s, _, is := m.find(id)
	if is != isLive {
		return nil, protocol.ErrSlot
	}
	return s, nil
}

// cutText makes a text legal: not too long, and UTF-8.
func cutText(text string, most int) []byte {
	return []byte(strings.ToValidUTF8(text[:min(len(text), most)], ""))
}

// Drain tells the peer that we take no new work, and when it may come back.
func (m *Machine) Drain(back Goaway, why string) {
	if m.Failure == nil && !m.goawaySent {
		m.goawaySent = true
		m.put(&frame.Frame{
			Type: frame.GOAWAY, ID: m.accepted, Text: cutText(why, frame.MaxText),
			RetryAfter: wholeMilliseconds(back.RetryAfter), Jitter: wholeMilliseconds(back.Jitter),
		})
	}
}

// Close ends the connection; why goes to the peer as the last frame.
func (m *Machine) Close(code protocol.Code) {
	if m.Failure == nil {
		_ = m.closeWith(protocol.ErrClosed, code)
	}
}

// Drained ends the connection after a drain, where both sides know why.
func (m *Machine) Drained() {
	if m.Failure == nil {
		m.Failure = protocol.ErrClosed
	}
}
