package bus

import (
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nkeys"

	"paddock/bus/internal/auth"
)

// login is a user that may connect.
type login struct {
	name   string // a user's name, an nkey, or "" for the token's
	secret string // plain or a hash; unused with an nkey
	nkey   bool
	grant  *grant
	types  []ConnectionType // empty = all
}

// mayUse reports whether the user may connect in this way.
func (l *login) mayUse(t ConnectionType) bool {
	return len(l.types) == 0 || slices.Contains(l.types, t)
}

// logins is a configuration's credentials, to look them up in. It never changes.
type logins struct {
	required bool
	token    *login
	single   *login
	byCerts  bool                // certificates name the users
	subjects map[string][]*login // the users whose names are distinguished names, by the canonical form
	users    map[string]*login
	nkeys    map[string]*login
	noAuth   *login                    // the user of clients without credentials; nil = none
	defaults *grant                    // of clients that need no credentials
	lookup   func(secret string) *User // nil = none
	decoy    string                    // compared for users that do not exist, so that their refusal takes as long
}

// credentials are the claims of a client.
type credentials struct {
	user, pass, token string
	nkey, sig         string
}

// proof is an open claim: that the given secret is the wanted one.
type proof struct {
	needed      bool
	given, want string
}

// evidence is the part of a claim that the connection itself gives.
type evidence struct {
	names *auth.Names // of its certificate; nil = it names no user
	nonce string      // that the client was to sign
	way   ConnectionType
}

// identify finds the user that a client claims to be, and the proof that has to be compared. With
// vouched, an nkey needs no signature. A nil login is refused, after the comparison.
func (t *logins) identify(g *credentials, e evidence, vouched bool) (l *login, p proof) {
	if l = t.found(g); l != nil {
		if !l.mayUse(e.way) {
			l = nil
		}
		return l, proof{}
	}
	switch {
	case e.names != nil && len(t.users) > 0:
		l = t.byCertificate(e.names, e.way)
	case len(t.nkeys) > 0 && g.nkey != "":
		if l = t.nkeys[g.nkey]; l != nil && !vouched && !auth.Signed(g.nkey, e.nonce, g.sig) {
			l = nil
		}
	case t.noAuth != nil && g.user == "" && g.pass == "" && g.token == "":
		l = t.noAuth
	case len(t.users) > 0:
		if l = t.users[g.user]; l != nil && l.secret == "" && t.byCerts {
			l = nil // the certificate is the user's only proof
		}
		p = proof{needed: true, given: g.pass, want: t.decoy}
	case t.token != nil:
		l = t.token
		p = proof{needed: true, given: g.token}
	case t.single != nil:
		if auth.SameSecret(g.user, t.single.name) {
			l = t.single
		}
		p = proof{needed: true, given: g.pass, want: t.decoy}
	}
	if l != nil && !l.mayUse(e.way) {
		return nil, proof{}
	}
	if l != nil && p.needed {
		p.want = l.secret
	}
	return l, p
}

// found returns the user that Lookup has for a secret; nil = none.
func (t *logins) found(g *credentials) *login {
	secret := orDefault(g.token, g.pass)
	if t.lookup == nil || secret == "" {
		return nil
	}
	u := t.lookup(secret)
	if u == nil {
		return nil
	}
	l := &login{name: u.Name, grant: t.defaults}
	if u.Permissions != nil {
		l.grant = newGrant(u.Permissions)
	}
	l.setTypes(u)
	return l
}

// asks reports whether clients with these credentials are judged by them.
func (t *logins) asks(g *credentials) bool {
	return t.required || t.lookup != nil && g.token+g.pass != ""
}

// setTypes limits a user, which has been checked, to its ways to connect.
func (l *login) setTypes(u *User) {
	for _, name := range u.Connections {
		t, _ := ParseConnectionType(string(name))
		l.types = append(l.types, t)
	}
}

// byCertificate returns the user that a certificate names; nil = none. The subject names a user
// whose name is a distinguished name with the same parts, in any order.
func (t *logins) byCertificate(names *auth.Names, way ConnectionType) *login {
	for _, name := range names.Exact {
		if l := t.users[name]; l != nil && l.mayUse(way) {
			return l
		}
	}
	for _, l := range t.subjects[names.Subject] {
		if l.mayUse(way) {
			return l
		}
	}
	return nil
}

// newLogins makes the table of c, which has been checked.
func newLogins(c *Config) *logins {
	t := &logins{subjects: make(map[string][]*login), defaults: newGrant(c.Permissions), lookup: c.Lookup, decoy: c.Password}
	own := func(p *Permissions) *grant {
		if p == nil {
			return t.defaults
		}
		return newGrant(p)
	}
	switch {
	case c.Token != "":
		t.token = &login{secret: c.Token, grant: t.defaults}
	case c.Username != "":
		t.single = &login{name: c.Username, secret: c.Password, grant: t.defaults}
	}
	for _, u := range c.Users {
		l := &login{name: u.Name, secret: u.Password, grant: own(u.Permissions)}
		l.setTypes(&u)
		table := &t.users
		if u.NKey != "" {
			l.name, l.nkey, table = u.NKey, true, &t.nkeys
		} else {
			if dn := auth.CanonicalDN(u.Name); dn != "" {
				t.subjects[dn] = append(t.subjects[dn], l)
			}
			if t.decoy == "" || auth.IsHash(u.Password) {
				t.decoy = u.Password
			}
		}
		if *table == nil {
			*table = make(map[string]*login)
		}
		(*table)[l.name] = l
	}
	t.byCerts = c.TLS != nil && c.TLS.MapUsers
	t.required = c.RequireAuth || t.token != nil || t.single != nil || len(t.users) > 0 || len(t.nkeys) > 0
	if t.noAuth = t.users[c.NoAuthUser]; t.noAuth == nil {
		t.noAuth = t.nkeys[c.NoAuthUser]
	}
	return t
}

// checkCredentials returns the faults of the configured users.
func (c *Config) checkCredentials() error {
	switch {
	case c.Token != "" && (c.Username != "" || c.Password != ""):
		return errors.New("bus: give a token or a user with a password, not both")
	case (c.Username == "") != (c.Password == ""):
		return errors.New("bus: a user needs a password, and a password a user")
	case len(c.Users) > 0 && c.Token != "":
		return errors.New("bus: can not have a token and a list of users")
	case len(c.Users) > 0 && c.Username != "":
		return errors.New("bus: can not have a single user and a list of users")
	}
	if err := c.Permissions.check(); err != nil {
		return fmt.Errorf("bus: default permissions: %w", err)
	}
	names := make(map[string]bool)
	for i := range c.Users {
		u := &c.Users[i]
		name := orDefault(u.NKey, u.Name)
		if names[name] {
			return fmt.Errorf("bus: duplicate user %q", name)
		}
		names[name] = true
		if err := u.check(); err != nil {
			return fmt.Errorf("bus: user %q: %w", name, err)
		}
	}
	if c.NoAuthUser != "" && !names[c.NoAuthUser] {
		return fmt.Errorf("bus: no_auth_user %q is not among the users", c.NoAuthUser)
	}
	return nil
}

func (u *User) check() error {
	switch {
	case u.NKey != "" && (u.Name != "" || u.Password != ""):
		return errors.New("has an nkey besides a name and password")
	case u.NKey != "" && !nkeys.IsValidPublicUserKey(u.NKey):
		return errors.New("is not a valid public nkey of a user")
	case u.NKey == "" && u.Name == "":
		return errors.New("has neither a name nor an nkey")
	}
	for _, t := range u.Connections {
		if _, err := ParseConnectionType(string(t)); err != nil {
			return err
		}
	}
	return u.Permissions.check()
}

// authRequired reports whether clients need a user before they do anything.
func (c *Config) authRequired() bool { return c.logins.required }

// asksForCredentials reports whether INFO asks clients for credentials.
func (c *Config) asksForCredentials() bool { return c.logins.required && c.logins.noAuth == nil }
