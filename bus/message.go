package bus

import (
	"strconv"

	"paddock/bus/internal/protocol"
)

// crlf ends a line of the protocol, and a payload.
const crlf = "\r\n"

var lineEnd = []byte(crlf)

// Msg is a message as in-process code sees it. The bytes of a message that was given to Publish
// must not change any more, and may be shared by all subscribers. The bytes that a callback gets
// are valid until it returns, the strings for ever.
type Msg struct {
	Subject string
	Reply   string // "" = none
	// Header is a whole block in the protocol's form, from "NATS/1.0\r\n" to the
	// empty line that ends it; empty = none.
	Header []byte
	Data   []byte
	// Limited is set for a callback if the publisher is a network client whose user may not publish
	// to every subject: the subject can then be trusted more than the body. Publish ignores it.
	Limited bool
	// User is set for a callback: the name of the publisher's user, "" for none. Publish ignores
	// it.
	User string
}

// size returns the message's share of a bound on pending bytes.
func (m *Msg) size() int64 {
	return int64(len(m.Subject) + len(m.Reply) + len(m.Header) + len(m.Data))
}

// message is a publication while it is routed. The forms in which it goes out are made once, when
// the first destination asks for them. It belongs to one router.
type message struct {
	subject, reply []byte
	header, data   []byte
	shared         bool // header and data are immutable; else borrowed from a read buffer
	status         bool // the broker's own answer: no message is counted, and it stays once it waits

	// exact is "[reply ]sizes\r\n", header, data and "\r\n" in one piece as they
	// came, if that is how they go out; else empty.
	exact []byte

	head   []byte // "HMSG subject "; a MSG begins one byte later
	tail   []byte // "[reply ]size\r\n"
	tailH  []byte // "[reply ]header total\r\n"
	local  Msg
	copied bool   // local is filled in
	texts  []byte // scratch
}

// reset prepares m for the next publication and keeps its buffers.
func (m *message) reset(subject, reply, header, data []byte) {
	m.subject, m.reply, m.header, m.data, m.exact = subject, reply, header, data, nil
	m.shared, m.status = false, false
	if m.copied {
		m.copied, m.local = false, Msg{}
	}
	m.head, m.tail, m.tailH = m.head[:0], m.tail[:0], m.tailH[:0]
}

// form is a message as receivers of one kind get it: head, the subscription's id, and the rest.
type form struct {
	head, tail, header, data, end []byte
}

func (f *form) size() int {
	return len(f.head) + len(f.tail) + len(f.header) + len(f.data) + len(f.end)
}

// formFor returns m in the receiver's form: a receiver without headers gets a plain
// MSG, header cut and size reduced. payload is the bytes it counts for.
func (m *message) formFor(headers bool) (f form, payload int) {
	if len(m.head) == 0 {
		m.head = append(append(append(m.head, "HMSG "...), m.subject...), ' ')
	}
	switch plain := len(m.header) == 0; {
	case plain && len(m.exact) > 0:
		return form{head: m.head[1:], tail: m.exact}, len(m.data)
	case plain || !headers:
		return form{head: m.head[1:], tail: m.plainTail(), data: m.data, end: lineEnd}, len(m.data)
	case len(m.exact) > 0:
		return form{head: m.head, tail: m.exact}, len(m.header) + len(m.data)
	default:
		return form{m.head, m.headerTail(), m.header, m.data, lineEnd}, len(m.header) + len(m.data)
	}
}

func (m *message) plainTail() []byte {
	if len(m.tail) == 0 {
		m.tail = protocol.AppendReply(m.tail, m.reply)
		m.tail = append(strconv.AppendInt(m.tail, int64(len(m.data)), 10), crlf...)
	}
	return m.tail
}

func (m *message) headerTail() []byte {
	if len(m.tailH) == 0 {
		m.tailH = protocol.AppendReply(m.tailH, m.reply)
		m.tailH = append(strconv.AppendInt(m.tailH, int64(len(m.header)), 10), ' ')
		m.tailH = append(strconv.AppendInt(m.tailH, int64(len(m.header)+len(m.data)), 10), crlf...)
	}
	return m.tailH
}

// forLocal returns m for in-process subscribers, copied once if its bytes are only borrowed.
func (m *message) forLocal() Msg {
	if m.copied {
		return m.local
	}
	m.copied = true
	m.texts = append(append(m.texts[:0], m.subject...), m.reply...)
	texts := string(m.texts)
	m.local = Msg{Subject: texts[:len(m.subject)], Reply: texts[len(m.subject):], Header: m.header, Data: m.data}
	if !m.shared {
		body := append(append(make([]byte, 0, len(m.header)+len(m.data)), m.header...), m.data...)
		n := len(m.header)
		m.local.Header, m.local.Data = body[:n:n], body[n:]
	}
	return m.local
}

// statusBegin begins the header of the broker's own answer.
const statusBegin = "NATS/1.0 503\r\nNats-Subject: "

// noRespondersHeader tells a requester that its request had no receiver.
func noRespondersHeader(dst, subject []byte) []byte {
	return append(append(append(dst, statusBegin...), subject...), "\r\n\r\n"...)
}

// deliver appends r's message for s, without copying it more than once. The lock
// of c is held when it returns: the next message may well be for c too.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (c *client) deliver(s *subscription, r *router, from endpoint) (d delivery) {
	r.lockClient(c)
	if !c.takes(s, r.msg.subject, from) {
		return d
	}
	f, payload := r.msg.formFor(c.headers)
	n := f.size() + len(s.sidText)
	r.lockBytes -= n
	o := &c.out
	t := o.tail
	if t == nil || t.room() < n || o.pending+int64(n) > c.srv.cfg().MaxPending {
		if t = c.prepare(n, s, r, from); t == nil {
			return d
		}
	}
	b := append(append(append(t.buf, f.head...), s.sidText...), f.tail...)
	if len(f.end) > 0 {
		b = append(append(append(b, f.header...), f.data...), f.end...)
	}
	t.buf = b
	o.pending += int64(n)
	if !r.msg.status {
		s.delivered++
		c.delivered.msgs++
		c.delivered.bytes += uint64(payload)
	}
	if d.last = s.done(); d.last {
		delete(c.subs, s.sid)
	}
	if c.auth.answers != nil && len(r.msg.reply) > 0 && !c.auth.grant.mayPublish(r.msg.reply) {
		c.auth.answers.request(r.msg.reply, r.clock())
	}
	r.mark(c)
	d.taken, d.payload = true, payload
	return d
}

// takes reports whether c takes messages for s on a subject from a publisher; the broker's own,
// from nil, pass the filter. c.mu is held.
func (c *client) takes(s *subscription, subject []byte, from endpoint) bool {
	return c.reason == 0 && !s.done() && !(c.noEcho && from == endpoint(c)) && !(s.filter != nil && from != nil && s.filter.denies(subject))
}

// mark adds c to the destinations of the batch. c.mu is held.
func (r *router) mark(c *client) {
	if c.mark != r.batch {
		c.mark = r.batch
		r.clients = append(r.clients, c)
	}
}

// prepare finds room for a frame of n bytes, writing the pending bytes if they fill a slab, or
// returns nil if the message is not taken. c is held.
func (c *client) prepare(n int, s *subscription, r *router, from endpoint) *slab {
	if !r.spill(c, n, s, r.msg.subject, from) {
		return nil
	}
	if c.out.pending+int64(n) > c.srv.cfg().MaxPending && !c.out.makeRoom(n) {
		if c.reason != 0 {
			r.unlockClient()
			c.out.logSlow()
		}
		return nil
	}
	return c.out.grow(n)
}

// spill writes the pending bytes of c, which is held, while they fill a slab so that a frame of n
// bytes would begin another. It returns false if c no longer takes messages for s.
func (r *router) spill(c *client, n int, s *subscription, subject []byte, from endpoint) bool {
	for c.out.full(n) {
		r.unlockClient()
		c.out.flush()
		r.lockClient(c)
		if !c.takes(s, subject, from) {
			return false
		}
	}
	return true
}
