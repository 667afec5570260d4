package busd

import (
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nkeys"

	"paddock/bus"
	"paddock/internal/busd/natsconf"
)

// authorization is the content of a file about users, before it is put together: accounts, users
// and the default of permissions come in any order.
type authorization struct {
	at                    natsconf.Pos
	given                 bool
	user, password, token string
	timeout               time.Duration
	users                 []bus.User
	permissions           *bus.Permissions
	accounts              []account
	system                string // account whose users are not taken, besides $SYS
	noAuthUser            string
	noAuthAt              natsconf.Pos
}

// account is one with users.
type account struct {
	name        string
	at          natsconf.Pos
	users       []bus.User
	permissions *bus.Permissions
}

// systemAccount has no counterpart here.
const systemAccount = "$SYS"

func (d *decoder) authorization(a *authorization, f *natsconf.Field) {
	a.at, a.given = f.Pos, true
	d.mapping(f, setters{
		"user":                d.secret(&a.user),
		"password":            d.secret(&a.password),
		"token":               d.secret(&a.token),
		"timeout":             d.seconds(&a.timeout),
		"users":               d.users(&a.users),
		"default_permissions": func(f *natsconf.Field) { a.permissions = d.permissions(f) },
	}.alias("username", "user", "pass", "password", "permissions", "default_permissions", "default_permission", "default_permissions").
		with(d.refused, "auth_callout", "auth_hook", "proxy_required"))
}

// accounts reads the accounts that have users. Imports, exports and limits of accounts mean nothing
// while there is only one.
func (d *decoder) accounts(a *authorization, f *natsconf.Field) {
	if f.Value.Kind == natsconf.Array { // of names
		d.warn(f.Pos, "accounts is ignored: its accounts have no users")
		return
	}
	if !d.is(f, natsconf.Map) {
		return
	}
	for _, f := range f.Value.Fields {
		if f.Used {
			continue
		}
		acc := account{name: f.Key, at: f.Pos}
		d.mapping(f, setters{
			"users":               d.users(&acc.users),
			"default_permissions": func(f *natsconf.Field) { acc.permissions = d.permissions(f) },
		}.
			with(d.silent, "nkey", "exports", "imports", "msg_trace", "trace_dest").
			with(d.promised, "jetstream", "mappings", "maps").
			with(d.missing, "limits"))
		if len(acc.users) > 0 {
			a.accounts = append(a.accounts, acc)
		}
	}
}

// admit puts together the users that may connect.
func (d *decoder) admit(s *Settings, a *authorization) {
	users := withDefault(a.users, a.permissions)
	accounts := slices.DeleteFunc(a.accounts, func(acc account) bool {
		system := acc.name == systemAccount || acc.name == a.system
		if system {
			d.warn(acc.at, "the users of %s cannot connect: there is no system account here", acc.name)
		}
		return system
	})
	if own := a.user != "" || a.token != "" || len(a.users) > 0; len(accounts) > 1 || len(accounts) == 1 && own {
		d.fail(accounts[0].at, "several accounts are not supported: their users would see each other's messages")
		return
	}
	for _, acc := range accounts {
		s.Bus.Account, users = acc.name, append(users, withDefault(acc.users, acc.permissions)...)
	}
	d.unique(a, users)
	switch {
	case (a.user != "" || a.password != "") && a.token != "":
		d.fail(a.at, "a token or a user with a password, not both")
	case a.user != "" && len(a.users) > 0, a.token != "" && len(a.users) > 0:
		d.fail(a.at, "one user or token, or several users, not both")
	case a.permissions != nil && len(a.users) == 0:
		d.warn(a.at, "default_permissions are those of users: one user or token has every permission")
	case a.given && a.user == "" && a.token == "" && len(users) == 0:
		d.warn(a.at, "authorization names nobody: no credentials are asked for")
	}
	if a.noAuthUser != "" && !slices.ContainsFunc(users, func(u bus.User) bool { return u.Name == a.noAuthUser || u.NKey == a.noAuthUser }) {
		d.fail(a.noAuthAt, "no_auth_user: there is no user %q", a.noAuthUser)
	}
	s.Bus.Username, s.Bus.Password, s.Bus.Token, s.Bus.AuthTimeout = a.user, a.password, a.token, a.timeout
	s.Bus.Users, s.Bus.NoAuthUser = users, a.noAuthUser
}

func (d *decoder) unique(a *authorization, users []bus.User) {
	seen := make(map[string]bool)
	for _, u := range users {
		if id := u.Name + u.NKey; seen[id] {
			d.fail(a.at, "there are two users %q", id)
		} else {
			seen[id] = true
		}
	}
}

// withDefault gives the permissions to users without their own.
func withDefault(users []bus.User, p *bus.Permissions) []bus.User {
	users = slices.Clone(users)
	for i := range users {
		if users[i].Permissions == nil {
			users[i].Permissions = p
		}
	}
	return users
}

func (d *decoder) users(dst *[]bus.User) setter {
	return d.maps("a user is a map", func(v *natsconf.Node) {
		u, clean := bus.User{}, len(d.problems)
		d.fields(v, setters{
			"user":                     d.text(&u.Name),
			"password":                 d.text(&u.Password),
			"nkey":                     d.text(&u.NKey),
			"permissions":              func(f *natsconf.Field) { u.Permissions = d.permissions(f) },
			"allowed_connection_types": func(f *natsconf.Field) { u.Connections = d.connections(f) },
			"proxy_required":           d.refused,
		}.alias("username", "user", "pass", "password", "permission", "permissions", "authorization", "permissions",
			"connection_types", "allowed_connection_types", "clients", "allowed_connection_types"))
		switch {
		case len(d.problems) > clean:
		case u.NKey == "" && u.Name == "":
			d.fail(v.Pos, "a user needs a name or an nkey")
		case u.NKey != "" && (u.Name != "" || u.Password != ""):
			d.fail(v.Pos, "a user has an nkey, or a name and a password, not both")
		case u.NKey != "" && !nkeys.IsValidPublicUserKey(u.NKey):
			d.fail(v.Pos, "the nkey is no public key of a user")
		default:
			*dst = append(*dst, u)
		}
	})
}

// connections reads ways to connect, including ways that this broker lacks: a user that is limited
// to these cannot connect.
func (d *decoder) connections(f *natsconf.Field) (types []bus.ConnectionType) {
	var names []string
	d.texts(&names)(f)
	for _, name := range names {
		t, err := bus.ParseConnectionType(strings.ToUpper(name))
		if err != nil {
			d.fail(f.Pos, "%v", err)
			continue
		}
		types = append(types, t)
	}
	return types
}
