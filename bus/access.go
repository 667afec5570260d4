package bus

import (
	"errors"
	"fmt"
	"sync/atomic"

	"paddock/bus/internal/auth"
)

// errLater puts off a decision that takes the comparison with a hash.
var errLater = errors.New("bus: a secret has to be compared with a hash")

// access holds the permissions of a connection, and where they come from. It never changes.
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

func (a *access) answersRule() *ResponsePermission {
	if a.grant == nil {
		return nil
	}
	return a.grant.answers
}

// authorizer decides whether a client may connect, and with which permissions.
type authorizer struct {
	c          *client
	nonce      string // for nkeys; empty if there are none
	authorized atomic.Bool

	// Guarded by the client's lock.
	access
	certNames *auth.Names // of a certificate that names the user; nil = it does not
	answers   *answers    // nil = not permitted
}

// begin gives a new connection its permissions before CONNECT.
func (a *authorizer) begin(cfg *Config) {
	a.access = access{cfg: cfg, pending: cfg.authRequired()}
	if !a.pending {
		a.grant = cfg.logins.defaults
	}
	a.answers = newAnswers(a.answersRule())
	if len(cfg.logins.nkeys) > 0 {
		a.nonce = auth.NewNonce()
	}
	a.c.in.adopt(&a.access)
}

// authenticate decides whether a client with these credentials may connect, and as which user. The
// reader calls it, without a lock. It may take long, and gives the router back for that time.
func (a *authorizer) authenticate(given credentials) error {
	c := a.c
	for {
		next, err := a.evaluate(c.srv.cfg(), given, nil)
		if err == errAuthorization {
			c.srv.penalties.FailedElsewhere(c.conn.RemoteAddr())
		}
		if err != nil {
			return err
		}
		if a.admit(next) {
			if next.login != nil {
				c.srv.penalties.Forgive(c.conn.RemoteAddr())
			}
			return nil
		}
	}
}

// admit gives an open connection its access. It returns false if the configuration has been
// replaced since it was judged.
func (a *authorizer) admit(next *access) bool {
	c := a.c
	c.mu.Lock()
	if next.cfg != c.srv.cfg() {
		c.mu.Unlock()
		return false
	}
	lost := a.replace(next)
	c.in.adopt(&a.access)
	c.mu.Unlock()
	a.withdraw(lost)
	return true
}

// revise judges the connection again if the configuration has been replaced since it was judged,
// and acts on the result. With quick it does not if a secret has to be compared with a hash; done
// reports whether it has.
func (a *authorizer) revise(quick bool) (done bool) {
	c := a.c
	for {
		c.mu.Lock()
		before, reason := a.access, c.reason
		c.mu.Unlock()
		cfg := c.srv.cfg()
		if before.cfg == cfg || reason != 0 {
			return true
		}
		next, err := a.reevaluate(cfg, &before, quick)
		switch err {
		case errLater:
			return false
		case errStopping:
			return true
		}
		c.mu.Lock()
		if a.cfg != before.cfg || c.srv.cfg() != cfg {
			c.mu.Unlock()
			continue // CONNECT, or another configuration, has come meanwhile
		}
		var lost []*subscription
		if err == nil {
			lost = a.replace(next)
		} else {
			a.cfg = cfg // judged, and ended below
		}
		c.mu.Unlock()
		if err != nil {
			c.end(errAuthorization)
		}
		a.withdraw(lost)
		return true
	}
}

// replace replaces the connection's permissions, and returns the subscriptions that are not
// permitted any more. They get nothing from now on; withdraw has to follow. c.mu is held.
func (a *authorizer) replace(next *access) (lost []*subscription) {
	c := a.c
	if rule := next.answersRule(); rule == nil || a.answers == nil || *rule != a.answers.rule {
		a.answers = newAnswers(rule)
	}
	a.access = *next
	if l := a.login; l != nil && l.name != "" {
		c.identity.user = l.name // for monitoring
	}
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

// withdraw takes lost subscriptions out of the index, and tells the client.
func (a *authorizer) withdraw(lost []*subscription) {
	c := a.c
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

// reevaluate evaluates a connection that has been judged before.
func (a *authorizer) reevaluate(cfg *Config, before *access, quick bool) (*access, error) {
	if before.pending && cfg.authRequired() {
		return &access{cfg: cfg, pending: true}, nil
	}
	if quick {
		_, p := cfg.logins.identify(&before.given, a.evidence(), true)
		if _, decided := a.c.srv.hasher.Quick(p.given, p.want); p.needed && !decided && p.want != before.secret {
			return nil, errLater
		}
	}
	return a.evaluate(cfg, before.given, before)
}

// evaluate applies cfg to a client's credentials. Proofs that before already has need not be given
// again. For the first judgement before is nil, and the reader is the caller. No lock is held.
func (a *authorizer) evaluate(cfg *Config, given credentials, before *access) (*access, error) {
	next := &access{cfg: cfg, given: given}
	t := cfg.logins
	if !t.asks(&given) {
		next.grant = t.defaults
		return next, nil
	}
	l, p := t.identify(&given, a.evidence(), before != nil && before.login != nil && before.login.nkey)
	shown := before != nil && before.proven && before.secret == p.want && l != nil
	if p.needed && !shown {
		same, ok := a.compare(p, before == nil)
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
	next.login, next.grant, next.proven, next.secret = l, l.grant, p.needed, p.want
	return next, nil
}

// compare compares a secret. With lend, the reader calls it and gives its router back meanwhile. ok
// is false if the server or the connection has ended before.
func (a *authorizer) compare(p proof, lend bool) (same, ok bool) {
	c := a.c
	if same, decided := c.srv.hasher.Quick(p.given, p.want); decided {
		return same, true
	}
	wait := func() { same, ok = c.srv.hasher.Matches(p.given, p.want, c.srv.ctx.Done(), c.writerDone) }
	if lend {
		c.in.withoutRouter(wait)
	} else {
		wait()
	}
	return same, ok
}

func (a *authorizer) evidence() evidence {
	a.c.mu.Lock()
	defer a.c.mu.Unlock()
	return evidence{names: a.certNames, nonce: a.nonce, way: a.c.from.connectionType()}
}
