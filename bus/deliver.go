package bus

import "maps"

// deliver appends r's message for s, without copying it more than once. The lock
// of c is held when it returns: the next message may well be for c too.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (c *client) deliver(s *subscription, r *router, from endpoint) (d delivery) {
	r.hold(c)
	if !c.takes(s, r.msg.subject, from) {
		return d
	}
	f, payload := r.msg.as(c.headers)
	n := f.size() + len(s.sidText)
	r.most -= n
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
	}
	if d.ended = s.ended(); d.ended {
		delete(c.subs, s.sid)
	}
	if c.answers != nil && len(r.msg.reply) > 0 && !c.access.grant.mayPublish(r.msg.reply) {
		c.answers.request(r.msg.reply, r.clock())
	}
	r.mark(c)
	c.toll.msgs++
	c.toll.bytes += uint64(payload)
	d.taken, d.payload = true, payload
	return d
}

// takes says whether c takes messages for s on a subject from a publisher; the
// broker's own, from nil, pass the filter. c.mu is held.
func (c *client) takes(s *subscription, subject []byte, from endpoint) bool {
	return c.reason == 0 && !s.ended() && !(c.noEcho && from == endpoint(c)) && !(s.filter != nil && from != nil && s.filter.denies(subject))
}

// mark puts c among those that the batch has something for. c.mu is held.
func (r *router) mark(c *client) {
	if c.mark != r.batch {
		c.mark = r.batch
		r.clients = append(r.clients, c)
	}
}

// prepare finds room for a frame of n bytes, writing what is pending if that is
// a slab full, or returns nil if the message is not taken. c is held.
func (c *client) prepare(n int, s *subscription, r *router, from endpoint) *slab {
	for c.out.full(n) {
		r.letGo()
		c.flush()
		r.hold(c)
		if !c.takes(s, r.msg.subject, from) {
			return nil
		}
	}
	if c.out.pending+int64(n) > c.srv.cfg().MaxPending && !c.makeRoom(n) {
		if c.reason != 0 {
			r.letGo()
			c.logSlow()
		}
		return nil
	}
	return c.out.grow(n)
}

func (c *client) listener(subject []byte) (s *subscription, few bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.subs) > fewListeners {
		return nil, false
	}
	return listening(maps.Values(c.subs), subject), true
}
