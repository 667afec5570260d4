package machine

import (
	"encoding/binary"
	"slices"

	"paddock/internal/wire/frame"
)

// controlRoom is kept free at the front of each output buffer for the control frames that go ahead
// of the waiting output: PONG, PING, ACK (16 bytes each) and two CREDITs (12 bytes each). Each of
// them stands for all of its kind, so this is all that a peer can make us owe.
const controlRoom = 3*16 + 2*12

// output holds the frames that wait to be sent: one buffer of frames in call order, and state from
// which control frames are made when it is taken.
//
// Invariant: out has controlRoom bytes at the front; batch is 0, or the offset of
// the last frame of out, which is POST or POSTS.
type output struct {
	Out   []byte
	batch int
	Takes uint32 // how often out was taken, from 1
	begun bool   // HELLO has been taken
	last  int    // once closed: where in out the GOAWAY is; 0: there is none

	pong    [8]byte
	pongDue bool
	pingDue bool
	AckDue  uint64 // number to acknowledge; 0: none
	ConnDue bool
	PostDue bool
	Grants  []frame.Slot // slots whose credit is to be granted

	Tx Tally
}

func (o *output) startOutput() {
	o.Takes = 1
	o.Out = make([]byte, controlRoom, 512)
}

// put appends a frame.
func (o *output) put(f *frame.Frame) {
	o.batch = 0
	at := len(o.Out)
	o.Out = frame.AppendFrame(o.Out, f)
	o.Tx.frame(f.Type, f.Flags, len(o.Out)-at)
}

// putHeader appends the header of a frame whose payload is the caller's to put.
func (o *output) putHeader(h frame.Header) {
	o.batch = 0
	o.Out = h.Append(o.Out)
	o.Tx.frame(h.Type(), h.Flags(), frame.HeaderSize+h.Len())
}

// Pending reports whether Take has something to return.
func (m *Machine) Pending() bool {
	return len(m.Out) > controlRoom || len(m.Grants) > 0 ||
		m.begun && (m.pongDue || m.pingDue || m.AckDue > 0 || m.ConnDue || m.PostDue)
}

// Queued is how many bytes wait, but for control frames.
func (m *Machine) Queued() int { return len(m.Out) - controlRoom }

// Take returns all waiting output: buffer[from:] is to be written before the next is taken. Later
// output gathers in spare, whose content is lost: a buffer that was handed out earlier, whole, so
// that two of them serve a connection; or nil. buffer is nil if nothing waits; spare stays the
// caller's then. buffer[from:] is empty if all that waited was credit for streams that have ended
// meanwhile.
func (m *Machine) Take(spare []byte) (buffer []byte, from int) {
	if !m.Pending() {
		return nil, 0
	}
	m.putGrants()
	buffer, from = m.Out, controlRoom
	if m.begun { // HELLO is the first frame
		from = m.prependControl(buffer)
	}
	m.Out = slices.Grow(spare[:0], controlRoom)[:controlRoom]
	m.batch, m.last = 0, 0
	m.Takes++
	m.begun = true
	return buffer, from
}

// DropQueued drops the waiting output of a closed connection, but for the GOAWAY. It reports
// whether it did: output that goes along with HELLO stays.
func (m *Machine) DropQueued() bool {
	if !m.begun || m.Failure == nil {
		return false
	}
	keep := m.Out[:0]
	if m.last > 0 {
		keep = m.Out[m.last:]
	}
	m.Out = append(m.Out[:controlRoom], keep...)
	m.batch, m.last, m.Grants = 0, controlRoom, m.Grants[:0]
	return true
}

// putGrants appends CREDIT for the slots that are due. It goes behind the frame
// that opened the slot, which may still be in out.
func (m *Machine) putGrants() {
	for _, id := range m.Grants {
		t, _ := m.table(id)
		s := &t.slots[id.Index()-1]
		s.clear(listed)
		if s.form == free || s.generation != id.Generation() || !s.is(theirsOpen) || s.is(discard) {
			continue
		}
		m.put(&frame.Frame{Type: frame.CREDIT, ID: uint32(id), Credit: uint32(s.owed)})
		s.receive += s.owed
		s.owed = 0
	}
	m.Grants = m.Grants[:0]
}

// prependControl writes the due control frames right before b[controlRoom], and returns where they
// begin.
func (m *Machine) prependControl(b []byte) (at int) {
	at = controlRoom
	before := func(h frame.Header, payload uint64) {
		n := frame.HeaderSize + h.Len()
		at -= n
		h.Put(b[at:])
		m.Tx.frame(h.Type(), h.Flags(), n)
		if n == frame.HeaderSize+4 {
			binary.LittleEndian.PutUint32(b[at+frame.HeaderSize:], uint32(payload))
		} else {
			binary.LittleEndian.PutUint64(b[at+frame.HeaderSize:], payload)
		}
	}
	credit := func(id uint32, w *window, due *bool) {
		if *due {
			before(frame.MakeHeader(frame.CREDIT, 0, id, 4), uint64(w.Owed))
			w.Receive += w.Owed
			w.Owed = 0
			*due = false
		}
	}
	credit(frame.PostLaneID, &m.Posts, &m.PostDue)
	credit(frame.ConnectionID, &m.Conn, &m.ConnDue)
	if m.pingDue {
		before(frame.MakeHeader(frame.PING, 0, 0, 8), m.pings)
		m.pingDue = false
	}
	if m.pongDue {
		before(frame.MakeHeader(frame.PING, frame.FlagPong, 0, 8), binary.LittleEndian.Uint64(m.pong[:]))
		m.pongDue = false
	}
	if m.AckDue > 0 { // before PONG: the peer learns the state of its session before it is admitted
		before(frame.MakeHeader(frame.ACK, 0, 0, 8), m.AckDue)
		m.AckDue = 0
	}
	return at
}

// appendPost adds a body to the batch at the end of out, if it is of the same
// kind and has room up to most bytes, else in a frame of its own. cost is by how
// much payload grew; nothing is changed if it would be over credit.
func (o *output) appendPost(kind uint32, flags frame.Flags, body []byte, most int, credit int64) (cost int, ok bool) {
	grown, fits := o.growth(kind, flags, len(body), most)
	if !fits {
		if int64(len(body)) > credit {
			return 0, false
		}
		o.batch = len(o.Out)
		o.Out = frame.MakeHeader(frame.POST, flags, kind, len(body)).Append(o.Out)
		o.Out = append(o.Out, body...)
		o.Tx.frame(frame.POST, flags, frame.HeaderSize+len(body))
		o.Tx.Posts++
		return len(body), true
	}
	if int64(grown) > credit {
		return 0, false
	}
	h := frame.ParseHeader(o.Out[o.batch:])
	if h.Type() == frame.POST { // its body gets a length of its own
		var length [binary.MaxVarintLen32]byte
		n := binary.PutUvarint(length[:], uint64(h.Len()))
		o.Out = slices.Insert(o.Out, o.batch+frame.HeaderSize, length[:n]...)
	}
	o.Out = binary.AppendUvarint(o.Out, uint64(len(body)))
	o.Out = append(o.Out, body...)
	frame.MakeHeader(frame.POSTS, flags, kind, h.Len()+grown).Put(o.Out[o.batch:])
	o.Tx.Posts++
	o.Tx.Bytes += uint64(grown)
	return grown, true
}

// growth is by how much the payload of the last frame would grow.
func (o *output) growth(kind uint32, flags frame.Flags, n, most int) (grown int, fits bool) {
	if o.batch == 0 {
		return 0, false
	}
	h := frame.ParseHeader(o.Out[o.batch:])
	grown = frame.UvarintLen(uint32(n)) + n
	if h.Type() == frame.POST {
		grown += frame.UvarintLen(uint32(h.Len()))
	}
	return grown, h.ID() == kind && h.Flags() == flags && h.Len()+grown <= most
}

// Trim lets go of an output buffer larger than most, if it is empty.
func (o *output) Trim(most int) {
	if len(o.Out) == controlRoom && cap(o.Out) > most {
		o.Out = make([]byte, controlRoom, 512)
	}
}
