package bus

import (
	"bytes"
	"encoding/json"
	"fmt"
)

var (
	pongLine = []byte("PONG\r\n")
	okLine   = []byte("+OK\r\n")
)

// Subjects that carry the protocol's own traffic between servers: no client
// publishes there, nor asks for replies there.
var (
	reservedSubjects = []string{"_GR_.", "$GR.", "$NRG."}
	reservedReplies  = []string{"_R_.", "$JS.ACK.", "_GR_."}
)

// reservedQueue is a queue name that clients cannot use.
const reservedQueue = "_sys_"

// acknowledge answers a successful operation of a verbose client.
func (c *client) acknowledge() {
	if c.opts.Verbose {
		c.append(okLine)
	}
}

// refuse answers with an -ERR that leaves the connection open.
func (c *client) refuse(text string) {
	c.append(appendErr(nil, text))
	c.logger().Debug(text)
}

func (c *client) deny(format string, args ...any) {
	c.srv.counters.refused.Add(1)
	c.refuse(fmt.Sprintf(format, args...))
}

func (c *client) onPublish(p *publication) error {
	if c.opts.Pedantic && !wellFormedSubject(p.subject) {
		c.refuse(textInvalidPublish) // and routed all the same
	}
	switch {
	case hasPrefix(p.subject, reservedSubjects) || c.srv.denied(p.subject):
		c.deny(textDeniedPublish, p.subject)
		return nil
	case hasPrefix(p.reply, reservedReplies) || len(p.reply) > 0 && c.srv.denied(p.reply):
		c.deny(textDeniedReply, p.reply)
		return nil
	}
	c.acknowledge()
	c.route.msg.reset(p.subject, p.reply, p.payload[:p.header], p.payload[p.header:])
	if !c.route.route(c) && len(p.reply) > 0 && c.opts.NoResponders {
		c.route.noResponders(c)
	}
	return nil
}

func hasPrefix(subject []byte, prefixes []string) bool {
	for _, prefix := range prefixes {
		if len(subject) >= len(prefix) && string(subject[:len(prefix)]) == prefix {
			return true
		}
	}
	return false
}

func (c *client) onSubscribe(subject, queue, sid []byte) error {
	if string(queue) == reservedQueue {
		c.deny(textDeniedSubscribeTo, subject, queue)
		return nil
	}
	s := &subscription{owner: c, subject: string(subject), queue: string(queue), sid: string(sid)}
	c.mu.Lock()
	_, known := c.subs[s.sid]
	full := c.srv.cfg.MaxSubs > 0 && len(c.subs) >= c.srv.cfg.MaxSubs
	valid := wellFormedPattern(subject)
	if add := !full && valid && !known && c.reason == 0; add {
		c.subs[s.sid] = s
	} else {
		s = nil
	}
	c.mu.Unlock()
	switch {
	case full:
		c.refuse(textMaxSubscriptions)
		return nil
	case !valid:
		c.refuse(textInvalidSubject)
		return nil
	case s != nil:
		c.srv.subs.insert(s)
	}
	c.acknowledge()
	return nil
}

func (c *client) onUnsubscribe(sid []byte, limit uint64) error {
	c.mu.Lock()
	s := c.subs[string(sid)]
	ended := s != nil && s.limit(limit)
	if ended {
		delete(c.subs, s.sid)
	}
	c.mu.Unlock()
	if ended {
		c.srv.subs.remove(s)
	}
	c.acknowledge()
	return nil
}

// onPing ends the batch so far, so that its counters and callbacks come before
// the PONG, as the messages in the destinations' pending bytes do.
func (c *client) onPing() error {
	c.route.finish(nil)
	if !c.greeted || c.told || c.opts.Protocol < 1 {
		c.append(pongLine)
		return nil
	}
	c.told = true
	c.append(pongLine, c.srv.infoLine(c, true))
	return nil
}

func (c *client) onPong() error {
	c.pingsOut.Store(0)
	c.answered.Store(true)
	return nil
}

// onInfo ignores what a client says of itself, if it is JSON.
func (c *client) onInfo(options []byte) error {
	if !json.Valid(bytes.TrimSpace(options)) {
		return errArguments
	}
	return nil
}
