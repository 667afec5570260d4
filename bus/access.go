package bus

import (
	"fmt"
	"time"
)

// access holds the permissions of a connection, and where they come from.
type access struct {
	cfg     *Config // by which it has been judged
	pending bool    // nothing, before CONNECT
	login   *login  // nil = no user
	grant   *grant
	given   credentials // of CONNECT, to be judged again by
	proven  bool        // given has been found to be
	secret  string      // this
}

func (a *access) maySubscribe(s *subscription) bool {
	return a.grant == nil || a.grant.maySubscribe([]byte(s.subject), s.queue)
}

// begin gives a new connection its permissions before CONNECT.
func (c *client) begin(cfg *Config) {
	c.access = access{cfg: cfg, pending: cfg.authRequired()}
	if !c.access.pending {
		c.access.grant = cfg.logins.anybody
	}
	c.answers = newAnswers(c.access.answersRule())
	if len(cfg.logins.nkeys) > 0 {
		c.nonce = newNonce()
	}
	c.adopt(cfg, &c.access)
}

func (a *access) answersRule() *ResponsePermission {
	if a.grant == nil {
		return nil
	}
	return a.grant.answers
}

// adopt copies, for the reader, the settings that a batch needs. a is c.access.
func (c *client) adopt(cfg *Config, a *access) {
	c.seen, c.grant = cfg, a.grant
	c.parse.MaxLine, c.parse.MaxPayload = cfg.MaxControlLine, cfg.MaxPayload
	c.parse.MustAuth = a.pending
	c.authorized.Store(!a.pending)
}

// prepareBatch brings the reader up to date with the configuration, and lets a
// client in that begins without CONNECT, where that is possible.
// false = the connection has ended.
func (c *client) prepareBatch(batch []byte) bool {
	c.revise(false)
	c.mu.Lock()
	c.adopt(c.access.cfg, &c.access)
	ended := c.reason != 0
	c.mu.Unlock()
	if ended {
		return false
	}
	if c.seen.logins.noAuth != nil && c.parse.DemandsConnect(batch) {
		// If not, the parser says so. A CONNECT that still comes is a later one.
		c.greeted = c.authenticate(credentials{}) == nil
	}
	return true
}

// authenticate decides whether a client with these credentials may connect, and as which user. It
// must not hold a lock. It may take long, and gives the router back for that time.
func (c *client) authenticate(given credentials) error {
	for {
		a, err := c.judge(c.srv.cfg(), given, nil, true)
		if err == errAuthorization {
			c.srv.pauses.FailedElsewhere(c.conn.RemoteAddr())
		}
		if err != nil {
			return err
		}
		if c.admitted(a) {
			if a.login != nil {
				c.srv.pauses.Forgive(c.conn.RemoteAddr())
			}
			return nil
		}
	}
}

// admitted gives an open connection its access, unless the configuration has been
// replaced since it was judged.
func (c *client) admitted(a *access) bool {
	c.mu.Lock()
	if a.cfg != c.srv.cfg() {
		c.mu.Unlock()
		return false
	}
	lost := c.put(a)
	c.adopt(a.cfg, &c.access)
	c.mu.Unlock()
	c.unlist(lost)
	return true
}

// put replaces the connection's permissions, and returns the subscriptions that are not permitted
// any more. They get nothing from now on; unlist has to follow. c.mu is held.
func (c *client) put(a *access) (lost []*subscription) {
	if rule := a.answersRule(); rule == nil || c.answers == nil || *rule != c.answers.rule {
		c.answers = newAnswers(rule)
	}
	c.access = *a
	c.named()
	if c.reason != 0 {
		return nil
	}
	for sid, s := range c.subs {
		if a.maySubscribe(s) {
			s.filter = a.grant.filterFor(s.subject, s.queue)
			continue
		}
		s.closed = true
		delete(c.subs, sid)
		lost = append(lost, s)
	}
	return lost
}

// named tells monitoring the user of the connection. c.mu is held.
func (c *client) named() {
	if l := c.access.login; l != nil && l.name != "" {
		c.who.user = l.name
	}
}

// unlist tells the client about subscriptions that have been taken away.
func (c *client) unlist(lost []*subscription) {
	for _, s := range lost {
		c.srv.subs.remove(s)
		c.srv.counters.refused.Add(1)
		text := fmt.Sprintf("%s (sid %q)", deniedSubscription(s), s.sid)
		c.out.send(appendErr(nil, text))
		c.logger().Debug(text)
	}
	if len(lost) > 0 {
		c.out.flush()
	}
}

// judge applies cfg to a client's credentials. Proofs that before already has need not be given
// again; nil = none. lend is for the reader, which may have a router to give back meanwhile. No
// lock is held.
func (c *client) judge(cfg *Config, given credentials, before *access, lend bool) (*access, error) {
	a := &access{cfg: cfg, given: given}
	t := cfg.logins
	if !t.required {
		a.grant = t.anybody
		return a, nil
	}
	l, p := t.claim(&given, c, before != nil && before.login != nil && before.login.nkey)
	shown := before != nil && before.proven && before.secret == p.want && l != nil
	if p.needed && !shown {
		same, ok := c.compare(p, lend)
		if !ok {
			return nil, errStopping
		}
		if !same {
			return nil, errAuthorization
		}
	}
	if l == nil {
		return nil, errAuthorization
	}
	a.login, a.grant, a.proven, a.secret = l, l.grant, p.needed, p.want
	return a, nil
}

// compare compares a secret; ok = false: the server or the connection has ended
// before it came to that.
func (c *client) compare(p proof, lend bool) (same, ok bool) {
	if !isHash(p.want) {
		return sameSecret(p.given, p.want), true
	}
	if c.srv.hasher.known(p.given, p.want) {
		return true, true
	}
	lend = lend && c.route != nil
	if lend {
		c.finishBatch()
		c.srv.release(c.route)
		c.route = nil
		c.out.flush()
	}
	same, ok = c.srv.hasher.matches(p.given, p.want, c.srv.ctx.Done(), c.finished)
	if lend {
		c.route = c.srv.router()
		c.route.now = time.Now().UnixNano()
	}
	return same, ok
}
