package server

import (
	"iter"
	"slices"
	"strings"
	"sync"

	"paddock/internal/netio/h1"
)

// routes finds the endpoint of a request. Readers take no lock; writers hold registry.mu.
type routes struct {
	// hosts holds a []*endpoint by host, or by "*." and the rest of it: longest path first. A list
	// is not changed once it is there.
	hosts sync.Map
}

// find returns the endpoint for a normalised host and a path, nil if there is none. Exact
// hosts go before wildcards, even if only the wildcard has the path.
func (t *routes) find(host, path string) *endpoint {
	if p := t.on(host, path); p != nil {
		return p
	}
	if _, rest, ok := strings.Cut(host, "."); ok {
		return t.on("*."+rest, path)
	}
	return nil
}

// on returns the endpoint with the longest path that covers the given one, as it is written or as a
// service may read it: a service that several endpoints lead to must not be reached by a spelling
// of a path that has another client or a password.
func (t *routes) on(host, path string) *endpoint {
	plain := ""
	for _, p := range t.of(host) {
		if p.at.Path == "" || covers(p.at.Path, path) {
			return p
		}
		if plain == "" {
			plain = h1.Plain(path)
		}
		if covers(p.plain, plain) {
			return p
		}
	}
	return nil
}

// covers reports whether a path equals a prefix, or continues it behind a slash.
func covers(prefix, path string) bool {
	return strings.HasPrefix(path, prefix) && (len(path) == len(prefix) || path[len(prefix)] == '/')
}

// all are the endpoints of the table.
func (t *routes) all() iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		t.hosts.Range(func(_, entry any) bool {
			for _, p := range entry.([]*endpoint) {
				if !yield(p) {
					return false
				}
			}
			return true
		})
	}
}

// has reports whether there is an endpoint for the host, of any path.
func (t *routes) has(host string) bool {
	_, rest, _ := strings.Cut(host, ".")
	return len(t.of(host)) > 0 || len(t.of("*."+rest)) > 0
}

// of returns the endpoints of a host, of all paths.
func (t *routes) of(host string) []*endpoint {
	found, _ := t.hosts.Load(host)
	list, _ := found.([]*endpoint)
	return list
}

// exactly returns the endpoint of that host and path.
func (t *routes) exactly(host, path string) *endpoint {
	for _, p := range t.of(host) {
		if p.at.Path == path {
			return p
		}
	}
	return nil
}

// add enters an endpoint whose host and path are free.
func (t *routes) add(p *endpoint) {
	list := append(slices.Clone(t.of(p.at.Host)), p)
	slices.SortStableFunc(list, func(a, b *endpoint) int { return len(b.at.Path) - len(a.at.Path) })
	t.hosts.Store(p.at.Host, list)
}

// remove takes an endpoint out.
func (t *routes) remove(p *endpoint) {
	list := slices.DeleteFunc(slices.Clone(t.of(p.at.Host)), func(o *endpoint) bool { return o == p })
	if len(list) == 0 {
		t.hosts.Delete(p.at.Host)
		return
	}
	t.hosts.Store(p.at.Host, list)
}
