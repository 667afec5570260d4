package httpapi

import (
	"net"
	"net/http"

	"paddock/internal/platform/events"
	"paddock/internal/process/access"
	"paddock/internal/process/keyring"
)

// gate finds what the sender of a request may do. Credentials are a bearer token, the password of
// Basic authentication, or the cookie of a session: a key's secret, or the configured token.
type gate struct {
	guard    *access.Guard
	token    access.Token
	sealed   keyring.Digest // of the token
	ring     *keyring.Ring  // nil: no keys
	required bool           // of every request
	sessions sessions
	operator *keyring.Grant // of the token
	anyone   *keyring.Grant // of requests without credentials, where none are required
}

func newGate(c *Config) *gate {
	return &gate{
		guard: access.NewGuard(""), token: access.NewToken(c.Token), sealed: seal(keyring.DigestOf(c.Token)), ring: c.Keys,
		required: c.Token != "" || c.KeyRequired, sessions: newSessions(c.SessionSecret),
		operator: keyring.Everything("http.token"), anyone: keyring.Everything("anyone"),
	}
}

// open reports whether credentials mean nothing: none are required, and there are no keys.
func (g *gate) open() bool { return !g.required && g.ring.Len() == 0 }

// find returns the grant of a secret, or nil.
func (g *gate) find(secret string) *keyring.Grant {
	switch {
	case g.token.Is(secret):
		return g.operator
	case secret == "":
		return nil
	}
	return g.ring.Find(secret)
}

// bearer returns the grant of an Authorization header, or nil. given reports whether there is one.
func (g *gate) bearer(authorization string) (found *keyring.Grant, given bool) {
	if authorization == "" {
		return nil, false
	}
	secret, ok := access.Secret(authorization)
	if !ok {
		return nil, true
	}
	return g.find(secret), true
}

// grant returns the grant of a request, or nil. given reports whether it has credentials that may
// be a guess: a session was made here, even if its key has ended. Without credentials it has the
// grant of anyone, where none are required.
func (g *gate) grant(r *http.Request) (found *keyring.Grant, given bool) {
	if g.open() {
		return g.anyone, false
	}
	found, given = g.bearer(r.Header.Get("Authorization"))
	if given {
		return found, true
	}
	if name, sealed, ok := g.sessions.key(r); ok {
		found = g.session(name, sealed)
		return found, found != nil
	}
	if g.required {
		return nil, false
	}
	return g.anyone, false
}

// session returns the grant of a session's key, or nil if the key has another secret now. Without a
// name it is that of the token.
func (g *gate) session(name string, sealed keyring.Digest) *keyring.Grant {
	switch {
	case name == "" && g.token.Required() && sealed == g.sealed:
		return g.operator
	case name == "":
		return nil
	}
	if found, digest, ok := g.ring.Named(name); ok && seal(digest) == sealed {
		found.Use()
		return found
	}
	return nil
}

// judge returns the grant of a request that is admitted, or answers why it is not.
func (g *gate) judge(w http.ResponseWriter, r *http.Request) *keyring.Grant {
	found, given := g.grant(r)
	if found == g.anyone {
		return found
	}
	switch g.guard.Decide(r, given, found != nil) {
	case access.Paused:
		writeProblem(w, fail(http.StatusTooManyRequests, "too many wrong tokens came from your address: try again later"))
		return nil
	case access.Refused:
		if asksForPage(r) {
			writeLogin(w, http.StatusUnauthorized, "", localPage(r.URL.RequestURI()))
			return nil
		}
		w.Header()["Www-Authenticate"] = challenge(r)
		writeProblem(w, fail(http.StatusUnauthorized, "send a key as Authorization: Bearer KEY, or as the password of Basic"))
		return nil
	}
	return found
}

// challenge returns what a refused request could have sent. Of a part of a page, such as what a
// script asks for, a browser would take Basic as a reason to ask for a password, over the page. It
// names the destination of a request, except without TLS; there the dashboard's scripts say it.
func challenge(r *http.Request) []string {
	dest := r.Header.Get("Sec-Fetch-Dest")
	if r.Header.Get("X-Requested-With") != "" || dest != "" && dest != "document" {
		return access.Challenge[:1]
	}
	return access.Challenge
}

// admits makes the checks of protect for the fast path, which only answers look-ups in all sets. If
// it returns false, judge answers with the reason.
func (g *gate) admits(peer net.Addr, host, authorization string) (ended <-chan struct{}, ok bool) {
	if g.open() || !g.required && authorization == "" {
		return nil, access.LocalName(host)
	}
	found, _ := g.bearer(authorization)
	right := found != nil && found.Can(keyring.Lookup) && !found.OfSets()
	if !g.guard.Passes(peer, right) {
		return nil, false
	}
	return found.Done(), true
}

// permit returns h for grants that have one of these verbs.
func permit(verbs keyring.Verbs, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		if g := keyring.From(r.Context()); !g.Can(verbs) {
			return fail(http.StatusForbidden, "the key %.64q may not do this: it needs %v", g.Name(), verbs)
		}
		return h(w, r)
	}
}

// MayUseSet reports whether the key of a request is for look-ups in a set, or its changes.
func MayUseSet(r *http.Request, set string, change bool) bool {
	verbs := keyring.Lookup
	if change {
		verbs = keyring.SetsWrite
	}
	g := keyring.From(r.Context())
	return g.Can(verbs) && g.Set(set)
}

// permitSet refuses a set that the key of a request is not for.
func permitSet(r *http.Request, set string) error {
	if g := keyring.From(r.Context()); !g.Set(set) {
		return fail(http.StatusForbidden, "the key %.64q is not for the set %.64q", g.Name(), set)
	}
	return nil
}

// permitFleet refuses a fleet that the key of a request is not for.
func permitFleet(r *http.Request, fleet string) error {
	if g := keyring.From(r.Context()); !g.Fleet(fleet) {
		return fail(http.StatusForbidden, "the key %.64q is not for the fleet %.64q", g.Name(), fleet)
	}
	return nil
}

// permitNames refuses a set or a fleet that a filter names, and that the key of a request is not
// for: nothing would be selected, and nothing would tell why. "" names none.
func permitNames(r *http.Request, set, fleet string) error {
	if set != "" {
		if err := permitSet(r, set); err != nil {
			return err
		}
	}
	if fleet == "" {
		return nil
	}
	return permitFleet(r, fleet)
}

// limitEvents returns f for the key of a request.
func limitEvents(f events.Filter, g *keyring.Grant) events.Filter {
	if g.Limited() {
		f.Sees = g.Sees
	}
	return f
}

// fleetOf returns the fleet that a request is about: the given one, or the only one of its key, or
// otherwise.
func fleetOf(r *http.Request, given, otherwise string) (string, error) {
	if given != "" {
		return given, permitFleet(r, given)
	}
	g := keyring.From(r.Context())
	return onlyOne(g, "fleet", g.Fleets(), otherwise)
}

// setOf returns the set that a request is about: the given one, or the only one of its key. "" is
// all sets.
func setOf(r *http.Request, given string) (string, error) {
	if given != "" {
		return given, permitSet(r, given)
	}
	g := keyring.From(r.Context())
	return onlyOne(g, "set", g.Sets(), "")
}

// onlyOne returns the only name that a key is for, or otherwise if it is for all. kind is the
// parameter that a request with another key has to give.
func onlyOne(g *keyring.Grant, kind string, names []string, otherwise string) (string, error) {
	switch len(names) {
	case 0:
		return otherwise, nil
	case 1:
		return names[0], nil
	}
	return "", fail(http.StatusBadRequest, "query: %s missing: the key %.64q is for several, so name one", kind, g.Name())
}
