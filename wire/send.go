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

// mostPost bounds a frame of posts: half of the lane, since the peer may hold
// back grants for the other half.
func (m *Machine) mostPost() int {
	lane := limitPost.before
	if m.peer != nil {
		lane = m.peer.PostInitial
	}
	return min(m.maxFrame(), int(lane/2))
}

// Post sends a body of a kind that Bind has returned. It joins the body to the
// last frame, if that is of posts of the same kind. With wantAck it has a number,
// which is returned; see SPEC section 8. ErrNoCredit, ErrTooLarge, ErrClosed.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Post(kind uint32, body []byte, wantAck bool) (number uint64, err error) {
	if m.err != nil {
		return 0, ErrClosed
	}
	most := m.mostPost()
	if len(body) > most {
		return 0, m.tooLarge()
	}
	var flags Flags
	if wantAck {
		flags = FlagAck
	}
	cost, ok := m.appendPost(kind, flags, body, most, m.postsSend)
	if !ok {
		return 0, ErrNoCredit
	}
	m.postsSend -= int64(cost)
	if !wantAck {
		return 0, nil
	}
	m.sent++
	m.everSent = max(m.everSent, m.sent)
	return m.sent, nil
}

// SentBefore tells how many acknowledged posts of the session were sent on
// earlier connections: the peer may know more than this one has carried.
func (m *Machine) SentBefore(n uint64) { m.everSent = max(m.everSent, n) }

// PostsDone gives back the credit of a POST or POSTS whose payload has n bytes.
func (m *Machine) PostsDone(n int) {
	if m.posts.give(n) {
		m.postDue = true
	}
}

// Known tells, at OpHello, how many posts of the peer's session were handled on
// earlier connections. They are dropped when they come again.
func (m *Machine) Known(n uint64) {
	if n > m.known {
		m.known = n
		m.Acknowledge(n)
	}
}

// Acknowledge tells that the handlers of all posts up to number have completed.
func (m *Machine) Acknowledge(number uint64) {
	if number > m.done {
		m.done, m.ackDue = number, number
	}
}

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
// goes along, as a whole or not at all (ErrNoCredit). credit is what the peer may
// send at first, 0 for our HELLO's.
func (m *Machine) Open(kind uint32, flags Flags, credit uint32, meta, first []byte) (Slot, error) {
	f := Frame{Type: OPEN, Flags: flags & (FlagEnd | FlagConfirm), Kind: kind, Credit: credit, Body: first}
	f.setMeta(meta)
	window := limitStream.before
	if m.peer != nil {
		window = m.peer.StreamInitial
	}
	switch {
	case f.size() > m.maxFrame():
		return 0, m.tooLarge()
	case f.Has(FlagConfirm) && len(first) > 0, credit > maxCredit:
		return 0, ErrSlot
	case int64(len(first)) > min(m.connSend, int64(window)):
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
	return id, nil
}

// setMeta gives f a meta block.
func (f *Frame) setMeta(meta []byte) {
	if meta != nil {
		f.Flags |= FlagMeta
		f.Meta.Raw = meta
	}
}

// size is an upper bound of the payload of REQ, RES and OPEN.
func (f *Frame) size() int {
	const fixed = 8 + 5 // kind and credit, length of meta
	return fixed + len(f.Meta.Raw) + len(f.Body)
}

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
		m.putReset(s, id, 0, e.Code)
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

// Data sends as much of p as frame and credits allow, and returns how much; 0
// with ErrNoCredit. flags are FlagEnd, to end our half behind p, and FlagMore.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Data(id Slot, p []byte, flags Flags) (n int, err error) {
	s, err := m.own(id)
	switch {
	case err != nil:
		return 0, err
	case !s.is(oursOpen | oursBytes):
		return 0, ErrSlot
	case s.is(stopped) && (len(p) > 0 || s.code != 0):
		return 0, ErrStopped
	case s.is(undecided) && id.Side() != m.role:
		return 0, ErrSlot
	}
	room := min(s.send, m.connSend, int64(m.maxFrame()))
	if s.is(undecided) {
		room = 0
	}
	n = int(min(int64(len(p)), room))
	if n == 0 && len(p) > 0 {
		return 0, ErrNoCredit
	}
	if flags &= FlagEnd | FlagMore; n < len(p) {
		flags = FlagMore
	}
	s.send -= int64(n)
	m.connSend -= int64(n)
	m.put(&Frame{Type: DATA, Flags: flags, ID: uint32(id), Body: p[:n]})
	if id.Side() != m.role {
		s.set(begun)
	}
	if flags&FlagEnd != 0 {
		m.endOurs(s)
		m.settle(id, s)
	}
	return n, nil
}

// Consume gives back the credit of n bytes of DATA, or of first data, that were
// delivered. It is called once for each of them, also when the slot has failed or
// is gone.
func (m *Machine) Consume(id Slot, n int) {
	m.giveConn(n)
	s, err := m.own(id)
	if err != nil || n == 0 || !s.is(theirsOpen) || s.is(discard) {
		return
	}
	s.owed += int64(n)
	if s.owed >= (s.window+1)/2 && !s.is(listed) {
		s.set(listed)
		m.grants = append(m.grants, id)
	}
}

func (m *Machine) giveConn(n int) {
	if m.conn.give(n) {
		m.connDue = true
	}
}

// Cancel gives up a request of ours: RES is dropped when it comes.
func (m *Machine) Cancel(id Slot) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if id.Side() != m.role || s.form != request {
		return ErrSlot
	}
	if s.is(cancelled) {
		return nil
	}
	m.put(&Frame{Type: CANCEL, ID: uint32(id)})
	s.set(cancelled | discard | stopped)
	m.endOurs(s)
	m.settle(id, s)
	return nil
}

// Stop tells the peer that we read no more; what comes is dropped.
func (m *Machine) Stop(id Slot, code Code) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if !s.is(theirsOpen|theirsBytes) || s.is(discard) || code == 0 {
		return ErrSlot
	}
	m.putReset(s, id, FlagStop, code)
	s.set(discard)
	return nil
}

// Reset ends both halves of a stream, or of a promoted request, at once.
func (m *Machine) Reset(id Slot, code Code) error {
	s, err := m.own(id)
	if err != nil {
		return err
	}
	if !s.carries(id.Side() == m.role) || s.is(resetSent) || code == 0 {
		return ErrSlot
	}
	m.putReset(s, id, 0, code)
	s.set(discard | stopped)
	m.endOurs(s)
	m.settle(id, s)
	return nil
}

// cutText makes a text legal: not too long, and UTF-8.
func cutText(text string, most int) []byte {
	return []byte(strings.ToValidUTF8(text[:min(len(text), most)], ""))
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

// Drain tells the peer that we take no new work.
func (m *Machine) Drain(retryAfter, jitter uint32, why string) {
	if m.err == nil && !m.goawaySent {
		m.goawaySent = true
		m.put(&Frame{Type: GOAWAY, ID: m.accepted, RetryAfter: retryAfter, Jitter: jitter, Text: cutText(why, MaxText)})
	}
}

// Close ends the connection; why goes to the peer as the last frame.
func (m *Machine) Close(code Code) {
	if m.err == nil {
		_ = m.closeWith(ErrClosed, code)
	}
}
