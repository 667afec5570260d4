package keyring

import (
	"context"
	"sync"
)

// Grant is what a presented key permits. It never changes; it ends. Its methods are safe for
// concurrent use.
type Grant struct {
	name   string
	verbs  Verbs
	fleets map[string]bool // nil: all
	sets   map[string]bool // nil: all
	digest Digest

	once sync.Once
	done chan struct{}
}

// Everything returns a grant without limits, which does not end: of a configured token, or where
// nothing is asked.
func Everything(name string) *Grant {
	return &Grant{name: name, verbs: Admin, done: make(chan struct{})}
}

// nothing is the grant of a context that has none.
var nothing = &Grant{name: "none", done: make(chan struct{})}

// newGrant returns the grant of a key that has been checked.
func newGrant(k *Key) *Grant {
	verbs, _ := k.verbs()
	return &Grant{name: k.Name, verbs: verbs, fleets: setOf(k.Fleets), sets: setOf(k.Sets), digest: k.SHA256, done: make(chan struct{})}
}

func setOf(names []string) map[string]bool {
	if len(names) == 0 {
		return nil
	}
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// Name returns the name of the key. Nil is anyone.
func (g *Grant) Name() string {
	if g == nil {
		return "anyone"
	}
	return g.name
}

// Can reports whether the key permits one of these verbs.
func (g *Grant) Can(any Verbs) bool { return g.verbs&(any|Admin) != 0 && !g.HasEnded() }

// Only reports whether the key permits these verbs and no others.
func (g *Grant) Only(verbs Verbs) bool { return g.verbs == verbs }

// Fleet reports whether the key is for a fleet.
func (g *Grant) Fleet(name string) bool { return g.fleets == nil || g.fleets[name] }

// Set reports whether the key is for a set.
func (g *Grant) Set(name string) bool { return g.sets == nil || g.sets[name] }

// Sees reports whether the key is for a set and a fleet.
func (g *Grant) Sees(set, fleet string) bool { return g.Set(set) && g.Fleet(fleet) }

// Fleets returns the only fleets of the key, or nil if it is for all. The order is not defined.
func (g *Grant) Fleets() []string { return keysOf(g.fleets) }

// Sets returns the only sets of the key, or nil if it is for all. The order is not defined.
func (g *Grant) Sets() []string { return keysOf(g.sets) }

func keysOf(set map[string]bool) (names []string) {
	for name := range set {
		names = append(names, name)
	}
	return names
}

// OfSets reports whether the key is for some sets only.
func (g *Grant) OfSets() bool { return g.sets != nil }

// OfFleets reports whether the key is for some fleets only.
func (g *Grant) OfFleets() bool { return g.fleets != nil }

// Limited reports whether the key is for some fleets or sets only.
func (g *Grant) Limited() bool { return g.OfFleets() || g.OfSets() }

// Done is closed when the grant ends.
func (g *Grant) Done() <-chan struct{} { return g.done }

// HasEnded reports whether the grant has ended.
func (g *Grant) HasEnded() bool {
	select {
	case <-g.done:
		return true
	default:
		return false
	}
}

func (g *Grant) end() { g.once.Do(func() { close(g.done) }) }

type contextKey struct{}

// With returns a context that holds the grant of a request.
func With(ctx context.Context, g *Grant) context.Context {
	return context.WithValue(ctx, contextKey{}, g)
}

// From returns the grant of a request. Without one it permits nothing.
func From(ctx context.Context) *Grant {
	if g, ok := ctx.Value(contextKey{}).(*Grant); ok {
		return g
	}
	return nothing
}
