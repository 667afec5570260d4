package bus

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"

	"paddock/bus/internal/subjects"
)

var (
	// ErrClosed answers calls on a closed Local or a server that was shut down.
	ErrClosed = errors.New("bus: closed")
	// ErrBadSubject refuses a subject, reply or pattern that breaks the rules of
	// [ValidSubject] or [ValidPattern].
	ErrBadSubject = errors.New("bus: invalid subject")
	// ErrMaxPayload refuses a message above [Config.MaxPayload].
	ErrMaxPayload = errors.New("bus: message is larger than max_payload")
)

// maxLocalWait bounds the bytes that wait for a Local's callbacks: beyond it, network publishers
// that feed it stop reading their sockets.
const maxLocalWait = 4 << 20

// maxIdleInbox is the largest inbox, in messages, that an idle Local keeps.
const maxIdleInbox = 4096

// Local is an in-process connection: same routing, order and queue groups as a
// network client, no permissions. Safe for concurrent use.
//
// Publishing routes on the caller's goroutine: when Publish returns, the
// message is among the pending bytes of every matching network client. Messages
// published by one goroutine keep their order.
//
// Callbacks of one Local never run concurrently, and never inside another callback. They run on the
// goroutine that routed a message: they must not block, and they publish through the Local they
// belong to. Messages that a callback publishes go to network clients at once and to in-process
// subscribers after the running batch.
//
// The queue of callbacks is bounded: a network publisher stops reading while
// more than 4 MiB wait for one Local that is busy, and past
// [Config.MaxPending] a message is dropped for that Local and counted.
type Local struct {
	connection
	name string

	// Guarded by mu.
	room      sync.Cond // the inbox has become shorter
	closed    bool
	lastKey   uint64 // of a subscription
	inbox     []localMsg
	waiting   int64 // bytes of inbox and of the batch that is running
	draining  bool  // one goroutine is running the callbacks
	waiters   int   // goroutines in awaitRoom: one of them can take over
	deferred  []*Local
	congested []congestedClient

	watching atomic.Bool // set by Congested

	// Owned by the goroutine that drains.
	spare []localMsg
	msgs  []Msg
}

// localMsg waits for its callback.
type localMsg struct {
	sub *subscription
	msg Msg
}

var _ endpoint = (*Local)(nil)

// Local returns a new in-process connection; name is for logs. It needs no
// listening server, and lives until its Close or the server's Shutdown.
func (s *Server) Local(name string) *Local {
	l := &Local{name: name}
	l.start(s)
	l.room.L = &l.mu
	s.conns.addLocal(l)
	return l
}

// Name returns the name given to [Server.Local].
func (l *Local) Name() string { return l.name }

// Publish routes one message. header is a whole header block or empty. The
// errors are ErrBadSubject, ErrMaxPayload and ErrClosed.
func (l *Local) Publish(subject, reply string, header, data []byte) error {
	return l.PublishBatch([]Msg{{Subject: subject, Reply: reply, Header: header, Data: data}})
}

// PublishBatch routes msgs in order as one batch: each destination is woken
// once. If one of them is refused, nothing is sent.
func (l *Local) PublishBatch(msgs []Msg) error {
	for i := range msgs {
		if err := l.check(&msgs[i]); err != nil {
			return err
		}
	}
	if len(msgs) > 0 {
		l.route(msgs)
	}
	return nil
}

// route takes msgs, which have been checked, to their destinations.
func (l *Local) route(msgs []Msg) {
	r, done := l.srv.router(), false
	defer r.abandonUnless(&done, l)
	for i := range msgs {
		l.send(r, &msgs[i])
	}
	l.usage.add(&r.counts)
	r.finish(l)
	l.srv.release(r)
	done = true
}

func (l *Local) check(m *Msg) error {
	cfg := l.srv.cfg()
	switch {
	case !ValidSubject(m.Subject):
		return fmt.Errorf("%w: %q", ErrBadSubject, m.Subject)
	case m.Reply != "" && !ValidSubject(m.Reply):
		return fmt.Errorf("%w: reply %q", ErrBadSubject, m.Reply)
	case len(m.Subject)+len(m.Reply) > cfg.MaxControlLine:
		return fmt.Errorf("%w: longer than max_control_line", ErrBadSubject)
	case len(m.Header)+len(m.Data) > cfg.MaxPayload:
		return fmt.Errorf("%w: %d bytes", ErrMaxPayload, len(m.Header)+len(m.Data))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return ErrClosed
	}
	return nil
}

func (l *Local) send(r *router, m *Msg) {
	n := len(m.Subject)
	r.text = append(append(r.text[:0], m.Subject...), m.Reply...)
	r.msg.reset(r.text[:n:n], r.text[n:], m.Header, m.Data)
	r.msg.shared, r.msg.copied, r.msg.local = true, true, *m
	r.msg.local.Limited, r.msg.local.User = false, "" // of the message that m may be a copy of
	if !r.route(r.lookup(r.msg.subject), l) && m.Reply != "" {
		r.noResponders(l)
	}
}

// Subscription is an in-process interest.
type Subscription struct {
	l *Local
	s *subscription
}

// Subscribe calls fn with the messages that match pattern, in batches of one or more. Members of
// one queue share the messages; queue "" is a plain subscription. It is in effect when Subscribe
// returns. See [Local] for the limits of fn.
func (l *Local) Subscribe(pattern, queue string, fn func([]Msg)) (*Subscription, error) {
	if !ValidPattern(pattern) || queue != "" && !subjects.Clean(queue) {
		return nil, fmt.Errorf("%w: %q queue %q", ErrBadSubject, pattern, queue)
	}
	s := &subscription{owner: l, subject: pattern, queue: queue, fn: fn}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, ErrClosed
	}
	l.lastKey++
	s.sidText = strconv.FormatUint(l.lastKey, 10)
	l.add(s)
	l.mu.Unlock()
	if !l.activate(s) {
		return nil, ErrClosed
	}
	return &Subscription{l: l, s: s}, nil
}

// Unsubscribe ends the subscription. One callback may still be running, or be about to run on
// another goroutine, when it returns; no callback follows that one.
func (s *Subscription) Unsubscribe() error {
	return s.UnsubscribeAfter(0)
}

// UnsubscribeAfter ends the subscription with its delivery number limit,
// counted since Subscribe: at once if that many have come already.
func (s *Subscription) UnsubscribeAfter(limit uint64) error {
	l := s.l
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	ended := l.endAfter(s.s, limit)
	l.mu.Unlock()
	if ended {
		l.srv.subs.remove(s.s)
	}
	return nil
}

// Close ends all subscriptions. Messages that still wait for a callback are discarded; published
// messages have been routed already.
func (l *Local) Close() error {
	l.mu.Lock()
	subs := l.endAll()
	for _, m := range l.inbox {
		l.waiting -= m.msg.size()
	}
	l.inbox, l.closed = nil, true
	l.room.Broadcast()
	l.mu.Unlock()
	l.srv.subs.removeAll(subs)
	l.srv.conns.dropLocal(l)
	return nil
}

func (l *Local) deliver(s *subscription, r *router, from endpoint) (d delivery) {
	m := &r.msg
	r.unlockClient()
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.done() {
		return d
	}
	msg := m.forLocal()
	c, remote := from.(*client)
	if remote {
		msg.Limited, msg.User = c.in.grant.limitsPublish(), c.in.user
	}
	size := msg.size()
	if l.waiting+size > l.srv.cfg().MaxPending {
		l.srv.counters.droppedLocal.Add(1)
		l.delivered.dropped++
		return d
	}
	d.payload = len(msg.Header) + len(msg.Data)
	if !m.status {
		s.delivered++
		l.delivered.msgs++
		l.delivered.bytes += uint64(d.payload)
	}
	if d.last = s.done(); d.last {
		delete(l.subs, s.key())
	}
	l.inbox = append(l.inbox, localMsg{s, msg})
	l.waiting += size
	if l.mark != r.batch {
		l.mark = r.batch
		r.locals = append(r.locals, l)
	}
	d.taken = true
	return d
}

// handOff leaves the callbacks of locals to the goroutine that runs l's, if
// there is one: the caller may be inside that callback.
func (l *Local) handOff(locals []*Local) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.draining {
		return false
	}
	for _, other := range locals {
		if other != l && !slices.Contains(l.deferred, other) {
			l.deferred = append(l.deferred, other)
		}
	}
	return true
}

// drainAll runs the callbacks of locals, and of the Locals that publishing from these callbacks has
// reached. With wait, the caller waits until other goroutines' work on them is below the bound, or
// takes it over.
func drainAll(locals []*Local, wait bool) {
	for _, l := range locals {
		l.drainChain()
	}
	if !wait {
		return
	}
	for _, l := range locals {
		for l.awaitRoom() {
			l.drainChain()
		}
	}
}

// drainChain drains l, and the Locals whose callbacks were left to the drain of l.
func (l *Local) drainChain() {
	work := l.drain()
	for len(work) > 0 {
		next := work[0]
		work = append(work[1:], next.drain()...)
	}
}

// drain runs the callbacks until the inbox is empty, and returns the Locals that were left to it by
// handOff. If another goroutine is running them already, that one continues. It returns to its own
// work after a batch if a third goroutine waits for room; otherwise its client would not be read
// for as long as others send more than the callbacks can take. A panic of a callback is logged.
func (l *Local) drain() (later []*Local) {
	l.mu.Lock()
	if l.draining {
		l.mu.Unlock()
		return nil
	}
	l.draining = true
	for len(l.inbox) > 0 {
		batch := l.inbox
		l.inbox = l.spare[:0]
		l.run(batch)
		clear(batch)
		if l.spare = batch[:0]; cap(batch) > maxIdleInbox {
			l.spare = nil
		}
		if l.waiters > 0 {
			break
		}
	}
	later, l.deferred, l.draining = l.deferred, nil, false
	l.room.Broadcast()
	l.mu.Unlock()
	return later
}

// run calls the callbacks for batch. It is entered and left with l.mu held, and
// releases it around each call.
func (l *Local) run(batch []localMsg) {
	for len(batch) > 0 {
		n := sameSubscription(batch)
		sub, size := batch[0].sub, int64(0)
		l.msgs = l.msgs[:0]
		for _, m := range batch[:n] {
			l.msgs = append(l.msgs, m.msg)
			size += m.msg.size()
		}
		batch = batch[n:]
		if !sub.closed {
			msgs := l.msgs
			l.mu.Unlock()
			l.call(sub.fn, msgs)
			l.mu.Lock()
		}
		l.waiting -= size
		l.room.Broadcast()
		clear(l.msgs)
	}
}

// sameSubscription counts the messages at the front that go to one callback.
func sameSubscription(batch []localMsg) int {
	n := 1
	for n < len(batch) && batch[n].sub == batch[0].sub {
		n++
	}
	return n
}

// awaitRoom waits while too many messages wait for callbacks that another goroutine runs. It
// reports true if no goroutine runs them any more and some are left.
func (l *Local) awaitRoom() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.waiters++
	for l.waiting > maxLocalWait && l.draining {
		l.room.Wait()
	}
	l.waiters--
	return !l.draining && len(l.inbox) > 0
}

// abandonUnless is deferred by in-process publication. The panic goes on to the caller, which may
// recover, and must find nothing locked.
func (r *router) abandonUnless(done *bool, l *Local) {
	if !*done {
		r.abandon(l.logger())
	}
}

// call runs a callback of l. A panic is the callback's own: its messages count as
// taken, and l goes on.
func (l *Local) call(fn func([]Msg), msgs []Msg) {
	defer func() {
		if fault := recover(); fault != nil {
			l.srv.logPanic(l.logger(), "a subscription's callback has panicked", fault)
		}
	}()
	fn(msgs)
}

func (l *Local) logger() *slog.Logger {
	return l.srv.cfg().Logger.With("client", "local", "name", l.name, "cid", l.id)
}

// ValidSubject reports whether s can be published to: at least one token, no
// token empty, none a lone * or >, and no white space or control byte. Case and
// bytes above 0x7f are free: subjects are compared as bytes.
func ValidSubject(s string) bool { return subjects.Valid(s) }

// ValidPattern reports whether s can be subscribed to: as [ValidSubject], but any token may be *,
// and the last one may be >. The characters * and > inside a longer token are literals.
func ValidPattern(s string) bool {
	return subjects.Clean(s) && subjects.WellFormedPattern([]byte(s))
}

// Match reports whether subject is matched by pattern. Tokens * and > of pattern are wildcards,
// those of subject are not. A subject with an empty token is matched by nothing.
func Match(pattern, subject string) bool { return subjects.Match(pattern, []byte(subject)) }
