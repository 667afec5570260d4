package wire

// begin allocates a slot for work of ours.
func (m *Machine) begin(f form) (Slot, *slot, error) {
	limit := limitInflight.before
	switch {
	case m.err != nil:
		return 0, nil, ErrClosed
	case m.Draining():
		return 0, nil, ErrDraining
	case m.peer != nil:
		limit = m.peer.MaxInflight
	}
	index, s, ok := m.ours.allocate(limit, f)
	if !ok {
		return 0, nil, ErrNoSlot
	}
	s.send = int64(limitStream.before)
	if m.peer != nil {
		s.send = int64(m.peer.StreamInitial)
	}
	return MakeSlot(m.role, index, s.generation), s, nil
}

// Request sends a request; with more, its body goes on with Data. meta is a map
// as AppendMeta writes it, or nil.
func (m *Machine) Request(kind uint32, meta, body []byte, more bool) (Slot, error) {
	f := Frame{Type: REQ, Kind: kind, Body: body}
	f.setMeta(meta)
	if more {
		f.Flags |= FlagMore
	}
	if f.size() > m.maxFrame() {
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

// Open opens a stream. flags are FlagEnd, FlagConfirm or both; first is data that
// goes along, as a whole or not at all (ErrNoCredit, ErrTooLarge). credit is what the peer may
// send at first, 0 for our HELLO's.
func (m *Machine) Open(kind uint32, flags Flags, credit uint32, meta, first []byte) (Slot, error) {
	f := Frame{Type: OPEN, Flags: flags & (FlagEnd | FlagConfirm), Kind: kind, Credit: credit, Body: first}
	f.setMeta(meta)
	window, conn := limitStream.before, limitConn.before
	if m.peer != nil {
		window, conn = m.peer.StreamInitial, m.peer.ConnBudget
	}
	switch {
	case f.size() > m.maxFrame():
		return 0, m.tooLarge()
	case f.Has(FlagConfirm) && len(first) > 0, credit > maxCredit:
		return 0, ErrSlot
	case len(first) > int(min(window, conn)):
		return 0, m.tooLarge()
	case int64(len(first)) > m.connSend:
		return 0, ErrNoCredit
	}
	id, s, err := m.begin(stream)
	if err != nil {
		return 0, err
	}
	s.set(theirsOpen | theirsBytes | oursBytes)
	if !f.Has(FlagEnd) {
		s.set(oursOpen)
	}
	if f.Has(FlagConfirm) {
		s.set(undecided)
	}
	s.window = int64(credit)
	if credit == 0 {
		s.window = int64(m.self.StreamInitial)
	}
	s.receive = s.window
	s.send -= int64(len(first))
	m.connSend -= int64(len(first))
	f.ID = uint32(id)
	m.put(&f)
	m.tx.first(first)
	return id, nil
}
