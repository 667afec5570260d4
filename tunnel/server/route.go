package server

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// routes finds the place of a request. Readers take no lock; writers hold Server.mu.
type routes struct {
	hosts sync.Map // of *hostRoutes by host, or by "*." and the rest of it
}

// hostRoutes are the places of one host, longest path first. The list is not changed
// once it is there.
type hostRoutes struct {
	places atomic.Pointer[[]*place]
}

// find returns the place for a normalised host and a path, nil if there is none. Exact
// hosts go before wildcards, even if only the wildcard has the path.
func (t *routes) find(host, path string) *place {
	if p := t.on(host, path); p != nil {
		return p
	}
	if _, rest, ok := strings.Cut(host, "."); ok {
		return t.on("*."+rest, path)
	}
	return nil
}

func (t *routes) on(host, path string) *place {
	found, ok := t.hosts.Load(host)
	if !ok {
		return nil
	}
	for _, p := range *found.(*hostRoutes).places.Load() {
		if p.covers(path) {
			return p
		}
	}
	return nil
}

// covers reports whether a path is the place's, or continues it behind a slash.
func (p *place) covers(path string) bool {
	prefix := p.at.Path
	return prefix == "" || strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || path[len(prefix)] == '/' || path[len(prefix)] == '?')
}

// all are the places of the table.
func (t *routes) all() iter.Seq[*place] {
	return func(yield func(*place) bool) {
		t.hosts.Range(func(_, entry any) bool {
			for _, p := range *entry.(*hostRoutes).places.Load() {
				if !yield(p) {
					return false
				}
			}
			return true
		})
	}
}

// has reports whether there is a place for the host, of any path.
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

// of are the places of a host, of all paths.
func (t *routes) of(host string) []*place {
	found, ok := t.hosts.Load(host)
	if !ok {
		return nil
	}
	return *found.(*hostRoutes).places.Load()
}

// exactly returns the place of that host and path.
func (t *routes) exactly(host, path string) *place {
	for _, p := range t.of(host) {
		if p.at.Path == path {
			return p
		}
	}
	return nil
}

// add enters a place whose host and path are free.
func (t *routes) add(p *place) {
	list := append(slices.Clone(t.of(p.at.Host)), p)
	slices.SortStableFunc(list, func(a, b *place) int { return len(b.at.Path) - len(a.at.Path) })
	if found, ok := t.hosts.Load(p.at.Host); ok {
		found.(*hostRoutes).places.Store(&list)
		return
	}
	entry := &hostRoutes{}
	entry.places.Store(&list)
	t.hosts.Store(p.at.Host, entry)
}

// remove takes a place out.
func (t *routes) remove(p *place) {
	found, ok := t.hosts.Load(p.at.Host)
	if !ok {
		return
	}
	entry := found.(*hostRoutes)
	list := slices.DeleteFunc(slices.Clone(*entry.places.Load()), func(o *place) bool { return o == p })
	entry.places.Store(&list)
	if len(list) == 0 {
		t.hosts.Delete(p.at.Host)
	}
}
