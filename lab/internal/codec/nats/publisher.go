package nats

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"paddock/load"
)

var ping = []byte("PING\r\n")

// publisher is a connection that publishes. Behind each batch goes a PING; its PONG says
// that the server has taken all that went before it, and is the answer to each of them.
type publisher struct {
	client
	source  uint32
	number  uint64
	lines   []line // by body
	made    int    // messages since the last PING
	batches []int  // messages of each PING whose PONG has not come
}

// line is a message as it is sent.
type line struct {
	bytes []byte
	stamp []byte // its part; nil = there is none
}

func newPublisher(c *Codec) *publisher {
	p := &publisher{client: client{codec: c}, source: c.publisher.Add(1)}
	for _, body := range c.Bodies {
		b := append([]byte("PUB "), c.Subject...)
		b = strconv.AppendInt(append(b, ' '), int64(len(body)), 10)
		b = append(b, crlf...)
		at := len(b)
		b = append(append(b, body...), crlf...)
		l := line{bytes: b}
		if len(body) >= StampSize {
			l.stamp = b[at : at+StampSize]
		}
		p.lines = append(p.lines, l)
		p.largest = max(p.largest, len(body))
	}
	return p
}

// Request publishes one message.
func (p *publisher) Request(r *load.Request) error {
	l := &p.lines[0]
	if len(p.lines) > 1 { // mostly there is one, and no division
		l = &p.lines[int(r.Number%int64(len(p.lines)))]
	}
	p.number++
	if l.stamp != nil {
		zero := p.codec.clock.wall(r.Sent)
		s := stamp{p.codec.run, p.source, p.number, zero + r.Due, zero + r.Sent}
		s.put(l.stamp)
	}
	r.Bytes, r.Quiet = l.bytes, p.codec.Do == PubSub
	if p.made++; p.made == p.codec.Every {
		p.reply = append(append(p.reply[:0], l.bytes...), ping...)
		r.Bytes = p.reply
		p.endBatch()
	}
	return nil
}

// endBatch counts the batch before any of it is written: a delivered message has been counted.
func (p *publisher) endBatch() {
	p.codec.published.Add(int64(p.made))
	p.batches = append(p.batches, p.made)
	p.made = 0
}

// EndBatch asks for the server's word.
func (p *publisher) EndBatch(dst []byte) []byte {
	if p.made > 0 {
		p.endBatch()
		dst = append(dst, ping...)
	}
	return dst
}

var errPong = errors.New("a PONG without a PING")

// Receive takes PONGs, and refusals of single messages.
func (p *publisher) Receive(in []byte, answers *load.Answers) (int, error) {
	return p.receive(in, answers, func(op *Operation) error {
		switch op.Kind {
		case KindPong:
			if len(p.batches) == 0 {
				return &load.Failed{Class: load.ClassProtocol, Err: errPong}
			}
			for range p.batches[0] {
				answers.Add(load.Answer{})
			}
			p.batches = p.batches[:copy(p.batches, p.batches[1:])]
		case KindErr:
			return p.refuse(op.Text, answers)
		}
		return nil
	})
}

// refuse counts an error as that of a message of the oldest batch: the server goes through
// them in order, and before it answers the PING behind them. Which one it was it does not
// say. An error that means more than one message ends the connection.
func (p *publisher) refuse(text []byte, answers *load.Answers) error {
	if !ofOne(text) || len(p.batches) == 0 || p.batches[0] == 0 {
		return refused(text)
	}
	p.batches[0]--
	p.codec.published.Add(-1)
	answers.Why = "-ERR " + strconv.Quote(string(text))
	answers.Add(load.Answer{Class: load.ClassStatus})
	return nil
}

// ofOne reports whether an error is about one message, and the connection goes on.
func ofOne(text []byte) bool {
	return slices.ContainsFunc([]string{"Permissions Violation for Publish", "Invalid Publish Subject", "Invalid Subject"},
		func(s string) bool { return strings.HasPrefix(string(text), s) })
}
