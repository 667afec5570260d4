package keyring

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"
)

// ErrEnded tells a client that is served for a key that the grant of the key has ended.
var ErrEnded = errors.New("the key is not valid any more")

// Grant is what a presented key permits. That never changes; it ends. Its methods are safe for
// concurrent use.
type Grant struct {
	name   string
	verbs  Verbs
	fleets names
	sets   names
	ctx    context.Context // until the grant ends
	end    context.CancelFunc
	used   atomic.Int64 // Unix seconds of the last use; 0: none
}

// names are the fleets or sets that a key is for. Without any it is for all.
type names struct {
	list []string // sorted, each once
	has  map[string]bool
}

func namesOf(list []string) names {
	if len(list) == 0 {
		return names{}
	}
	has := make(map[string]bool, len(list))
	for _, name := range list {
		has[name] = true
	}
	return names{slices.Sorted(maps.Keys(has)), has}
}

func (n names) include(name string) bool { return n.has == nil || n.has[name] }

// Everything returns a grant without limits, which does not end: of a configured token, or where
// nothing is asked.
func Everything(name string) *Grant {
	return &Grant{name: name, verbs: Admin, ctx: context.Background()}
}

// nothing is the grant of a context that has none.
var nothing = &Grant{name: "none", ctx: context.Background()}

// newGrant returns the grant of a key that has been checked.
func newGrant(k *Key) *Grant {
	verbs, _ := k.verbs()
	g := &Grant{name: k.Name, verbs: verbs, fleets: namesOf(k.Fleets), sets: namesOf(k.Sets)}
	g.ctx, g.end = context.WithCancel(context.Background())
	return g
}

// Name returns the name of the key. Nil is anyone.
func (g *Grant) Name() string {
	if g == nil {
		return "anyone"
	}
	return g.name
}

// Use notes that the key is used now, to the second.
func (g *Grant) Use() {
	if now := time.Now().Unix(); g.used.Load() != now { // most uses share their second, and no cache line is written
		g.used.Store(now)
	}
}

// Can reports whether the key permits one of these verbs.
func (g *Grant) Can(any Verbs) bool { return g.verbs&(any|Admin) != 0 && !g.HasEnded() }

// Verbs returns the verbs of the key.
func (g *Grant) Verbs() Verbs { return g.verbs }

// Only reports whether the key permits these verbs and no others.
func (g *Grant) Only(verbs Verbs) bool { return g.verbs == verbs }

// Fleet reports whether the key is for a fleet.
func (g *Grant) Fleet(name string) bool { return g.fleets.include(name) }

// Set reports whether the key is for a set.
func (g *Grant) Set(name string) bool { return g.sets.include(name) }

// Sees reports whether the key is for a set and a fleet.
func (g *Grant) Sees(set, fleet string) bool { return g.Set(set) && g.Fleet(fleet) }

// Fleets returns the only fleets of the key in order, or nil if it is for all. The caller does not
// change them.
func (g *Grant) Fleets() []string { return g.fleets.list }

// Sets returns the only sets of the key in order, or nil if it is for all. The caller does not
// change them.
func (g *Grant) Sets() []string { return g.sets.list }

// OfSets reports whether the key is for some sets only.
func (g *Grant) OfSets() bool { return g.sets.has != nil }

// OfFleets reports whether the key is for some fleets only.
func (g *Grant) OfFleets() bool { return g.fleets.has != nil }

// Limited reports whether the key is for some fleets or sets only.
func (g *Grant) Limited() bool { return g.OfFleets() || g.OfSets() }

// Done is closed when the grant ends. It is nil if it never does.
func (g *Grant) Done() <-chan struct{} { return g.ctx.Done() }

// HasEnded reports whether the grant has ended.
func (g *Grant) HasEnded() bool { return g.ctx.Err() != nil }

// While returns a context that ends with ctx, or with the grant. The caller calls cancel when it is
// not used any more.
func (g *Grant) While(ctx context.Context) (held context.Context, cancel context.CancelFunc) {
	held, end := context.WithCancel(ctx)
	stop := context.AfterFunc(g.ctx, end)
	return held, func() {
		stop()
		end()
	}
}

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
