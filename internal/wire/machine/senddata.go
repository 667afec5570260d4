package machine

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// Data sends as much of p as frame and credits allow, and returns how much; 0
// with ErrNoCredit. flags are FlagEnd, to end our half behind p, and FlagMore.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Data(id frame.Slot, p []byte, flags frame.Flags) (n int, err error) {
	n, err = m.DataHeader(id, len(p), flags)
	m.Out = append(m.Out, p[:n]...)
	return n, err
}

// DataHeader is Data without the bytes themselves. The caller puts them at the position that Mark
// returns then, in the bytes that the next Take returns.
func (m *Machine) DataHeader(id frame.Slot, size int, flags frame.Flags) (n int, err error) {
	s, err := m.own(id)
	switch {
	case err != nil:
		return 0, err
	case !s.is(oursOpen | oursBytes):
		return 0, protocol.ErrSlot
	case s.is(stopped) && (size > 0 || s.code != 0):
		return 0, protocol.ErrStopped
	case s.is(undecided) && id.Side() != m.role:
		return 0, protocol.ErrSlot
	}
	n = int(min(int64(size), m.room(s)))
	if n == 0 && size > 0 {
		return 0, protocol.ErrNoCredit
	}
	if flags &= frame.FlagEnd | frame.FlagMore; n < size {
		flags = frame.FlagMore
	}
	s.send -= int64(n)
	m.ConnSend -= int64(n)
	m.putHeader(frame.MakeHeader(frame.DATA, flags, uint32(id), n))
	if id.Side() != m.role {
		s.set(begun)
	}
	if flags&frame.FlagEnd != 0 {
		m.endOurs(s)
		m.settle(id, s)
	}
	return n, nil
}

// SendRoom is how many bytes Data would take at once; it takes none of a slot that is gone.
func (m *Machine) SendRoom(id frame.Slot) int {
	s, err := m.own(id)
	if err != nil {
		return -1
	}
	return int(m.room(s))
}

// room is how many bytes a frame of a slot may have now.
func (m *Machine) room(s *slot) int64 {
	if s.is(undecided) {
		return 0
	}
	return min(s.send, m.ConnSend, int64(m.MaxFrame()))
}

// Mark is the place in the output behind the last frame.
func (m *Machine) Mark() int { return len(m.Out) }

// Consume gives back the credit of n bytes of DATA, or of first data, that were
// delivered. It is called once for each of them, also when the slot has failed or
// is gone.
func (m *Machine) Consume(id frame.Slot, n int) {
	m.giveConn(n)
	s, err := m.own(id)
	if err != nil || n == 0 || !s.is(theirsOpen) || s.is(discard) {
		return
	}
	s.owed += int64(n)
	if s.owed >= m.grantStep(s) && !s.is(listed) {
		s.set(listed)
		m.Grants = append(m.Grants, id)
	}
}

// grantStep is how much credit of a stream is granted at once: half the window that it
// began with, but an eighth of one that has become much larger. Steps of half a
// large window would keep a long path half empty.
func (m *Machine) grantStep(s *slot) int64 {
	return max((min(s.window, int64(m.Self.StreamInitial))+1)/2, s.window/4)
}

// Widen lets n more bytes of a stream be under way than until now. They are
// granted along with the next that are consumed.
func (m *Machine) Widen(id frame.Slot, n int) {
	s, err := m.own(id)
	if err != nil || !s.is(theirsOpen) || s.is(discard) || s.window+int64(n) > maxCredit {
		return
	}
	s.window += int64(n)
	s.owed += int64(n)
}

// Discard gives back the credit of n bytes of the present frame that are not delivered.
func (m *Machine) Discard(n int) {
	m.giveConn(n)
	m.Rx.discard(&m.frame, n)
}

func (m *Machine) giveConn(n int) {
	if m.Conn.give(n) {
		m.ConnDue = true
	}
}

// Cancel gives up a request of ours: RES is dropped when it comes.
func (m *Machine) Cancel(id frame.Slot) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if id.Side() != m.role || s.form != request {
		return protocol.ErrSlot
	}
	if s.is(cancelled) {
		return nil
	}
	m.put(&frame.Frame{Type: frame.CANCEL, ID: uint32(id)})
	s.set(cancelled | discard | stopped)
	m.endOurs(s)
	m.settle(id, s)
	return nil
}

// Stop tells the peer that this side reads no more. Bytes that still arrive are dropped.
func (m *Machine) Stop(id frame.Slot, code protocol.Code) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if !s.is(theirsOpen|theirsBytes) || s.is(discard) || code == 0 {
		return protocol.ErrSlot
	}
	m.putReset(s, id, frame.FlagStop, code)
	s.set(discard)
	return nil
}

// Reset ends both halves of a stream, or of a promoted request, at once.
func (m *Machine) Reset(id frame.Slot, code protocol.Code) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if !s.carries(id.Side() == m.role) || s.is(resetSent) || code == 0 {
		return protocol.ErrSlot
	}
	m.putReset(s, id, 0, code)
	s.set(discard | stopped)
	m.endOurs(s)
	m.settle(id, s)
	return nil
}
