package machine

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// begin allocates a slot for a request or a stream of this side, and returns its number on the
// wire. Until the HELLO of the peer has arrived, the limits are the protocol's own for that time.
func (m *Machine) begin(f form) (frame.Slot, *slot, error) {
	limit := frame.LimitInflight.Before
	switch {
	case m.Failure != nil:
		return 0, nil, protocol.ErrClosed
	case m.Draining():
		return 0, nil, protocol.ErrDraining
	case m.PeerHello != nil:
		limit = m.PeerHello.MaxInflight
	}
	index, s, ok := m.Ours.allocate(limit, f)
	if !ok {
		return 0, nil, protocol.ErrNoSlot
	}
	s.send = int64(frame.LimitStream.Before)
	if m.PeerHello != nil {
		s.send = int64(m.PeerHello.StreamInitial)
	}
	return frame.MakeSlot(m.role, index, s.generation), s, nil
}

// Request sends a request, and returns the slot of its answer. With more, the rest of the body
// follows with Data. meta is a map as AppendMeta writes it, or nil.
func (m *Machine) Request(kind uint32, meta, body []byte, more bool) (frame.Slot, error) {
	f := frame.Frame{Type: frame.REQ, Kind: kind, Body: body}
	f.SetMeta(meta)
	if more {
		f.Flags |= frame.FlagMore
	}
	if f.Size() > m.MaxFrame() {
		return 0, m.tooLarge()
	}
	id, s, err := m.begin(request)
	if err != nil {
		return 0, err
	}
	s.set(theirsOpen)
	if more {
		s.set(oursOpen | oursBytes)
	}
	f.ID = uint32(id)
	m.put(&f)
	return id, nil
}

// Open opens a stream. flags are FlagEnd, FlagConfirm, both or none. first is data in the same
// frame: if it does not fit as a whole, Open fails with ErrNoCredit or ErrTooLarge and sends
// nothing. credit is the number of bytes that the peer may send at first; 0 stands for the number
// in the HELLO of this side.
func (m *Machine) Open(kind uint32, flags frame.Flags, credit uint32, meta, first []byte) (frame.Slot, error) {
	f := frame.Frame{Type: frame.OPEN, Flags: flags & (frame.FlagEnd | frame.FlagConfirm), Kind: kind, Credit: credit, Body: first}
	f.SetMeta(meta)
	window, conn := frame.LimitStream.Before, frame.LimitConn.Before
	if m.PeerHello != nil {
		window, conn = m.PeerHello.StreamInitial, m.PeerHello.ConnBudget
	}
	switch {
	case f.Size() > m.MaxFrame():
		return 0, m.tooLarge()
	case f.Has(frame.FlagConfirm) && len(first) > 0, credit > maxCredit:
		return 0, protocol.ErrSlot
	case len(first) > int(min(window, conn)):
		return 0, m.tooLarge()
	case int64(len(first)) > m.ConnSend:
		return 0, protocol.ErrNoCredit
	}
	id, s, err := m.begin(stream)
	if err != nil {
		return 0, err
	}
	s.set(theirsOpen | theirsBytes | oursBytes)
	if !f.Has(frame.FlagEnd) {
		s.set(oursOpen)
	}
	if f.Has(frame.FlagConfirm) {
		s.set(undecided)
	}
	s.window = int64(credit)
	if credit == 0 {
		s.window = int64(m.Self.StreamInitial)
	}
	s.receive = s.window
	s.send -= int64(len(first))
	m.ConnSend -= int64(len(first))
	f.ID = uint32(id)
	m.put(&f)
	m.Tx.first(first)
	return id, nil
}
