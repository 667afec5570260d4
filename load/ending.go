package load

import (
	"errors"
)

// fail ends a connection for an error: the oldest request has failed by it, and those
// behind it have lost their connection.
func (l *loop) fail(c *conn, class Class, text string, in []byte, now int64) {
	l.samples.add(class, text, in, now)
	if i, ok := c.flight.oldest(); ok {
		l.lose(c, c.flight.take(i), class, now)
	} else { // the connection itself has failed
		l.rec.Failed[class]++
	}
	l.drop(c, ClassClosed, now)
}

// lose counts a request that has been taken out of its flight without an answer.
func (l *loop) lose(c *conn, s *slot, class Class, now int64) {
	l.leave(s)
	l.notify(c, s, &Answer{Class: class}, now)
	l.rec.Failed[class]++
	if int(s.target) < len(l.targets) && !s.quiet {
		l.targets[s.target].errors++
	}
}

// drop ends a connection and dials again. The requests in flight on it have failed.
func (l *loop) drop(c *conn, class Class, now int64) {
	f := &c.flight
	for i, to := f.span(); i != to; i++ {
		if f.at(i).waits {
			l.lose(c, f.take(i), class, now)
		}
	}
	l.tr.hangUp(c)
	c.out, c.rest, c.full, c.session, c.batched = c.out[:0], c.rest[:0], false, nil, nil
	c.mux = nil
	if l.exhausted() {
		c.state = stateClosed
		return
	}
	l.rec.Reconnects++
	if c.state == stateGreeting { // it was not let in, and will not be at once
		l.away(c, now)
		return
	}
	l.dial(c, now)
}

// away lets a connection wait before the next attempt, each time for longer.
func (l *loop) away(c *conn, now int64) {
	c.refused++
	c.state, c.retryAt = stateWaiting, now+min(firstRetry<<min(c.refused-1, 20), maxRetry)
	if l.exhausted() {
		c.state = stateClosed
	}
}

// keepHouse looks for connections that have waited for long enough.
func (l *loop) keepHouse(now int64) {
	for _, c := range l.conns {
		switch c.state {
		case stateWaiting:
			if now >= c.retryAt {
				l.dial(c, now)
			}
		case stateDialing, stateGreeting:
			l.greeted(c, now)
			if l.listen != nil && c.state == stateGreeting {
				l.house = now + greetEvery // it may wait for another
			}
			if c.state != stateReady && now-c.since > int64(l.plan.Timeout) {
				l.tr.hangUp(c)
				l.connected(c, now, &Failed{ClassConnectTime, errTooLong})
			}
		case stateReady:
			l.expire(c, now)
		}
	}
}

var errTooLong = errors.New("no answer in time")

// expire ends a connection whose oldest request has waited too long. Those behind it
// cannot be answered before it, and are given up with it.
func (l *loop) expire(c *conn, now int64) {
	if c.mux != nil {
		l.expireEach(c, now)
		return
	}
	i := c.flight.head
	if i == c.flight.tail || now-c.flight.at(i).sent <= int64(l.plan.Timeout) {
		return
	}
	l.samples.add(ClassTimeout, errTooLong.Error(), nil, now)
	for ; i != c.flight.tail; i++ {
		if c.flight.at(i).waits {
			l.timeOut(c, c.flight.take(i), now)
		}
	}
	l.drop(c, ClassTimeout, now)
}

// expireEach ends the requests of a multiplexed session that have waited too long, and the
// connection if it has been silent for as long.
func (l *loop) expireEach(c *conn, now int64) {
	oldest, found := c.flight.oldest()
	if !found || now-c.flight.at(oldest).sent <= int64(l.plan.Timeout) {
		return
	}
	for i, to := c.flight.span(); i != to; i++ {
		s := c.flight.at(i)
		if !s.waits || now-s.sent <= int64(l.plan.Timeout) {
			continue
		}
		l.samples.add(ClassTimeout, errTooLong.Error(), nil, now)
		l.timeOut(c, c.flight.take(i), now)
		c.out = c.mux.Cancel(c.out, s.number)
	}
	if now-c.heard > int64(l.plan.Timeout) {
		l.drop(c, ClassClosed, now)
		return
	}
	l.soil(c)
	l.settle(c, now)
}

// timeOut counts a request that has waited too long, and has been taken out of its flight.
func (l *loop) timeOut(c *conn, s *slot, now int64) {
	l.lose(c, s, ClassTimeout, now)
	if s.quiet {
		return // its times are those of the answers, which may have come
	}
	l.rec.Response.Record(s.sent - s.due + int64(l.plan.Timeout))
	l.rec.Service.Record(int64(l.plan.Timeout))
	if int(s.target) < len(l.targets) {
		l.targets[s.target].response.Record(s.sent - s.due + int64(l.plan.Timeout))
	}
}
