package rule

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"weak"
)

// Class is the selections of one object, and of all objects with the same ones. It is immutable. A
// table and all tables that are made from it share one pointer for equal classes. The selection of
// every object is not in a class, so the rules for all objects change without a change of classes.
type Class struct {
	selections []*Selection         // in order, by compare
	step       atomic.Pointer[step] // the last one that was taken from here
}

// step is the way to the class with one selection more, or one less, which it does not keep.
type step struct {
	selection *Selection
	to        weak.Pointer[Class]
}

// Selections returns the selections of the class, in an order that depends on nothing but them.
func (c *Class) Selections() []*Selection { return c.selections }

// Has reports whether the objects of the class are selected.
func (c *Class) Has(s *Selection) bool { return s.isAll() || slices.Contains(c.selections, s) }

// classes makes the classes of a table and of all tables that are made from it, one for each list
// of selections. It forgets a class once nothing refers to it.
type classes struct {
	serials atomic.Uint64
	none    *Class // without selections

	mu    sync.Mutex
	known map[string]weak.Pointer[Class] // by the serials of the selections
}

func newClasses() *classes {
	return &classes{none: &Class{}, known: map[string]weak.Pointer[Class]{}}
}

// of returns the class of these selections, in any order. It may reorder them.
func (c *classes) of(selections []*Selection) *Class {
	if len(selections) == 0 {
		return c.none
	}
	slices.SortFunc(selections, func(a, b *Selection) int { return a.compare(b.selector) })
	var space [128]byte
	key := space[:0]
	for _, s := range selections {
		key = binary.NativeEndian.AppendUint64(key, s.serial)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.known[string(key)].Value(); known != nil {
		return known
	}
	class := &Class{selections: slices.Clone(selections)}
	name := string(key)
	c.known[name] = weak.Make(class)
	runtime.AddCleanup(class, c.forget, name)
	return class
}

// renew returns the class, after one change, of an object that had the class from. Most objects of
// a class take the same step, which is found without a lock.
func (c *classes) renew(from *Class, change *Change, fleet, id string) *Class {
	if !change.moves() {
		return from
	}
	s := change.Selection()
	at := slices.Index(from.selections, s)
	switch gone := change.After == nil; {
	case gone && at < 0, !gone && !s.match(fleet, id):
		return from
	}
	if known := from.step.Load(); known != nil && known.selection == s {
		if to := known.to.Value(); to != nil {
			return to
		}
	}
	var space [16]*Selection
	all := append(space[:0], from.selections...)
	if at >= 0 {
		all = slices.Delete(all, at, at+1)
	} else {
		all = append(all, s)
	}
	to := c.of(all)
	from.step.Store(&step{s, weak.Make(to)})
	return to
}

// forget drops the entry of a class that is gone, unless there is another one of the same
// selections.
func (c *classes) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known[name].Value() == nil {
		delete(c.known, name)
	}
}

// len returns the number of classes that something refers to, or did until lately.
func (c *classes) len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.known)
}
