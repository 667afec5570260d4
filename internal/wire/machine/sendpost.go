package machine

import (
	"paddock/internal/wire/frame"
	"paddock/wire/protocol"
)

// mostPost bounds a frame of posts: half of the lane, since the peer may hold
// back grants for the other half.
func (m *Machine) mostPost() int {
	lane := frame.LimitPost.Before
	if m.PeerHello != nil {
		lane = m.PeerHello.PostInitial
	}
	return min(m.MaxFrame(), int(lane/2))
}

// Post sends a body of a kind that Bind has returned. It joins the body to the
// last frame, if that is of posts of the same kind. With wantAck it has a number,
// which is returned; see SPEC section 8. ErrNoCredit, ErrTooLarge, ErrClosed.
//
// hot: TestMachineDoesNotAllocate.
func (m *Machine) Post(kind uint32, body []byte, wantAck bool) (number uint64, err error) {
	if m.Failure != nil {
		return 0, protocol.ErrClosed
	}
	most := m.mostPost()
	if len(body) > most {
		return 0, m.tooLarge()
	}
	var flags frame.Flags
	if wantAck {
		flags = frame.FlagAck
	}
	cost, ok := m.appendPost(kind, flags, body, most, m.PostsSend)
	if !ok {
		return 0, protocol.ErrNoCredit
	}
	m.PostsSend -= int64(cost)
	if !wantAck {
		return 0, nil
	}
	m.Sent++
	m.everSent = max(m.everSent, m.Sent)
	return m.Sent, nil
}

// SentBefore sets how many acknowledged posts of the session were sent on earlier connections: the
// peer may know more than this one has carried.
func (m *Machine) SentBefore(n uint64) { m.everSent = max(m.everSent, n) }

// PostsDone gives back the credit of a POST or POSTS whose payload has n bytes.
func (m *Machine) PostsDone(n int) {
	if m.Posts.give(n) {
		m.PostDue = true
	}
}

// Known sets, at OpHello, how many posts of the peer's session were handled on earlier connections.
// They are dropped when they arrive again.
func (m *Machine) Known(n uint64) {
	if n > m.known {
		m.known = n
		m.Acknowledge(n)
	}
}

// Acknowledge records that the handlers of all posts up to number have completed.
func (m *Machine) Acknowledge(number uint64) {
	if number > m.done {
		m.done, m.AckDue = number, number
	}
}
