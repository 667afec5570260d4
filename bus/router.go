package bus

import "math/rand/v2"

// endpoint is where subscriptions belong: a network client or a [Local].
type endpoint interface {
	// deliver appends m for s to what is pending, or reports that it did not
	// take it. It never blocks.
	deliver(s *subscription, m *message, r *router, from endpoint) delivery
}

// delivery is what became of one message at one subscription.
type delivery struct {
	taken   bool
	ended   bool // it was the subscription's last: it has to leave the index
	payload int  // bytes that count as sent
}

// router takes the messages of one batch to their destinations. It belongs to
// one goroutine at a time. Between route and finish, destinations hold bytes
// that nobody has been told to write.
type router struct {
	srv   *Server
	batch uint64 // marks the destinations already in clients or locals
	found matches
	msg   message
	text  []byte // scratch for a message's subject and reply

	clients []*client
	locals  []*Local

	inMsgs, inBytes, outMsgs, outBytes uint64
}

func newRouter(s *Server) *router { return &router{srv: s, batch: s.batches.Add(1)} }

// route delivers r.msg to every matching subscription, and to one member of
// each queue. It reports whether anybody took it.
func (r *router) route(from endpoint) bool {
	m := &r.msg
	r.inMsgs++
	r.inBytes += uint64(len(m.header) + len(m.data))
	r.srv.subs.match(m.subject, &r.found)
	taken := false
	for _, list := range r.found.plain {
		for _, s := range list {
			taken = r.offer(s, from) || taken
		}
	}
	for i := range r.found.groups {
		taken = r.offerOne(r.found.groups[i].members, from) || taken
	}
	return taken
}

// offerOne tries the members from a random one on until one takes the message.
func (r *router) offerOne(members []*subscription, from endpoint) bool {
	start := rand.IntN(len(members))
	for i := range members {
		if r.offer(members[(start+i)%len(members)], from) {
			return true
		}
	}
	return false
}

func (r *router) offer(s *subscription, from endpoint) bool {
	d := s.owner.deliver(s, &r.msg, r, from)
	if d.ended {
		r.srv.subs.remove(s)
	}
	if d.taken {
		r.outMsgs++
		r.outBytes += uint64(d.payload)
	}
	return d.taken
}

// noResponders answers a request that reached nobody, if the requester listens
// for the reply with a subscription of its own.
func (r *router) noResponders(from endpoint) {
	request, reply := r.msg.subject, r.msg.reply
	r.srv.subs.match(reply, &r.found)
	for _, list := range r.found.plain {
		for _, s := range list {
			if s.owner != from {
				continue
			}
			r.msg.reset(reply, nil, noRespondersHeader(nil, request), nil)
			r.msg.shared, r.msg.status = true, true
			s.owner.deliver(s, &r.msg, r, nil)
			return
		}
	}
}

// finish ends the batch: counters are published, the writers of the network
// clients woken, in-process callbacks run. publisher is the Local whose publish
// this is, nil for a network client.
func (r *router) finish(publisher *Local) {
	r.srv.counters.add(r)
	for i, c := range r.clients {
		c.signal()
		r.clients[i] = nil
	}
	r.clients = r.clients[:0]
	r.batch = r.srv.batches.Add(1)
	if len(r.locals) == 0 {
		return
	}
	if publisher == nil || !publisher.handOff(r.locals) {
		drainAll(r.locals, publisher == nil)
	}
	clear(r.locals)
	r.locals = r.locals[:0]
}
