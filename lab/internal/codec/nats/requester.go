package nats

import (
	"bytes"
	"fmt"
	"strconv"

	"paddock/load"
)

// requester is a connection that makes requests. Each request has a reply subject of its own, whose
// last token is its slot.
type requester struct {
	client
	inbox []byte // up to the last token
	out   []byte
}

func newRequester(c *Codec) *requester {
	r := &requester{inbox: fmt.Appendf(nil, "_INBOX.%08x%08x.", c.run, c.publisher.Add(1))}
	r.client = client{codec: c, first: subscribe(string(r.inbox)+"*", "")}
	for _, b := range c.Bodies {
		r.largest = max(r.largest, len(b))
	}
	return r
}

// Request asks once.
func (s *requester) Request(r *load.Request) error {
	c := s.codec
	body := c.Bodies[int(r.Number%int64(len(c.Bodies)))]
	b := append(s.out[:0], "PUB "...)
	b = append(append(b, c.Subject...), ' ')
	b = strconv.AppendUint(append(b, s.inbox...), uint64(r.Slot), 10)
	b = strconv.AppendInt(append(b, ' '), int64(len(body)), 10)
	b = append(append(append(b, crlf...), body...), crlf...)
	s.out = b
	c.published.Add(1)
	r.Bytes = b
	return nil
}

// Receive takes replies.
func (s *requester) Receive(in []byte, answers *load.Answers) (int, error) {
	return s.receive(in, answers, func(op *operation) error {
		switch op.kind {
		case kindMessage:
			return s.take(op, answers)
		case kindErr:
			if !ofOne(op.text) {
				return refused(op.text)
			}
			answers.Why = "-ERR " + strconv.Quote(string(op.text))
			answers.Add(load.Answer{Class: load.ClassStatus})
		}
		return nil
	})
}

// take finds the request of a reply. The header may have an error status: 503 of a server without a
// subscriber, or a service's own.
func (s *requester) take(op *operation, answers *load.Answers) error {
	last, ok := bytes.CutPrefix(op.subject, s.inbox)
	slot, err := strconv.ParseUint(string(last), 10, 32)
	if !ok || err != nil {
		return &load.Failed{Class: load.ClassProtocol, Err: fmt.Errorf("a message on %.100q", op.subject)}
	}
	a := load.Answer{Match: load.BySlot, Slot: uint32(slot), Body: int64(op.size), Status: statusOf(op.header)}
	if a.Status != 0 {
		a.Class = load.ClassStatus
		answers.Why = fmt.Sprintf("a reply with status %d", a.Status)
	}
	answers.Add(a)
	return nil
}

// responder is a connection that replies to each request with as many bytes.
type responder struct {
	client
}

func newResponder(c *Codec) *responder {
	return &responder{client: client{codec: c, listens: true, first: subscribe(c.Listen, c.Queue)}}
}

// Request is never asked for.
func (*responder) Request(*load.Request) error { return errListens }

// Receive replies.
func (s *responder) Receive(in []byte, answers *load.Answers) (int, error) {
	return s.receive(in, answers, func(op *operation) error {
		switch {
		case op.kind == kindErr:
			return refused(op.text)
		case op.kind == kindMessage && len(op.reply) > 0:
			b := append(append(s.reply, "PUB "...), op.reply...)
			b = strconv.AppendInt(append(b, ' '), int64(op.size), 10)
			b = append(b, crlf...)
			b = append(b, op.payload...)
			b = append(b, make([]byte, op.size-len(op.payload))...) // the rest has not come
			s.reply = append(b, crlf...)
		}
		return nil
	})
}
