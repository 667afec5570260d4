package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"paddock/bus/internal/protocol"
	"paddock/bus/internal/subjects"
)

var (
	pongLine = []byte("PONG\r\n")
	okLine   = []byte("+OK\r\n")
)

// Subjects that carry the protocol's own traffic between servers: no client
// publishes there, nor asks for replies there.
var (
	reservedSubjects = []reserved{{"_GR_.", 1}, {"$GR.", 1}, {"$NRG.", 0}}
	reservedReplies  = []reserved{{"_R_.", 0}, {"$JS.ACK.", 1}, {"_GR_.", 1}, {"$GR.", 1}}
)

// reserved matches subjects that begin with prefix and have at least so many bytes more.
type reserved struct {
	prefix string
	more   int
}

// reservedQueue is a queue name that clients cannot use.
const reservedQueue = "_sys_"

// reply appends protocol bytes for the client whose batch is routed.
func (rd *reader) reply(b ...[]byte) {
	rd.route.endRun()
	rd.c.out.send(b...)
}

// acknowledge answers a successful operation of a verbose client.
func (rd *reader) acknowledge() {
	if rd.opts.Verbose {
		rd.reply(okLine)
	}
}

// refuse answers with an -ERR that leaves the connection open.
func (rd *reader) refuse(text string) {
	rd.reply(appendErr(nil, text))
	rd.c.debug(text)
}

func (rd *reader) deny(format string, args ...any) {
	rd.c.srv.counters.refused.Add(1)
	rd.refuse(fmt.Sprintf(format, args...))
}

// OnInvalidSubject warns a pedantic client. Its message is still routed.
func (rd *reader) OnInvalidSubject() { rd.refuse(textInvalidPublish) }

func (rd *reader) OnPublish(p *protocol.Publication) error {
	c := rd.c
	r := rd.route
	if p.Header > 0 && tracesOnly(p.Payload[:p.Header]) {
		r.routeRun()
		r.lookup(p.Subject) // for the counts of its prefix
		r.counts.receive(len(p.Payload))
		c.srv.counters.traceOnly.Add(1)
		rd.acknowledge()
		return nil
	}
	if r.run.continues(p) {
		r.run.add(p)
		return nil
	}
	r.routeRun()
	to := r.lookup(p.Subject)
	switch {
	case to.denied, rd.grant != nil && !to.permits(rd.grant, p.Subject) && !rd.answer(p.Subject):
		r.counts.receive(len(p.Payload))
		rd.deny(textDeniedPublish, p.Subject)
		return nil
	case len(p.Reply) > 0 && (isReserved(p.Reply, reservedReplies) || c.srv.denied(p.Reply)):
		r.counts.receive(len(p.Payload))
		rd.deny(textDeniedReply, p.Reply)
		return nil
	case to.empty() && (len(p.Reply) == 0 || !rd.opts.NoResponders):
		rd.acknowledge()
		r.counts.receive(len(p.Payload))
		return nil
	case to.begins(p) && (rd.grant == nil || to.permitted) && !rd.opts.Verbose && !rd.opts.Pedantic:
		r.run.begin(to, c, p)
		return nil
	}
	rd.acknowledge()
	r.msg.reset(p.Subject, p.Reply, p.Payload[:p.Header], p.Payload[p.Header:])
	if r.msg.exact = p.Exact; len(p.Exact) == 0 {
		r.msg.exact = rd.parse.Written
	}
	if !r.route(to, c) && len(p.Reply) > 0 && rd.opts.NoResponders {
		r.noResponders(c)
	}
	return nil
}

// The fields by which a message asks to be traced on its way, and no more than that.
var (
	traceDest = []byte("\r\nNats-Trace-Dest:")
	traceOnly = []byte("\r\nNats-Trace-Only:")
)

// tracesOnly reports whether a message is not to be delivered: it asks for a report of where it
// would go, which is not made here.
func tracesOnly(header []byte) bool {
	_, value, found := bytes.Cut(header, traceOnly)
	if !found || !bytes.Contains(header, traceDest) {
		return false
	}
	value, _, _ = bytes.Cut(value, lineEnd)
	switch string(bytes.ToLower(bytes.TrimSpace(value))) {
	case "1", "true", "on":
		return true
	}
	return false
}

func isReserved(subject []byte, list []reserved) bool {
	for i := range list {
		if n := len(list[i].prefix); len(subject) >= n+list[i].more && string(subject[:n]) == list[i].prefix {
			return true
		}
	}
	return false
}

// answer uses up a permission to answer a request.
func (rd *reader) answer(subject []byte) bool {
	c := rd.c
	if rd.grant.answers == nil {
		return false
	}
	rd.route.unlockClient()
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.auth.answers != nil && c.auth.answers.take(subject)
}

// refusal is the answer to a SUB that is not accepted. The connection stays open.
type refusal struct {
	text    string
	counter *atomic.Uint64 // nil = none
}

func (rd *reader) OnSubscribe(subject, queue, sid []byte) error {
	c := rd.c
	s := &subscription{owner: c, subject: string(subject), queue: string(queue), sidText: string(sid) + " "}
	s.sid = s.sidText[:len(sid)]
	c.usage.active.Store(rd.route.now)
	rd.route.endRun()
	added, refused := rd.addSubscription(s, subject)
	if refused != nil {
		if refused.counter != nil {
			refused.counter.Add(1)
		}
		rd.refuse(refused.text)
		return nil
	}
	if added {
		c.activate(s) // unless a reload has closed it
	}
	rd.acknowledge()
	return nil
}

// addSubscription puts s among the client's own, unless it is refused, or known already.
func (rd *reader) addSubscription(s *subscription, subject []byte) (added bool, refused *refusal) {
	c, cfg := rd.c, rd.c.srv.cfg()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case s.queue == reservedQueue, !c.auth.maySubscribe(s):
		return false, &refusal{deniedSubscription(s), &c.srv.counters.refused}
	case cfg.MaxSubTokens > 0 && 1+bytes.Count(subject, []byte{subjects.Separator}) > cfg.MaxSubTokens:
		return false, &refusal{fmt.Sprintf(textTooManyTokens, s.subject), &c.srv.counters.refused}
	case cfg.MaxSubs > 0 && len(c.subs) >= cfg.MaxSubs:
		return false, &refusal{textMaxSubscriptions, &c.srv.counters.subsRefused}
	case c.subs[s.sid] != nil || c.reason != 0:
		return false, nil
	case !subjects.WellFormedPattern(subject):
		return false, &refusal{textInvalidSubject, nil}
	}
	s.filter = c.auth.grant.filterFor(s.subject, s.queue)
	c.add(s)
	return true, nil
}

func deniedSubscription(s *subscription) string {
	if s.queue != "" {
		return fmt.Sprintf(textDeniedSubscribeTo, s.subject, s.queue)
	}
	return fmt.Sprintf(textDeniedSubscribe, s.subject)
}

func (rd *reader) OnUnsubscribe(sid []byte, limit uint64) error {
	c := rd.c
	c.usage.active.Store(rd.route.now)
	rd.route.endRun()
	c.mu.Lock()
	s := c.subs[string(sid)]
	ended := s != nil && c.endAfter(s, limit)
	c.mu.Unlock()
	if ended {
		c.srv.subs.remove(s)
	}
	rd.acknowledge()
	return nil
}

// OnPing ends the batch so far, so that its counters and callbacks come before
// the PONG, as the messages in the destinations' pending bytes do.
func (rd *reader) OnPing() error {
	c := rd.c
	rd.finishBatch()
	first := rd.connected && !rd.infoSent
	rd.infoSent = rd.infoSent || first
	if !first || rd.opts.Protocol < 1 {
		rd.reply(pongLine)
		return nil
	}
	c.mu.Lock()
	c.informed = true // before INFO is made: a change of lame duck mode that it misses is sent after it
	c.mu.Unlock()
	rd.reply(pongLine, c.srv.infoLine(c, true))
	return nil
}

func (rd *reader) OnPong() error {
	rd.c.timers.pong(rd.route.now)
	return nil
}

// OnInfo ignores an INFO of a client.
func (rd *reader) OnInfo(options []byte) error {
	if json.Unmarshal(options, new(info)) != nil {
		return errArguments
	}
	return nil
}
