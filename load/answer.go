package load

import (
	"cmp"
	"errors"
	"io"
)

// greeted lets requests go as soon as the session takes some.
func (l *loop) greeted(c *conn, now int64) {
	if c.state == stateGreeting && c.session.Ready() {
		c.state, c.since, c.refused = stateReady, 0, 0
		l.expect(c, false)
		if l.stripe == nil && l.pauser != nil && c.listens == 0 {
			l.pause(c, now, now)
			return
		}
		l.refill(c, now, now)
	}
}

// received passes the bytes of c to its session and returns how many of them the session has
// consumed. The rest is passed again in front of the next ones.
func (l *loop) received(c *conn, now int64, in []byte, fresh int) (used int) {
	if c.state < stateGreeting {
		return len(in)
	}
	l.integrate(now)
	l.rec.BytesIn += int64(fresh)
	l.firstByte(c, now)
	l.answers.Reset()
	l.answers.Now = now
	used, err := c.session.Receive(in, &l.answers)
	if len(l.answers.Reply) > 0 || c.batched != nil {
		c.out = append(c.out, l.answers.Reply...)
		l.soil(c)
	}
	waiting := c.flight.waiting
	last := l.take(c, now, in) || l.answers.Over
	ended := c.flight.waiting < waiting
	switch {
	case c.state < stateGreeting: // an answer was wrong
		used = len(in)
	case err != nil:
		l.fail(c, classOf(err, ClassParse), err.Error(), in[used:], now)
		used = len(in)
	case last:
		l.drop(c, ClassClosed, now)
		used = len(in)
	default:
		l.greeted(c, now)
		l.settle(c, ended, now)
	}
	l.dispatch(now)
	l.flush(now)
	return used
}

// firstByte measures the time to the first byte of an answer, where one request waits.
func (l *loop) firstByte(c *conn, now int64) {
	if c.mux != nil { // its answers bring the time
		c.heard = now
		return
	}
	if c.flight.waiting == 0 || c.since != 0 || c.state != stateReady {
		return
	}
	c.since = now
	if i, ok := c.flight.oldest(); ok {
		l.rec.FirstByte.Record(now - c.flight.at(i).sent)
	}
}

// take ends the requests that were answered. last says that the service ends the
// connection.
func (l *loop) take(c *conn, now int64, in []byte) (last bool) {
	for i := range l.answers.List {
		a := &l.answers.List[i]
		if a.Class != ClassOK && (a.Why != "" || l.answers.Why != "") {
			l.samples.add(a.Class, cmp.Or(a.Why, l.answers.Why), nil, now)
		}
		if a.Match == Untimed {
			l.count(c, a)
			continue
		}
		s := l.requestOf(c, a, now)
		if s == nil {
			l.fail(c, ClassProtocol, "an answer without a request", in, now)
			return false
		}
		l.complete(c, s, a, now)
		c.since = 0
		last = last || a.Last
	}
	return last
}

// requestOf finds the request of an answer, which has ended with it; nil = there is none.
func (l *loop) requestOf(c *conn, a *Answer, now int64) *slot {
	switch a.Match {
	case ByTimes:
		l.inFlight++ // complete takes it away: it was done where it was sent
		l.area += float64(now - a.Sent)
		l.elsewhere = slot{due: a.Due, sent: a.Sent}
		return &l.elsewhere
	case BySlot:
		if !c.flight.valid(a.Slot) {
			return nil
		}
		return c.flight.take(a.Slot)
	}
	return c.flight.takeOldest()
}

// complete counts a request that has its answer.
func (l *loop) complete(c *conn, s *slot, a *Answer, now int64) {
	l.leave(s)
	if s.quiet {
		if a.Class != ClassOK {
			l.count(c, a)
		}
		return
	}
	l.count(c, a)
	l.rec.Response.Record(now - s.due)
	l.rec.Service.Record(now - s.sent)
	if a.First != 0 {
		l.rec.FirstByte.Record(a.First - s.sent)
	}
	if int(s.target) < len(l.targets) {
		l.targets[s.target].answered(a.Class, now-s.due)
	}
	l.notify(c, s, a, now)
}

// count counts an answer, without its times. Statuses mostly are the same one after another,
// and go to the interval's map together.
func (l *loop) count(c *conn, a *Answer) {
	c.done++
	r := l.rec
	r.Done++
	r.Failed[a.Class]++
	r.BodyIn += a.Body
	if a.Status != l.status {
		l.settleStatus()
		l.status = a.Status
	}
	l.statuses++
}

// settleStatus tells the interval of the statuses that were counted.
func (l *loop) settleStatus() {
	if l.status != 0 && l.statuses > 0 {
		l.rec.Status[l.status] += l.statuses
	}
	l.statuses = 0
}

// settlePrompt tells the interval of the sends without any lag.
func (l *loop) settlePrompt() {
	l.rec.Lag.RecordN(0, uint64(l.prompt))
	l.prompt = 0
}

// leave takes a request out of those under way.
func (l *loop) leave(s *slot) {
	if s.quiet {
		l.quiet--
	} else {
		l.inFlight--
	}
}

// settle goes on with a connection whose answers have been taken. ended says that there were
// requests that have ended with them.
func (l *loop) settle(c *conn, ended bool, now int64) {
	if c.state != stateReady {
		return
	}
	if l.ending(c) {
		if c.flight.waiting == 0 {
			l.drop(c, ClassClosed, now)
		}
		return
	}
	if l.pauses() {
		if ended && c.flight.waiting == 0 && !l.stopped {
			l.pause(c, now, now)
		}
		return
	}
	l.refill(c, now, now)
}

// ended handles the end of c's stream: err is io.EOF, or the error that broke it.
func (l *loop) ended(c *conn, now int64, err error) {
	if c.state < stateGreeting {
		return
	}
	l.integrate(now)
	class := ClassReset
	if errors.Is(err, io.EOF) {
		l.answers.Reset()
		partial := c.session.End(&l.answers)
		l.take(c, now, nil)
		class = ClassClosed
		if partial != nil {
			class, err = classOf(partial, ClassEarlyEnd), partial
		}
	}
	if c.state >= stateGreeting {
		if c.flight.waiting > 0 || class != ClassClosed {
			l.fail(c, class, err.Error(), nil, now)
		} else {
			l.drop(c, ClassClosed, now)
		}
	}
	l.dispatch(now)
	l.flush(now)
}
