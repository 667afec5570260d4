package server

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// routes finds the endpoint of a request. Readers take no lock; writers hold Server.mu.
type routes struct {
	hosts sync.Map // of *hostRoutes by host, or by "*." and the rest of it
}

// hostRoutes are the endpoints of one host, longest path first. The list is not changed
// once it is there.
type hostRoutes struct {
	endpoints atomic.Pointer[[]*endpoint]
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

func (t *routes) on(host, path string) *endpoint {
	for _, p := range t.of(host) {
		if p.covers(path) {
			return p
		}
	}
	return nil
}

// covers reports whether a path is the endpoint's, or continues it behind a slash.
func (p *endpoint) covers(path string) bool {
	prefix := p.at.Path
	return prefix == "" || strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || path[len(prefix)] == '/' || path[len(prefix)] == '?')
}

// all are the endpoints of the table.
func (t *routes) all() iter.Seq[*endpoint] {
	return func(yield func(*endpoint) bool) {
		t.hosts.Range(func(_, entry any) bool {
			for _, p := range *entry.(*hostRoutes).endpoints.Load() {
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
	if _, ok := t.hosts.Load(host); ok {
		return true
	}
	_, rest, ok := strings.Cut(host, ".")
	if ok {
		_, ok = t.hosts.Load("*." + rest)
	}
	return ok
}

// of are the endpoints of a host, of all paths.
func (t *routes) of(host string) []*endpoint {
	found, ok := t.hosts.Load(host)
	if !ok {
		return nil
	}
	return *found.(*hostRoutes).endpoints.Load()
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
	if found, ok := t.hosts.Load(p.at.Host); ok {
		found.(*hostRoutes).endpoints.Store(&list)
		return
	}
	entry := &hostRoutes{}
	entry.endpoints.Store(&list)
	t.hosts.Store(p.at.Host, entry)
}

// remove takes an endpoint out.
func (t *routes) remove(p *endpoint) {
	found, ok := t.hosts.Load(p.at.Host)
	if !ok {
		return
	}
	entry := found.(*hostRoutes)
	list := slices.DeleteFunc(slices.Clone(*entry.endpoints.Load()), func(o *endpoint) bool { return o == p })
	entry.endpoints.Store(&list)
	if len(list) == 0 {
		t.hosts.Delete(p.at.Host)
	}
}
