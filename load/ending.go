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
	if s.quiet {
		return // its answers are the listeners', and missing there
	}
	if class != ClassTimeout {
		l.rec.Lost++
	}
	if int(s.target) < len(l.targets) {
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
	l.hangUp(c)
	if l.exhausted() {
		c.state = stateClosed
		l.expect(c, false)
		return
	}
	l.rec.Reconnects++
	if c.state == stateGreeting { // it was not let in, and will not be at once
		l.away(c, now)
		return
	}
	l.dial(c, now)
}

// hangUp ends a lifetime of a connection, and leaves nothing of it to the next.
func (l *loop) hangUp(c *conn) {
	l.tr.hangUp(c)
	c.life++
	c.out, c.rest, c.full, c.session, c.batched = c.out[:0], c.rest[:0], false, nil, nil
	c.mux = nil
}

// away lets a connection wait before the next attempt, each time for longer.
func (l *loop) away(c *conn, now int64) {
	c.refused++
	c.state, c.retryAt = stateWaiting, now+min(firstRetry<<min(c.refused-1, 20), maxRetry)
	if l.exhausted() {
		c.state = stateClosed
		l.expect(c, false)
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
				l.hangUp(c)
				l.connected(c, now, &Failed{ClassConnectTime, errTooLong})
			}
		case stateReady:
			l.expire(c, now)
		}
	}
}

var errTooLong = errors.New("no answer in time")

// expire ends the requests that have waited too long, and their connection, because the requests
// behind them cannot be answered before: those are lost with it. A multiplexed connection ends if
// it has been silent for as long.
func (l *loop) expire(c *conn, now int64) {
	f, limit := &c.flight, int64(l.plan.Timeout)
	oldest, to := f.span()
	i, lost := oldest, c.mux == nil || now-c.heard > limit
	if c.mux != nil {
		oldest, _ = f.oldest()
	}
	if f.waiting == 0 || now-f.at(oldest).sent <= limit {
		return
	}
	for ; i != to; i++ {
		s := f.at(i)
		if !s.waits || now-s.sent <= limit {
			continue // it may lose its connection, without a time of its own
		}
		l.samples.add(ClassTimeout, errTooLong.Error(), nil, now)
		l.lose(c, f.take(i), ClassTimeout, now)
		if c.mux != nil && !lost {
			c.out = c.mux.Cancel(c.out, s.number)
		}
		if s.quiet {
			continue // its times are those of the answers, which may have come
		}
		l.rec.Response.Record(s.sent - s.due + limit)
		l.rec.Service.Record(limit)
		if int(s.target) < len(l.targets) {
			l.targets[s.target].response.Record(s.sent - s.due + limit)
		}
	}
	if lost {
		l.drop(c, ClassClosed, now)
		return
	}
	l.soil(c)
	l.settle(c, true, now)
}
