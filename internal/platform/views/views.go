// Package views gives the fold its view of a catalog and a book of rules: one snapshot of each set
// with its policy, and the rules. It keeps the views in the journal, so that the sets and rules
// that came over the API survive the process, with their generations and the order of their fences,
// and so that records are applied again under the fences and rules that they were applied under.
package views

import (
	"slices"
	"sync"
	"sync/atomic"

	"paddock/fence"
	"paddock/fence/track"
	"paddock/fence/track/rule"
	"paddock/internal/platform/rulebook"
)

// Views follows a catalog. A set gets an id when it is first seen and keeps it while it is in the
// catalog. It is safe for concurrent use.
type Views struct {
	catalog *fence.Catalog
	book    *rulebook.Book
	current atomic.Pointer[catalogView]

	mu    sync.Mutex // guards the fields below
	next  track.SetID
	store *store // nil: views are not kept
}

// catalogView is a view, and its sets in the catalog's order.
type catalogView struct {
	view *track.View
	sets []trackedSet
	book *rulebook.State
	id   []byte // of the stored view; nil: it is not stored
}

type trackedSet struct {
	set  *fence.Set
	id   track.SetID
	snap *fence.Snapshot
}

// New returns the views of a catalog and a book, which end with the process. Without a book there
// are no rules, and every set has the policy raw.
func New(c *fence.Catalog, b *rulebook.Book) *Views {
	if b == nil {
		b = rulebook.New(track.Policy{})
	}
	v := &Views{catalog: c, book: b}
	v.current.Store(&catalogView{view: &track.View{}, book: b.State()})
	return v
}

// View returns the sets and rules: the same pointer until one changes. It costs one atomic load and
// one comparison a set. Views that are kept are those of the last Stage, and have an id for Decode.
func (v *Views) View() (view *track.View, id []byte) {
	c := v.current.Load()
	if v.store == nil && !v.isCurrent(c) {
		_ = v.Stage() // cannot fail
		c = v.current.Load()
	}
	return c.view, c.id
}

// Staged reports whether View has the present sets.
func (v *Views) Staged() bool { return v.isCurrent(v.current.Load()) }

// Stage makes View return the present sets. It first stores them, which may take long if many
// fences have changed. The error is that of the journal.
func (v *Views) Stage() error {
	if v.Staged() {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.current.Load()
	if v.isCurrent(c) {
		return nil
	}
	c = v.build(c)
	if v.store != nil {
		var err error
		if c.id, err = v.store.put(c, v.next); err != nil {
			return err
		}
	}
	v.current.Store(c)
	return nil
}

// Lock keeps the catalog from being staged until Unlock, so that a change of it and of something
// that is stored with it are not told apart.
func (v *Views) Lock() { v.mu.Lock() }

// Unlock ends Lock.
func (v *Views) Unlock() { v.mu.Unlock() }

func (v *Views) isCurrent(c *catalogView) bool {
	if v.book.State() != c.book {
		return false
	}
	i := 0
	for s := range v.catalog.All() {
		if i == len(c.sets) || c.sets[i].set != s || c.sets[i].snap != s.Snapshot() {
			return false
		}
		i++
	}
	return i == len(c.sets)
}

func (v *Views) build(old *catalogView) *catalogView {
	c := &catalogView{view: &track.View{}, book: v.book.State()}
	for s := range v.catalog.All() {
		i := slices.IndexFunc(old.sets, func(t trackedSet) bool { return t.set == s })
		t := trackedSet{set: s, snap: s.Snapshot()}
		if i >= 0 {
			t.id = old.sets[i].id
		} else {
			t.id = v.next
			v.next++
		}
		c.sets = append(c.sets, t)
	}
	c.order()
	return c
}

// order lists the sets of the view by id.
func (c *catalogView) order() {
	for _, t := range c.sets {
		c.view.Sets = append(c.view.Sets, tracked(t.id, t.set.Name(), t.snap, c.book))
	}
	c.view.Rules = rulesOf(c.book)
	sortSets(c.view)
}

// rulesOf returns the rules of a view; nil stands for the events of all sets and objects.
func rulesOf(b *rulebook.State) *rule.Table {
	if b.Rules().Len() == 0 {
		return nil
	}
	return b.Rules()
}

func tracked(id track.SetID, name string, s *fence.Snapshot, b *rulebook.State) track.TrackedSet {
	policy, _, _ := b.Policy(name)
	return track.TrackedSet{ID: id, Name: name, Snapshot: s, Policy: policy}
}

func sortSets(v *track.View) {
	slices.SortFunc(v.Sets, func(a, b track.TrackedSet) int { return int(a.ID) - int(b.ID) })
}
