package wire

import (
	"encoding/binary"
	"slices"
)

// controlRoom is kept free at the front of each output buffer for the control
// frames that go ahead of what waits: PONG, PING, ACK (16 bytes each) and two
// CREDITs (12 bytes each). Each of them stands for all of its kind, so this is
// all that a peer can make us owe.
const controlRoom = 3*16 + 2*12

// output is what waits to be sent: one buffer of frames in call order, and state
// from which control frames are made when it is taken.
//
// Invariant: out has controlRoom bytes at the front; batch is 0, or the offset of
// the last frame of out, which is POST or POSTS.
type output struct {
	out   []byte
	batch int
	takes uint32 // how often out was taken, from 1
	begun bool   // HELLO has been taken
	last  int    // once closed: where in out the GOAWAY is; 0: there is none

	pong    [8]byte
	pongDue bool
	pingDue bool
	ackDue  uint64 // number to acknowledge; 0: none
	connDue bool
	postDue bool
	grants  []Slot // slots whose credit is to be granted

	tx tally
}

func (o *output) startOutput() {
	o.takes = 1
	o.out = make([]byte, controlRoom, 512)
}

// put appends a frame.
func (o *output) put(f *Frame) {
	o.batch = 0
	at := len(o.out)
	o.out = AppendFrame(o.out, f)
	o.tx.frame(f.Type, f.Flags, len(o.out)-at)
}

// putHeader appends the header of a frame whose payload is the caller's to put.
func (o *output) putHeader(h Header) {
	o.batch = 0
	o.out = h.Append(o.out)
	o.tx.frame(h.Type(), h.Flags(), HeaderSize+h.Len())
}

// Pending says whether Take has something to hand out.
func (m *Machine) Pending() bool {
	return len(m.out) > controlRoom || len(m.grants) > 0 ||
		m.begun && (m.pongDue || m.pingDue || m.ackDue > 0 || m.connDue || m.postDue)
}

// Queued is how many bytes wait, but for control frames.
func (m *Machine) Queued() int { return len(m.out) - controlRoom }

// Take hands out all that waits: buffer[from:] is to be written before the next
// is taken. What follows gathers in spare, whose content is lost: a buffer that
// was handed out earlier, whole, so that two of them serve a connection; or nil.
// buffer is nil if nothing waits; spare stays the caller's then. buffer[from:] is
// empty if all that waited was credit for streams that have ended meanwhile.
func (m *Machine) Take(spare []byte) (buffer []byte, from int) {
	if !m.Pending() {
		return nil, 0
	}
	m.putGrants()
	buffer, from = m.out, controlRoom
	if m.begun { // HELLO is the first frame
		from = m.prependControl(buffer)
	}
	m.out = slices.Grow(spare[:0], controlRoom)[:controlRoom]
	m.batch, m.last = 0, 0
	m.takes++
	m.begun = true
	return buffer, from
}

// DropQueued drops what waits on a closed connection, but for the GOAWAY. It says
// whether it did: what goes along with HELLO stays.
func (m *Machine) DropQueued() bool {
	if !m.begun || m.err == nil {
		return false
	}
	keep := m.out[:0]
	if m.last > 0 {
		keep = m.out[m.last:]
	}
	m.out = append(m.out[:controlRoom], keep...)
	m.batch, m.last, m.grants = 0, controlRoom, m.grants[:0]
	return true
}

// putGrants appends CREDIT for the slots that are due. It goes behind the frame
// that opened the slot, which may still be in out.
func (m *Machine) putGrants() {
	for _, id := range m.grants {
		t, _ := m.table(id)
		s := &t.slots[id.Index()-1]
		s.clear(listed)
		if s.form == free || s.generation != id.Generation() || !s.is(theirsOpen) || s.is(discard) {
			continue
		}
		m.put(&Frame{Type: CREDIT, ID: uint32(id), Credit: uint32(s.owed)})
		s.receive += s.owed
		s.owed = 0
	}
	m.grants = m.grants[:0]
}

// prependControl writes what is due right before b[controlRoom], and returns
// where it begins.
func (m *Machine) prependControl(b []byte) (at int) {
	at = controlRoom
	before := func(h Header, payload uint64) {
		n := HeaderSize + h.Len()
		at -= n
		h.put(b[at:])
		m.tx.frame(h.Type(), h.Flags(), n)
		if n == HeaderSize+4 {
			binary.LittleEndian.PutUint32(b[at+HeaderSize:], uint32(payload))
		} else {
			binary.LittleEndian.PutUint64(b[at+HeaderSize:], payload)
		}
	}
	credit := func(id uint32, w *window, due *bool) {
		if *due {
			before(MakeHeader(CREDIT, 0, id, 4), uint64(w.owed))
			w.receive += w.owed
			w.owed = 0
			*due = false
		}
	}
	credit(postLaneID, &m.posts, &m.postDue)
	credit(connectionID, &m.conn, &m.connDue)
	if m.pingDue {
		before(MakeHeader(PING, 0, 0, 8), m.pings)
		m.pingDue = false
	}
	if m.pongDue {
		before(MakeHeader(PING, FlagPong, 0, 8), binary.LittleEndian.Uint64(m.pong[:]))
		m.pongDue = false
	}
	if m.ackDue > 0 { // before PONG: what a HELLO has told is known once its sender is let in
		before(MakeHeader(ACK, 0, 0, 8), m.ackDue)
		m.ackDue = 0
	}
	return at
}

// appendPost adds a body to the batch at the end of out, if it is of the same
// kind and has room up to most bytes, else in a frame of its own. cost is by how
// much payload grew; nothing is changed if it would be over credit.
func (o *output) appendPost(kind uint32, flags Flags, body []byte, most int, credit int64) (cost int, ok bool) {
	grown, fits := o.growth(kind, flags, len(body), most)
	if !fits {
		if int64(len(body)) > credit {
			return 0, false
		}
		o.batch = len(o.out)
		o.out = MakeHeader(POST, flags, kind, len(body)).Append(o.out)
		o.out = append(o.out, body...)
		o.tx.frame(POST, flags, HeaderSize+len(body))
		o.tx.posts++
		return len(body), true
	}
	if int64(grown) > credit {
		return 0, false
	}
	h := ParseHeader(o.out[o.batch:])
	if h.Type() == POST { // its body gets a length of its own
		var length [binary.MaxVarintLen32]byte
		n := binary.PutUvarint(length[:], uint64(h.Len()))
		o.out = slices.Insert(o.out, o.batch+HeaderSize, length[:n]...)
	}
	o.out = binary.AppendUvarint(o.out, uint64(len(body)))
	o.out = append(o.out, body...)
	MakeHeader(POSTS, flags, kind, h.Len()+grown).put(o.out[o.batch:])
	o.tx.posts++
	o.tx.bytes += uint64(grown)
	return grown, true
}

// growth is by how much the payload of the last frame would grow.
func (o *output) growth(kind uint32, flags Flags, n, most int) (grown int, fits bool) {
	if o.batch == 0 {
		return 0, false
	}
	h := ParseHeader(o.out[o.batch:])
	grown = uvarintLen(uint32(n)) + n
	if h.Type() == POST {
		grown += uvarintLen(uint32(h.Len()))
	}
	return grown, h.ID() == kind && h.Flags() == flags && h.Len()+grown <= most
}

// trim lets go of an output buffer larger than most, if it is empty.
func (o *output) trim(most int) {
	if len(o.out) == controlRoom && cap(o.out) > most {
		o.out = make([]byte, controlRoom, 512)
	}
}
