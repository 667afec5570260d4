package bus

import (
	"hash/maphash"
	"log/slog"
	"math/rand/v2"
	"time"

	"paddock/bus/internal/subjects"
	"paddock/bus/internal/traffic"
)

// holdBytes and holdMessages bound how long a router keeps a destination's lock
// from one message to the next: about as long as it takes to get it.
const (
	holdBytes    = 8 << 10
	holdMessages = 64
)

// endpoint is an owner of subscriptions: a network client or a [Local].
type endpoint interface {
	// deliver appends r's message for s to the pending bytes, or reports that it did not take it.
	// It never waits.
	deliver(s *subscription, r *router, from endpoint) delivery
	// listener returns a plain subscription of its own that gets subject, or nil. If there are too
	// many to look through, few is false.
	listener(subject []byte) (s *subscription, few bool)
	// read reads the counts of a subscription of its own.
	read(s *subscription) SubInfo
	// info reads the counts of the connection.
	info() ConnInfo
}

// delivery is the outcome of one message at one subscription.
type delivery struct {
	taken   bool
	last    bool // it was the subscription's last: it has to leave the index
	payload int  // bytes that count as sent
}

// router takes the messages of one batch to their destinations. It belongs to one goroutine at a
// time. Between route and finish, destinations hold bytes that are not being written yet.
//
// It may hold the lock of one network client: consecutive messages to one destination need not take
// it each time. Code that takes another lock calls unlockClient first.
type router struct {
	srv      *Server
	batch    uint64 // marks the destinations already in clients or locals
	cache    *receiverCache
	found    matches
	searched receivers // by search; valid until the next one
	counts   batchCounts
	msg      message
	run      run
	text     []byte // scratch for a message's subject and reply

	locked       *client // its lock is held
	lockMessages int     // messages for which it may be held on
	lockBytes    int     // bytes for which it may be held on

	clients []*client
	locals  []*Local

	searches, maxFanout uint64
	now                 int64 // Unix ns of the batch; 0 = not read yet
}

func newRouter(s *Server) *router {
	r := &router{srv: s, batch: s.batches.Add(1), cache: new(receiverCache)}
	r.counts.table, r.counts.random = s.traffic, random(rand.Uint64()|1)
	r.counts.scheduleSample()
	return r
}

// lockClient takes the lock of c, unless it is held.
func (r *router) lockClient(c *client) {
	if r.locked == c && r.lockMessages > 0 && r.lockBytes > 0 {
		r.lockMessages--
		return
	}
	r.unlockClient()
	c.mu.Lock()
	r.locked, r.lockMessages, r.lockBytes = c, holdMessages, holdBytes
}

// unlockClient releases the lock that is held.
func (r *router) unlockClient() {
	if c := r.locked; c != nil {
		r.locked = nil
		c.mu.Unlock()
	}
}

// route delivers r.msg to the plain subscriptions of to, and to one member of each queue. It
// reports whether any of them took it.
func (r *router) route(to *receivers, from endpoint) bool {
	m := &r.msg
	r.counts.receive(len(m.header) + len(m.data))
	taken := false
	for _, s := range to.plain {
		taken = r.offer(s, from) || taken
	}
	for i := range to.groups {
		taken = r.offerOne(to.groups[i].members, from) || taken
	}
	return taken
}

// endRun routes the gathered messages, and releases the lock. It is called before another lock is
// taken, or before the target of the next messages changes.
func (r *router) endRun() {
	r.routeRun()
	r.unlockClient()
}

// offerOne tries the members from a random one on until one takes the message.
func (r *router) offerOne(members []*subscription, from endpoint) bool {
	at := int(r.counts.random.bits() % uint64(len(members)))
	for range members {
		if r.offer(members[at], from) {
			return true
		}
		if at++; at == len(members) {
			at = 0
		}
	}
	return false
}

func (r *router) offer(s *subscription, from endpoint) bool {
	d := s.owner.deliver(s, r, from)
	if d.last {
		r.unlockClient()
		r.srv.subs.remove(s)
	}
	if d.taken {
		r.counts.outMsgs++
		r.counts.outBytes += uint64(d.payload)
	}
	return d.taken
}

// noResponders answers a request without receivers, if the requester listens for the reply with a
// plain subscription of its own.
func (r *router) noResponders(from endpoint) {
	request, reply := r.msg.subject, r.msg.reply
	r.unlockClient()
	s, few := from.listener(reply)
	if !few {
		for _, other := range r.search(r.srv.subs.now.Load(), maphash.Bytes(seed, reply), reply).plain {
			if other.owner == from {
				s = other
				break
			}
		}
	}
	if s == nil {
		return
	}
	r.msg.reset(reply, nil, noRespondersHeader(nil, request), nil)
	r.msg.shared, r.msg.status = true, true
	s.owner.deliver(s, r, nil)
}

// clock returns about the time at which the batch is routed.
func (r *router) clock() int64 {
	if r.now == 0 {
		r.now = time.Now().UnixNano()
	}
	return r.now
}

// finish ends the batch: counters are published, pending bytes of network clients are written,
// in-process callbacks run. publisher is the Local whose publish this is, nil for a network client.
func (r *router) finish(publisher *Local) {
	r.endRun()
	r.counts.report()
	r.srv.counters.add(r)
	if len(r.clients) > 0 {
		r.flushClients()
		if publisher != nil && publisher.watching.Load() {
			publisher.watch(r.clients)
		}
		r.forgetClients()
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

// abandon ends the batch of a router that a panic has interrupted. The router is not used again.
// The message in hand is lost, and so are the messages gathered for a run. Earlier messages are
// delivered.
func (r *router) abandon(log *slog.Logger) {
	defer func() {
		if fault := recover(); fault != nil {
			r.srv.logPanic(log, "a batch that has panicked could not be ended", fault)
		}
	}()
	r.unlockClient()
	r.run.to = nil
	r.srv.counters.add(r)
	r.flushClients()
	r.forgetClients()
	drainAll(r.locals, false)
}

func (r *router) flushClients() {
	now := r.clock()
	for _, c := range r.clients {
		c.usage.active.Store(now)
		c.out.flush()
	}
	if r.srv.cfg().SlowConsumers == SlowStall {
		until := time.Now().Add(maxStall)
		for _, c := range r.clients {
			c.out.awaitRoom(until)
		}
	}
}

func (r *router) forgetClients() {
	clear(r.clients)
	r.clients = r.clients[:0]
}

const (
	// receiverEntries is the number of subjects that a router remembers; a power of two.
	receiverEntries = 1024
	// onceEntries is the number of subjects that are remembered as published once.
	onceEntries = 1024
)

// receivers are the receivers of messages to a subject.
type receivers struct {
	plain  []*subscription
	groups []group // one for each queue name
	denied bool    // network clients must not publish here
	fanOut bool    // publications may form runs

	grant     *grant // whose permission is known
	permitted bool   // its answer
}

// permits reports whether g lets its user publish to subject, whose receivers these are. It is
// looked up once for the same user's next messages.
func (to *receivers) permits(g *grant, subject []byte) bool {
	if to.grant != g {
		to.grant, to.permitted = g, g.mayPublish(subject)
	}
	return to.permitted
}

// empty reports whether the subject has no receiver.
func (to *receivers) empty() bool { return len(to.plain) == 0 && len(to.groups) == 0 }

// receiverCache holds the receivers of recent subjects. A subject is stored when it comes for the
// second time, so reply subjects, each of which comes once, and a million objects do not fill it.
// An entry stays valid while nothing changes among the patterns that begin with its subject's
// first token or with a wildcard.
type receiverCache struct {
	entries [receiverEntries]receiverEntry
	once    [onceEntries]uint32
}

type receiverEntry struct {
	hash    uint64
	subject string
	seq     uint64 // the snapshot for which it was found valid
	own     uint64 // generations of the subject's domain and of leading wildcards
	lead    uint64
	to      receivers

	in, out    uint64          // messages of this batch
	unreported uint64          // published, and not offered to the sketches yet
	labels     *traffic.Labels // by which tally was found
	tally      *traffic.Tally
}

// lookup returns the receivers of messages to subject. The result is valid until the next call.
//
// hot: guarded by BenchmarkFlow and TestRoutingDoesNotAllocate.
func (r *router) lookup(subject []byte) *receivers {
	snap := r.srv.subs.now.Load()
	c := r.cache
	if e := r.counts.last; e != nil && e.seq == snap.seq && e.subject == string(subject) {
		return &e.to
	}
	r.counts.endSubject()
	hash := maphash.Bytes(seed, subject)
	at := hash % receiverEntries
	for _, e := range [2]*receiverEntry{&c.entries[at], &c.entries[at^1]} {
		if e.hash == hash && e.subject == string(subject) {
			if e.seq != snap.seq {
				r.renew(e, snap, subject)
			}
			r.counts.switchToCached(e)
			return &e.to
		}
	}
	if once := &c.once[hash>>32%onceEntries]; *once != uint32(hash) {
		*once = uint32(hash)
		r.counts.switchToUncached(subject)
		return r.search(snap, hash, subject)
	}
	e := &c.entries[at]
	if e.seq > c.entries[at^1].seq {
		e = &c.entries[at^1] // the one that was published to longer ago
	}
	r.counts.reportEntry(e)
	*e = receiverEntry{hash: hash, subject: string(subject)}
	r.renew(e, snap, subject)
	r.counts.switchToCached(e)
	return &e.to
}

// renew makes e valid for snap.
func (r *router) renew(e *receiverEntry, snap *snapshot, subject []byte) {
	tok, _, _ := subjects.Cut(subject)
	own := snap.domainOf(tok).gen
	if e.seq == 0 || own != e.own || snap.lead.gen != e.lead {
		to := r.search(snap, e.hash, subject)
		e.to = receivers{groups: append([]group(nil), to.groups...), denied: to.denied}
		e.to.plain = append(e.to.plain, to.plain...)
		e.to.fanOut = formRuns(e.to.plain, e.to.groups)
	}
	e.seq, e.own, e.lead = snap.seq, own, snap.lead.gen
}

// search finds the receivers of subject without the cache.
func (r *router) search(snap *snapshot, hash uint64, subject []byte) *receivers {
	to := &r.searched
	r.searches++
	to.grant = nil
	to.denied = isReserved(subject, reservedSubjects) || r.srv.denied(subject)
	clear(to.plain)
	to.plain, to.groups = to.plain[:0], nil
	if snap.count == 0 {
		return to
	}
	snap.match(hash, subject, &r.found)
	for _, list := range r.found.plain {
		to.plain = append(to.plain, list...)
	}
	to.groups = r.found.groups
	r.maxFanout = max(r.maxFanout, uint64(len(to.plain)+len(to.groups)))
	return to
}
