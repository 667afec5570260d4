package bus

import (
	"math/rand/v2"
	"time"
)

// holdBytes and holdMessages bound how long a router keeps a destination's lock
// from one message to the next: about as long as it takes to get it.
const (
	holdBytes    = 8 << 10
	holdMessages = 64
)

// endpoint is where subscriptions belong: a network client or a [Local].
type endpoint interface {
	// deliver appends r's message for s to what is pending, or reports that it
	// did not take it. It never waits.
	deliver(s *subscription, r *router, from endpoint) delivery
}

// delivery is what became of one message at one subscription.
type delivery struct {
	taken   bool
	ended   bool // it was the subscription's last: it has to leave the index
	payload int  // bytes that count as sent
}

// router takes the messages of one batch to their destinations. It belongs to
// one goroutine at a time. Between route and finish, destinations hold bytes
// that nobody writes yet.
//
// It may hold the lock of one network client: messages that follow each other to
// one destination need not take it each time. Whoever takes another lock calls
// letGo first.
type router struct {
	srv   *Server
	batch uint64 // marks the destinations already in clients or locals
	found matches
	msg   message
	text  []byte // scratch for a message's subject and reply

	held *client // its lock is held
	left int     // messages for which it may be held on
	most int     // bytes, likewise

	clients []*client
	locals  []*Local

	inMsgs, inBytes, outMsgs, outBytes uint64
}

func newRouter(s *Server) *router { return &router{srv: s, batch: s.batches.Add(1)} }

// hold takes the lock of c, unless it is held.
func (r *router) hold(c *client) {
	if r.held == c && r.left > 0 && r.most > 0 {
		r.left--
		return
	}
	r.letGo()
	c.mu.Lock()
	r.held, r.left, r.most = c, holdMessages, holdBytes
}

// letGo releases the lock that is held.
func (r *router) letGo() {
	if c := r.held; c != nil {
		r.held = nil
		c.mu.Unlock()
	}
}

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
	d := s.owner.deliver(s, r, from)
	if d.ended {
		r.letGo()
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
			s.owner.deliver(s, r, nil)
			return
		}
	}
}

// finish ends the batch: counters are published, what is pending for the network
// clients is written, in-process callbacks run. publisher is the Local whose
// publish this is, nil for a network client.
func (r *router) finish(publisher *Local) {
	r.letGo()
	r.srv.counters.add(r)
	if len(r.clients) > 0 {
		r.flushClients()
		r.batch = r.srv.batches.Add(1)
	}
	if len(r.locals) == 0 {
		return
	}
	r.batch = r.srv.batches.Add(1)
	if publisher == nil || !publisher.handOff(r.locals) {
		drainAll(r.locals, publisher == nil)
	}
	clear(r.locals)
	r.locals = r.locals[:0]
}

func (r *router) flushClients() {
	for _, c := range r.clients {
		c.flush()
	}
	if r.srv.cfg.SlowConsumers == SlowStall {
		until := time.Now().Add(stallMost)
		for _, c := range r.clients {
			c.awaitRoom(until)
		}
	}
	clear(r.clients)
	r.clients = r.clients[:0]
}
