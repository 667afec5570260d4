package http1

import (
	"errors"
	"fmt"

	"paddock/internal/netio/h1"
	"paddock/load"
)

// stage is the part of an answer that is read next.
type stage uint8

const (
	inHead stage = iota
	inBody       // of a known length
	inChunks
	toEnd // the body ends with the connection
	over  // nothing that comes is of interest
)

// session is one connection: it finds where the answers end.
type session struct {
	*thread
	asked forms // of the requests that wait

	stage   stage
	head    head // of the answer that has come in part
	scanned int  // bytes of it that hold no end of a head
	left    int64
	body    int64 // bytes of it
	chunks  chunks
	partial bool // something has come that was not taken
}

func (*session) Greet(dst []byte) []byte { return dst }

func (*session) Ready() bool { return true }

// Request gives the next one, with Connection: close if it is the last.
func (s *session) Request(r *load.Request) error {
	m, err := s.requests.Make(r.Number)
	if err != nil {
		return err
	}
	if r.LastHere && m.Form&Close == 0 {
		m = s.splice(m)
	}
	s.asked.put(m.Form)
	r.Bytes, r.Target = m.Bytes, m.Target
	return nil
}

// splice adds Connection: close to a request, at the end of its head.
func (t *thread) splice(m Message) Message {
	head := m.Head - len("\r\n")
	t.spliced = append(t.spliced[:0], m.Bytes[:head]...)
	t.spliced = append(t.spliced, "Connection: close\r\n"...)
	t.spliced = append(t.spliced, m.Bytes[head:]...)
	return Message{t.spliced, m.Head + len("Connection: close\r\n"), m.Form | Close, m.Target}
}

// Receive implements load.Session.
//
// hot: guarded by BenchmarkReceive and TestDoesNotAllocate.
func (s *session) Receive(in []byte, answers *load.Answers) (used int, err error) {
	for used < len(in) && s.stage != over {
		var n int
		switch b := in[used:]; s.stage {
		case inHead:
			if n = s.takeUsual(b, answers); n == 0 {
				n, err = s.takeHead(b, answers)
			}
		case inBody:
			n = s.takeBody(b, answers)
		case inChunks:
			n, err = s.takeChunks(b, answers)
		case toEnd:
			n = len(b)
			s.body += int64(n)
		}
		used += n
		if err != nil {
			return used, err
		}
		if n == 0 {
			s.partial = true
			return used, nil
		}
	}
	s.partial = false
	return len(in), nil
}

var errUnasked = &load.Failed{Class: load.ClassProtocol, Err: errors.New("http1: bytes without a request")}

// takeUsual takes a whole answer of the learned shape, as most are, in one step; 0 = the
// next one is not, or does not end here.
//
// hot: guarded by BenchmarkReceive and TestDoesNotAllocate.
func (s *session) takeUsual(b []byte, answers *load.Answers) int {
	if s.asked.none() || s.asked.oldest() != 0 {
		return 0
	}
	n, length := s.shape.usual(b)
	if n == 0 || int64(len(b)-n) < length {
		return 0
	}
	s.asked.take()
	s.scanned = 0
	a := answers.Next()
	a.Status, a.Body = s.shape.head.status, length
	a.Class = s.classOf(a.Status)
	return n + int(length)
}

// takeHead takes the head of an answer, if it is complete.
func (s *session) takeHead(b []byte, answers *load.Answers) (int, error) {
	if s.asked.none() {
		return 0, errUnasked
	}
	n := s.shape.match(b, &s.head)
	if n == 0 {
		var err error
		if n, err = s.readHead(b); n == 0 {
			return 0, err
		}
	}
	s.scanned = 0
	if n > maxHead {
		return 0, errBigHead
	}
	if s.head.status < 200 && s.head.status != switching {
		return n, nil // the answer is still to come
	}
	s.begin(answers)
	return n, nil
}

// switching is the status behind which the connection does not speak HTTP any more.
const switching = 101

// readHead reads a head that is not like the one before; n = 0: it is not complete.
func (s *session) readHead(b []byte) (n int, err error) {
	if !plausible(b) {
		return 0, errNotHTTP
	}
	n, s.scanned = h1.End(b, s.scanned), len(b)
	if n > maxHead || n == 0 && len(b) > maxHead {
		return 0, errBigHead
	}
	if n == 0 {
		return 0, nil
	}
	if err := s.head.parse(b[:n]); err != nil {
		return 0, err
	}
	s.shape.learn(b[:n], &s.head)
	return n, nil
}

// begin finds out how the body behind a head ends: RFC 9112 section 6.3.
func (s *session) begin(answers *load.Answers) {
	h := &s.head
	s.body = 0
	switch {
	case s.asked.oldest()&NoBody != 0 || h.status == 204 || h.status == 304 || h.status == switching:
		s.complete(answers)
	case h.chunked:
		s.stage, s.chunks = inChunks, chunks{}
	case h.coded || h.length < 0:
		s.stage = toEnd
	case h.length == 0:
		s.complete(answers)
	default:
		s.stage, s.left = inBody, h.length
	}
}

func (s *session) takeBody(b []byte, answers *load.Answers) int {
	n := int(min(s.left, int64(len(b))))
	s.body += int64(n)
	if s.left -= int64(n); s.left == 0 {
		s.complete(answers)
	}
	return n
}

func (s *session) takeChunks(b []byte, answers *load.Answers) (int, error) {
	n, data, err := s.chunks.next(b)
	s.body += int64(len(data))
	if s.chunks.stage == chunkDone {
		s.complete(answers)
	}
	return n, err
}

// complete ends an answer.
func (s *session) complete(answers *load.Answers) {
	h, form := &s.head, s.asked.take()
	a := answers.Next()
	a.Status, a.Body, a.Last = h.status, s.body, s.last(form)
	a.Class = s.classOf(h.status)
	s.stage = inHead
	if a.Last {
		s.stage = over
	}
}

// classOf is the class of a complete answer.
func (s *session) classOf(status uint16) load.Class {
	if s.codec.Good.Good(status) {
		return load.ClassOK
	}
	return load.ClassStatus
}

// last reports whether the connection ends behind the answer: RFC 9112 section 9.3. A service tells
// a client of HTTP/1.0 if it keeps the connection.
func (s *session) last(form Form) bool {
	h := &s.head
	switch {
	case h.close || form&Close != 0 || s.stage == toEnd || h.status == switching:
		return true
	case h.minor == 0 || form&Version10 != 0:
		return !h.keepAlive
	}
	return false
}

// End takes the end of the connection, which is that of a body without a length.
func (s *session) End(answers *load.Answers) error {
	switch {
	case s.stage == toEnd:
		s.complete(answers)
		return nil
	case s.stage == inBody:
		return &load.Failed{Class: load.ClassEarlyEnd, Err: fmt.Errorf("http1: the connection ended before the last %d bytes of a body", s.left)}
	case s.stage == inChunks || s.partial:
		return &load.Failed{Class: load.ClassEarlyEnd, Err: errors.New("http1: the connection ended within an answer")}
	}
	return nil
}

// forms are the forms of the requests that wait, in their order.
type forms struct {
	ring       []Form // its length is a power of two
	head, tail uint32
}

func (f *forms) none() bool { return f.head == f.tail }

func (f *forms) at(i uint32) *Form { return &f.ring[i&uint32(len(f.ring)-1)] }

func (f *forms) put(x Form) {
	if int(f.tail-f.head) == len(f.ring) {
		f.grow()
	}
	*f.at(f.tail) = x
	f.tail++
}

func (f *forms) grow() {
	bigger := forms{ring: make([]Form, max(1, 2*len(f.ring)))}
	for ; !f.none(); f.head++ {
		*bigger.at(bigger.tail) = *f.at(f.head)
		bigger.tail++
	}
	*f = bigger
}

func (f *forms) oldest() Form { return *f.at(f.head) }

func (f *forms) take() Form {
	x := f.oldest()
	f.head++
	return x
}
