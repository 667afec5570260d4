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
	return s.receive(in, answers, func(op *Operation) error {
		switch op.Kind {
		case KindMessage:
			return s.take(op, answers)
		case KindErr:
			if !ofOne(op.Text) {
				return refused(op.Text)
			}
			answers.Why = "-ERR " + strconv.Quote(string(op.Text))
			answers.Add(load.Answer{Class: load.ClassStatus})
		}
		return nil
	})
}

// take finds the request of a reply. The header may have an error status: 503 of a server without a
// subscriber, or a service's own.
func (s *requester) take(op *Operation, answers *load.Answers) error {
	last, ok := bytes.CutPrefix(op.Subject, s.inbox)
	slot, err := strconv.ParseUint(string(last), 10, 32)
	if !ok || err != nil {
		return &load.Failed{Class: load.ClassProtocol, Err: fmt.Errorf("a message on %.100q", op.Subject)}
	}
	a := load.Answer{Match: load.BySlot, Slot: uint32(slot), Body: int64(op.Size), Status: statusOf(op.Header)}
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
	return s.receive(in, answers, func(op *Operation) error {
		switch {
		case op.Kind == KindErr:
			return refused(op.Text)
		case op.Kind == KindMessage && len(op.Reply) > 0:
			b := append(append(s.reply, "PUB "...), op.Reply...)
			b = strconv.AppendInt(append(b, ' '), int64(op.Size), 10)
			b = append(b, crlf...)
			b = append(b, op.Payload...)
			b = append(b, make([]byte, op.Size-len(op.Payload))...) // the rest has not come
			s.reply = append(b, crlf...)
		}
		return nil
	})
}
