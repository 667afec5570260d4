package tunnel

import (
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// routes finds the claim of a request. Reading takes no lock; who changes it holds
// Server.mu.
type routes struct {
	hosts sync.Map // of *hostRoutes by host, or by "*." and the rest of it
}

// hostRoutes are the claims of one host, longest path first. The list is not changed
// once it is there.
type hostRoutes struct {
	claims atomic.Pointer[[]*claim]
}

// find returns the claim for a normalised host and a path, nil if there is none. Exact
// hosts go before wildcards, even if only the wildcard has the path.
func (t *routes) find(host, path string) *claim {
	if c := t.on(host, path); c != nil {
		return c
	}
	if _, rest, ok := strings.Cut(host, "."); ok {
		return t.on("*."+rest, path)
	}
	return nil
}

func (t *routes) on(host, path string) *claim {
	found, ok := t.hosts.Load(host)
	if !ok {
		return nil
	}
	for _, c := range *found.(*hostRoutes).claims.Load() {
		if c.covers(path) {
			return c
		}
	}
	return nil
}

// covers says whether a path is the claim's, or continues it behind a slash.
func (c *claim) covers(path string) bool {
	prefix := c.at.Path
	return prefix == "" || strings.HasPrefix(path, prefix) &&
		(len(path) == len(prefix) || path[len(prefix)] == '/' || path[len(prefix)] == '?')
}

// all are the claims of the table.
func (t *routes) all() iter.Seq[*claim] {
	return func(yield func(*claim) bool) {
		t.hosts.Range(func(_, entry any) bool {
			for _, c := range *entry.(*hostRoutes).claims.Load() {
				if !yield(c) {
					return false
				}
			}
			return true
		})
	}
}

// has says whether there is a claim for the host, of any path.
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

// heldByOther says whether another identity has the host, with any path: a name is
// whole, whatever is carried for it.
func (t *routes) heldByOther(host, identity string) bool {
	found, ok := t.hosts.Load(host)
	return ok && slices.ContainsFunc(*found.(*hostRoutes).claims.Load(), func(c *claim) bool { return c.identity != identity })
}

// exactly returns the claim of that host and path.
func (t *routes) exactly(host, path string) *claim {
	found, ok := t.hosts.Load(host)
	if !ok {
		return nil
	}
	for _, c := range *found.(*hostRoutes).claims.Load() {
		if c.at.Path == path {
			return c
		}
	}
	return nil
}

// add enters a claim whose host and path nobody has.
func (t *routes) add(c *claim) {
	var list []*claim
	found, ok := t.hosts.Load(c.at.Host)
	if ok {
		list = *found.(*hostRoutes).claims.Load()
	}
	list = append(slices.Clone(list), c)
	slices.SortStableFunc(list, func(a, b *claim) int { return len(b.at.Path) - len(a.at.Path) })
	if ok {
		found.(*hostRoutes).claims.Store(&list)
		return
	}
	entry := &hostRoutes{}
	entry.claims.Store(&list)
	t.hosts.Store(c.at.Host, entry)
}

// remove takes a claim out.
func (t *routes) remove(c *claim) {
	found, ok := t.hosts.Load(c.at.Host)
	if !ok {
		return
	}
	entry := found.(*hostRoutes)
	list := slices.DeleteFunc(slices.Clone(*entry.claims.Load()), func(o *claim) bool { return o == c })
	entry.claims.Store(&list)
	if len(list) == 0 {
		t.hosts.Delete(c.at.Host)
	}
}
