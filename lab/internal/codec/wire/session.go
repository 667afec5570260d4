package wire

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"

	"paddock/internal/wire/frame"
	"paddock/internal/wire/machine"
	"paddock/load"
	"paddock/wire"
)

const agent = "paddock bench"

// session is one connection.
type session struct {
	codec *Codec
	m     *machine.Machine
	ev    machine.Event
	kind  uint32 // the number of ours
	login *wire.Auth
	spare []byte // for the machine's output
	came  bool   // the peer's preface
	ready bool
	acked uint64
	calls []call // by the index of their slots
	pumps []pump // streams that are not written yet
}

// call is a request or a stream under way.
type call struct {
	slot  uint32 // the engine's
	body  int64  // bytes of the answer so far
	count []byte // the answer of a stream
}

// pump is the rest of a stream that is still to be written.
type pump struct {
	id   frame.Slot
	left int // messages
	at   int // bytes of the present one that are
}

var (
	_ load.Batched = (*session)(nil)
	_ load.Opener  = (*session)(nil)
)

// Open makes the credentials of the connection.
func (s *session) Open(nc net.Conn) (err error) {
	if s.login = s.codec.Login; s.codec.Prove != nil {
		s.login, err = s.codec.Prove(nc)
	}
	return err
}

// Greet is the preface and HELLO.
func (s *session) Greet(dst []byte) []byte {
	m, err := machine.New(frame.Dialer, wire.Hello{Agent: agent, Auth: s.login}, 0)
	if err != nil {
		return dst // later bytes are then refused, with the reason
	}
	s.m = m
	return s.EndBatch(dst)
}

// Ready is once the server's HELLO is there.
func (s *session) Ready() bool { return s.ready }

// Request begins one exchange. The machine collects its output until EndBatch, so that posts go
// together in one frame.
func (s *session) Request(r *load.Request) error {
	c := s.codec
	body := c.Bodies[int(r.Number%int64(len(c.Bodies)))]
	switch c.Do {
	case Post:
		_, err := s.m.Post(s.kind, body, true)
		return err
	case Request:
		id, err := s.m.Request(s.kind, nil, body, false)
		if err == nil {
			s.begin(id, r.Slot)
		}
		return err
	}
	id, err := s.m.Open(s.kind, 0, 0, nil, nil)
	if err == nil {
		s.begin(id, r.Slot)
		s.pumps = append(s.pumps, pump{id: id, left: c.Messages})
	}
	return err
}

func (s *session) begin(id frame.Slot, slot uint32) {
	for int(id.Index()) >= len(s.calls) {
		s.calls = append(s.calls, call{})
	}
	s.calls[id.Index()] = call{slot: slot}
}

// EndBatch takes the output of the machine.
func (s *session) EndBatch(dst []byte) []byte {
	if s.m == nil {
		return dst
	}
	s.pump()
	b, from := s.m.Take(s.spare)
	if b == nil {
		return dst
	}
	s.spare = b
	return append(dst, b[from:]...)
}

// pump writes streams as far as the server's credit goes.
func (s *session) pump() {
	waiting := s.pumps[:0]
	for _, p := range s.pumps {
		if err := s.write(&p); err == nil {
			waiting = append(waiting, p)
		}
	}
	s.pumps = waiting
}

// errWritten ends a pump: all is written, or nothing more can be.
var errWritten = errors.New("written")

func (s *session) write(p *pump) error {
	message := s.codec.Bodies[0]
	for p.left > 0 {
		n, err := s.m.Data(p.id, message[p.at:], 0)
		if errors.Is(err, wire.ErrNoCredit) {
			return nil
		}
		if err != nil {
			return err // the server has ended the stream, and says why
		}
		if p.at += n; p.at < len(message) {
			continue
		}
		p.at = 0
		p.left--
	}
	_, _ = s.m.Data(p.id, nil, frame.FlagEnd) // fails for a stream that has ended
	return errWritten
}

// Receive feeds the machine.
func (s *session) Receive(in []byte, answers *load.Answers) (used int, err error) {
	if s.m == nil {
		return 0, &load.Failed{Class: load.ClassProtocol, Err: wire.ErrHello}
	}
	if !s.came {
		n, err := frame.CheckPreface(in)
		if n == 0 {
			return 0, err
		}
		s.came, used = true, n
	}
	for used < len(in) {
		n, err := s.m.Feed(in[used:], &s.ev)
		if err != nil {
			return used, failed(err)
		}
		if n == 0 {
			return used, nil
		}
		if err := s.handle(answers); err != nil {
			return used, err
		}
		used += n
	}
	return used, nil
}

// failed returns the error that ended the connection.
func failed(err error) error {
	class := load.ClassParse
	if _, said := errors.AsType[*wire.Error](err); said { // the server closed it, and says why
		class = load.ClassStatus
	}
	return &load.Failed{Class: class, Err: err}
}

// handle deals with one event.
func (s *session) handle(answers *load.Answers) error {
	f := s.ev.Frame
	switch s.ev.Op {
	case machine.OpHello:
		return s.open()
	case machine.OpAck:
		for ; s.acked < f.Count; s.acked++ {
			answers.Add(load.Answer{})
		}
	case machine.OpResponse:
		s.respond(f, answers)
	case machine.OpData:
		s.data(f, answers)
	case machine.OpReset:
		s.fail(s.ev.Slot, s.ev.Code, f.Text, answers)
	case machine.OpRequest, machine.OpOpen, machine.OpPost:
		return &load.Failed{Class: load.ClassProtocol, Err: fmt.Errorf("the server sent a %v of its own", f.Type)}
	}
	return nil
}

// open checks the server's HELLO: the load has to fit its limits.
func (s *session) open() (err error) {
	c, peer := s.codec, s.m.Peer()
	largest := 0
	for _, b := range c.Bodies {
		largest = max(largest, len(b))
	}
	// A server gives credit back when half of it was used: so much can always be sent.
	lane := int(peer.PostInitial / 2)
	const most = 5   // bytes of a body's length
	const around = 8 // and of the bytes before a request's
	switch {
	case c.Do != Stream && largest+around > int(peer.MaxFrame):
		err = fmt.Errorf("a body has %d bytes, and the server takes frames of %d", largest, peer.MaxFrame)
	case c.Do == Post && c.Depth*(largest+most) > lane:
		err = fmt.Errorf("%d posts of %d bytes are to be under way, and the server lets %d bytes", c.Depth, largest, lane)
	case c.Do != Post && c.Depth > int(peer.MaxInflight):
		err = fmt.Errorf("%d are to be under way on a connection, and the server lets %d", c.Depth, peer.MaxInflight)
	default:
		s.kind, err = s.m.Bind(c.Kind)
	}
	if err != nil {
		return &load.Failed{Class: load.ClassProtocol, Err: err}
	}
	s.ready = true
	return nil
}

// respond takes RES: an answer, its beginning, or why there is none.
func (s *session) respond(f *frame.Frame, answers *load.Answers) {
	if f.Has(frame.FlagErr) {
		s.fail(s.ev.Slot, f.Code, f.Text, answers)
		return
	}
	c := &s.calls[s.ev.Slot.Index()]
	c.body += int64(len(f.Body))
	if f.Has(frame.FlagMore) {
		return
	}
	answers.Add(load.Answer{Match: load.BySlot, Slot: c.slot, Body: c.body})
}

// data takes DATA of an answer, or of a stream, whose end is the answer.
func (s *session) data(f *frame.Frame, answers *load.Answers) {
	s.m.Consume(s.ev.Slot, len(f.Body))
	c := &s.calls[s.ev.Slot.Index()]
	c.body += int64(len(f.Body))
	if s.codec.Do == Stream && len(c.count) <= 8 {
		c.count = append(c.count, f.Body...)
	}
	if !f.Has(frame.FlagEnd) {
		return
	}
	a := load.Answer{Match: load.BySlot, Slot: c.slot, Body: c.body}
	if s.codec.Do == Stream && !counted(c.count, s.codec.Messages) {
		a.Class = load.ClassBody
		answers.Why = fmt.Sprintf("the server counted other messages than %d", s.codec.Messages)
	}
	answers.Add(a)
}

// counted reports whether b is a number, u64 little-endian.
func counted(b []byte, n int) bool {
	return len(b) == 8 && binary.LittleEndian.Uint64(b) == uint64(n)
}

// fail ends a call with the server's error.
func (s *session) fail(id frame.Slot, code wire.Code, text []byte, answers *load.Answers) {
	answers.Why = fmt.Sprintf("%v: %s", code, text)
	answers.Add(load.Answer{Match: load.BySlot, Slot: s.calls[id.Index()].slot, Class: load.ClassStatus, Status: uint16(code)})
}

// End takes the end of the stream.
func (*session) End(*load.Answers) error { return nil }
