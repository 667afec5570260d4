package busapi

import (
	"net/http"
	"strings"

	"paddock/bus"
	"paddock/internal/platform/subjects"
	"paddock/internal/process/keyring"
)

// UserPrefix begins the name of a user of the bus that is a key.
const UserPrefix = "key:"

// InboxPrefix returns the first token of the reply subjects that are for one key alone. A key for
// some fleets or sets has no other ones, because _INBOX.> has the answers to all clients.
func InboxPrefix(key string) string { return string(subjects.AppendToken([]byte("_INBOX_"), key)) }

// User returns the user of the bus that a key is; nil for nil.
func User(g *keyring.Grant) *bus.User {
	if g == nil {
		return nil
	}
	u := &bus.User{Name: UserPrefix + g.Name(), Permissions: &bus.Permissions{}}
	if g.Can(keyring.Admin) {
		return u
	}
	u.Permissions.Publish.Allow = publishes(g)
	u.Permissions.Subscribe.Allow = append(follows(g), InboxPrefix(g.Name())+".>")
	if !g.Limited() {
		u.Permissions.Subscribe.Allow = append(u.Permissions.Subscribe.Allow, "_INBOX.>")
	}
	if g.OfFleets() { // an event about two objects has the fleet of one in its subject
		u.Permissions.Subscribe.Deny = []string{"fence._._.>"}
	}
	if len(u.Permissions.Publish.Allow) == 0 {
		u.Permissions.Publish.Deny = []string{">"}
	}
	return u
}

// publishes returns the subjects on which a key may publish.
func publishes(g *keyring.Grant) (allow []string) {
	if g.Can(keyring.PositionsWrite) {
		for _, fleet := range tokens(g.Fleets()) {
			allow = append(allow, "pos."+fleet+".*")
		}
	}
	if g.Can(keyring.Lookup) {
		for _, set := range tokens(g.Sets()) {
			allow = append(allow, SearchPrefix+set)
		}
	}
	if g.Can(keyring.RulesWrite) {
		allow = append(allow, RulesSubjects)
	}
	return allow
}

// follows returns the subjects of the events that a key may follow.
func follows(g *keyring.Grant) (allow []string) {
	if !g.Can(keyring.EventsRead) {
		return nil
	}
	if !g.OfFleets() {
		for _, set := range tokens(g.Sets()) {
			allow = append(allow, "fence."+set+".>")
		}
		return allow
	}
	for _, set := range tokens(g.Sets()) {
		for _, fleet := range tokens(g.Fleets()) {
			allow = append(allow, "fence."+set+".*.*."+fleet+".*")
		}
	}
	return allow
}

// tokens returns names as tokens of subjects, or * for all of them.
func tokens(names []string) (all []string) {
	for _, name := range names {
		all = append(all, string(subjects.AppendToken(nil, name)))
	}
	if len(names) == 0 {
		return []string{"*"}
	}
	return all
}

// grantOf returns what the sender of a message may do; nil: everything.
func grantOf(keys *keyring.Ring, user string) (*keyring.Grant, error) {
	name, ok := strings.CutPrefix(user, UserPrefix)
	if !ok || keys == nil {
		return nil, nil
	}
	g, _, ok := keys.Named(name)
	if !ok {
		return nil, statusError{http.StatusForbidden, keyring.ErrEnded.Error()}
	}
	return g, nil
}
