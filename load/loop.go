package load

import (
	"errors"
	"math"
	"time"

	"paddock/internal/process/agenda"
)

// transport moves the bytes of a loop's connections. The result of a call that does not end at once
// is reported to the loop later, from the same goroutine.
type transport interface {
	// dial begins to connect c. loop.connected follows.
	dial(c *conn)
	// write writes as much of b as possible. If that is not all, loop.writable follows.
	write(c *conn, b []byte) (n int, err error)
	// hangUp closes the connection. Nothing follows for it.
	hangUp(c *conn)
}

// The times of a loop's housekeeping.
const (
	houseEvery = int64(10 * time.Millisecond)
	greetEvery = int64(time.Millisecond) // while publishers wait for listeners
	firstRetry = int64(10 * time.Millisecond)
	maxRetry   = int64(time.Second)
	never      = math.MaxInt64
)

// loop is one thread of a run: it decides when a request is sent and on which connection, and
// counts the answers. It does no I/O and has no clock: its transport does the I/O and passes the
// time, in ns since the run's start. It belongs to one goroutine.
type loop struct {
	plan   *Plan
	tr     transport
	thread Thread
	listen ListenerThread // thread, if the plan has listeners
	pauser Pauser         // nil = the thread is none
	stripe Stripe         // nil = closed

	number, step int64 // of the next request, and the distance to the one behind it
	left         int64 // requests that may still be sent
	end          int64 // ns; see Plan.end
	next         int64 // ns; when the next arrival is due; never = there is none
	starved      int64 // ns; when a request was last due and no connection idle
	dry          int64 // ns; when a request was last to be sent and had not been made
	retryAt      int64 // ns; when it is asked for again
	woken, slept int64 // ns; when the wait for events ended, and when it should have

	conns    []*conn
	idle     idleQueue
	thinking agenda.Agenda[pending]
	unready  []unready // in the order in which they got there
	dirty    []*conn   // have something to write
	extra    int       // connections that BusyOpen may still make
	ahead    ahead     // for BusyOpen
	coming   int       // connections that are being made, or will be
	answers  Answers
	request  Request

	elsewhere slot // of an answer that brought its times

	house    int64 // ns; when connections are looked after next
	inFlight int64
	quiet    int64 // requests that wait, and whose answers are the listeners'
	counted  int64 // ns; up to when inFlight is in the interval's sum
	area     float64
	stopped  bool  // nothing more is sent
	cut      int64 // ns; since when
	rec      *Interval
	targets  []tally // by the plan's, of the measured time so far; empty = they are not told apart
	status   uint16  // of the last answer
	statuses int64   // answers of it that rec does not have
	prompt   int64   // sends without any lag, likewise
	samples  samples
	each     func(*Outcome) // nil = no callback
	notice   Outcome        // its argument
}

// newLoop makes thread part of so many, with its share of the connections.
func newLoop(plan *Plan, tr transport, part, of int) *loop {
	l := &loop{
		plan: plan, tr: tr, thread: plan.Codec.Thread(part, of),
		number: int64(part), step: int64(of), left: math.MaxInt64, end: plan.end(), next: never, starved: -1, dry: -1,
		rec: NewInterval(),
	}
	l.pauser, _ = l.thread.(Pauser)
	l.targets = make([]tally, len(plan.Targets))
	if plan.Each != nil {
		l.each = plan.Each(part)
	}
	if plan.Count > 0 {
		l.left = share(plan.Count, part, of)
	}
	if plan.Arrivals != nil {
		l.stripe = plan.Arrivals.Stripe(part, of)
		l.advance()
	}
	n := int(share(int64(plan.Conns), part, of))
	if plan.Busy == BusyOpen {
		l.extra = max(int(share(int64(plan.MaxConns), part, of))-n, 0)
		l.ahead = newAhead(plan.Arrivals.Stripe(part, of), l.number)
	}
	for range n {
		l.addConn()
	}
	if plan.Listeners > 0 {
		l.listen, _ = l.thread.(ListenerThread)
		for i := part; i < plan.Listeners; i += of {
			l.addConn().listens = i + 1
		}
	}
	return l
}

// share returns one of several equal parts of n; the first ones get the remainder.
func share(n int64, part, of int) int64 {
	s := n / int64(of)
	if int64(part) < n%int64(of) {
		s++
	}
	return s
}

func (l *loop) addConn() *conn {
	c := &conn{index: len(l.conns), fd: -1, flight: newFlight(l.plan.Depth)}
	l.conns = append(l.conns, c)
	return c
}

// start makes the connections.
func (l *loop) start(now int64) {
	for _, c := range l.conns {
		l.dial(c, now)
	}
}

func (l *loop) dial(c *conn, now int64) {
	c.state, c.since = stateDialing, now
	l.expect(c, true)
	l.tr.dial(c)
}

// advance finds the next arrival.
func (l *loop) advance() {
	l.next = never
	if l.left <= 0 {
		return
	}
	if at, ok := l.stripe.Next(); ok && int64(at) < l.end {
		l.next = int64(at)
	}
}

// tick does the work that is due.
func (l *loop) tick(now int64) {
	l.integrate(now)
	if now >= l.house {
		l.house = now + houseEvery
		l.keepHouse(now)
	}
	if len(l.unready) > 0 {
		l.retry(now)
	}
	for len(l.thinking) > 0 && l.thinking[0].At <= now {
		if t := l.thinking.Take(); !t.Value.void() {
			l.refill(t.Value.c, t.At, now)
		}
	}
	l.dispatch(now)
	l.flush(now)
}

// deadline is when tick has to be called again at the latest.
func (l *loop) deadline() int64 {
	at := l.house
	if len(l.dirty) > 0 {
		return 0
	}
	if len(l.thinking) > 0 {
		at = min(at, l.thinking[0].At)
	}
	if !l.stopped && (l.dry >= l.next || len(l.unready) > 0) {
		at = min(at, l.retryAt)
	}
	return min(at, l.awaited())
}

// awaited is when the request is due that waits for the time alone, and neither for a
// connection nor for being made; never = there is none.
func (l *loop) awaited() int64 {
	if l.stopped || l.dry >= l.next || len(l.unready) > 0 || l.starved >= l.next {
		return never
	}
	return l.next
}

// integrate counts the requests under way up to now.
func (l *loop) integrate(now int64) {
	l.area += float64(l.inFlight) * float64(now-l.counted)
	l.counted = now
}

// stop ends the sending. Requests in flight may still be answered.
func (l *loop) stop(now int64) {
	l.stopped, l.cut = true, now
	l.thinking = nil
}

// exhausted reports whether nothing more is to be sent.
func (l *loop) exhausted() bool {
	return l.stopped || l.left <= 0 || l.stripe != nil && l.next == never
}

// finished reports whether everything that was to be sent has ended.
func (l *loop) finished() bool { return l.inFlight == 0 && l.quiet == 0 && l.exhausted() }

// dispatch sends the requests that are due, in an open run.
func (l *loop) dispatch(now int64) {
	for l.next <= now && !l.stopped {
		if l.dry >= l.next && now < l.retryAt {
			return
		}
		late := now - l.next
		if l.plan.Busy == BusyShed && late > int64(l.plan.Deadline) {
			l.giveUp(ClassShed)
			continue
		}
		c := l.idle.pop()
		if c == nil {
			l.starved = now
			if l.plan.Busy == BusyDrop {
				l.giveUp(ClassDropped)
				continue
			}
			if l.plan.Busy == BusyOpen {
				l.open(now)
			}
			return
		}
		if l.send(c, l.next, now) {
			l.advance()
		}
		if c.room() && !l.ending(c) {
			l.idle.push(c)
		}
	}
}

// giveUp counts the request that is due as one that is never sent.
func (l *loop) giveUp(class Class) {
	l.rec.Failed[class]++
	l.number += l.step
	l.left--
	if l.stripe != nil {
		l.advance()
	}
}

// late counts how late a request is sent, and why.
func (l *loop) late(due, now int64) {
	lag := now - due
	cause := OnTime
	switch {
	case lag <= int64(l.plan.Tolerance):
	case l.dry >= max(due, l.starved):
		cause = Script
	case l.starved >= due:
		cause = ConnWait
	case l.woken-l.slept > lag/2:
		cause = TimerLate
	default:
		cause = LoopLate
	}
	l.rec.Late[cause]++
	l.rec.LateTime[cause] += time.Duration(lag)
}

// send makes the next request and puts it into c's output. It reports whether there was a request
// that c could take.
func (l *loop) send(c *conn, due, now int64) bool {
	r := &l.request
	*r = Request{Number: l.number, Slot: c.flight.next(), Due: due, Sent: now}
	r.LastHere = c.began+1 == l.plan.PerConn
	if err := c.session.Request(r); err != nil {
		l.unmade(c, err, due, now)
		return false
	}
	if l.stripe != nil || due < now {
		l.late(due, now)
	}
	c.began++
	l.number += l.step
	l.left--
	s := c.flight.put()
	s.due, s.sent = due, now
	s.first, s.silent, s.target = c.began == 1, r.NoAnswer, r.Target
	if r.Quiet {
		s.quiet = true
		l.quiet++
	} else {
		l.inFlight++
		l.rec.MaxInFlight = max(l.rec.MaxInFlight, l.inFlight)
	}
	l.rec.Sent++
	if due == now {
		l.prompt++
	} else {
		l.rec.Lag.Record(now - due)
	}
	c.out = append(c.out, r.Bytes...)
	l.soil(c)
	return true
}

// unmade deals with a request that could not be made. If it never can, its connection ends when
// the requests under way on it have ended.
func (l *loop) unmade(c *conn, err error, due, now int64) {
	switch {
	case !errors.Is(err, ErrNotYet) && !errors.Is(err, ErrOver):
		class := classOf(err, ClassProtocol)
		l.samples.add(class, err.Error(), nil, now)
		l.rec.Lost++
		l.giveUp(class)
		if c.leaving = true; c.flight.waiting == 0 {
			l.drop(c, ClassClosed, now)
		}
	case l.without(err, now) && l.stripe == nil:
		l.unready = append(l.unready, unready{due, false, c.pending()})
	}
}

// soil notes that c has something to write.
func (l *loop) soil(c *conn) {
	if !c.dirty {
		c.dirty = true
		l.dirty = append(l.dirty, c)
	}
}

// refill gives a connection with room its next requests: in a closed run at once, where
// they are due from an instant on, in an open one when they are due.
func (l *loop) refill(c *conn, due, now int64) {
	if !c.room() || l.stopped || l.ending(c) {
		return
	}
	if l.stripe != nil {
		l.idle.push(c)
		return
	}
	for c.room() && l.left > 0 && !l.ending(c) {
		if !l.send(c, due, now) {
			return
		}
	}
}

// ending reports whether the connection has had all the requests that it is to have.
func (l *loop) ending(c *conn) bool {
	return c.leaving || l.plan.PerConn > 0 && c.began >= l.plan.PerConn
}

// flush writes the pending output. Output that a write causes is written in the next turn: where
// requests have no answer, each write makes room for another request, without end.
func (l *loop) flush(now int64) {
	n := len(l.dirty)
	for _, c := range l.dirty[:n] {
		c.dirty = false
		if !c.full {
			l.write(c, now)
		}
	}
	l.dirty = l.dirty[:copy(l.dirty, l.dirty[n:])]
}

func (l *loop) write(c *conn, now int64) {
	if c.batched != nil {
		c.out = c.batched.EndBatch(c.out)
	}
	if len(c.out) == 0 {
		return
	}
	n, err := l.tr.write(c, c.out)
	l.rec.BytesOut += int64(n)
	if err != nil {
		l.fail(c, classOf(err, ClassWrite), err.Error(), nil, now)
		return
	}
	if n < len(c.out) {
		c.full = true
		c.out = c.out[:copy(c.out, c.out[n:])]
		return
	}
	c.out = c.out[:0]
	l.written(c, now)
}

// written ends the requests that have no answer.
func (l *loop) written(c *conn, now int64) {
	f, ended := &c.flight, false
	for i := f.head; i != f.tail && !f.mixed; i++ {
		if s := f.at(i); s.waits && s.silent {
			l.complete(c, f.take(i), &Answer{}, now)
			ended = true
		}
	}
	if f.waiting == 0 {
		l.settle(c, ended, now)
	}
}

// writable says that the transport takes bytes of c again.
func (l *loop) writable(c *conn, now int64) {
	if c.state < stateGreeting || !c.full {
		return
	}
	l.integrate(now)
	c.full = false
	l.write(c, now)
	if c.room() {
		l.refill(c, now, now)
	}
	l.dispatch(now)
	l.flush(now)
}

// connected says how an attempt to connect has ended.
func (l *loop) connected(c *conn, now int64, err error) {
	l.integrate(now)
	if err != nil {
		l.rec.Failed[classOf(err, ClassConnect)]++
		l.samples.add(classOf(err, ClassConnect), err.Error(), nil, now)
		l.away(c, now)
		return
	}
	l.rec.Connects++
	l.rec.Connect.Record(now - c.since)
	if c.tls > 0 {
		record(&l.rec.TCP, c.tcp)
		record(&l.rec.TLS, c.tls)
	}
	c.dialed, c.met = c.since, now
	c.began, c.leaving = 0, false
	c.state, c.since = stateGreeting, now
	if c.listens > 0 {
		c.session = l.listen.Listener(c.listens - 1)
	} else {
		c.session = l.thread.Session()
	}
	c.batched, _ = c.session.(Batched)
	if c.mux, _ = c.session.(Multiplexed); c.mux != nil {
		c.flight = newFlight(2 * l.plan.Depth)
		c.flight.limit, c.flight.mixed, c.heard = uint32(l.plan.Depth), true, now
	}
	if opener, ok := c.session.(Opener); ok && c.nc != nil {
		if err := opener.Open(c.nc); err != nil {
			l.fail(c, ClassTLS, err.Error(), nil, now)
			return
		}
	}
	if c.out = c.session.Greet(c.out[:0]); len(c.out) > 0 {
		l.soil(c)
	}
	l.greeted(c, now)
	l.dispatch(now)
	l.flush(now)
}

// unanswered returns the requests in flight at the end, and the requests that were due but not
// sent.
func (l *loop) unanswered(now int64) (u Unanswered) {
	until := now
	if l.stopped {
		until = l.cut
	}
	for ; l.next < until; l.advance() {
		u.Unsent++
		u.Oldest = max(u.Oldest, time.Duration(now-l.next))
		l.left--
	}
	for _, w := range l.unready {
		if !w.pause && w.c.room() {
			u.Unsent++
			u.Oldest = max(u.Oldest, time.Duration(now-w.due))
		}
	}
	for _, c := range l.conns {
		f := &c.flight
		for i, to := f.span(); i != to; i++ {
			if s := f.at(i); s.waits {
				u.Count++
				u.Oldest = max(u.Oldest, time.Duration(now-s.due))
			}
		}
	}
	return u
}
