package fence

// Guard decides about a change of a set: now is the set as it is when the change would be made,
// and nothing comes between. An error refuses the change, and is what its caller gets. It must
// not change a set itself. A nil Guard allows everything.
type Guard func(now *Snapshot) error

func (g Guard) check(now *Snapshot) error {
	if g == nil {
		return nil
	}
	return g(now)
}

// Guarded makes changes to a set that a Guard allows.
type Guarded struct {
	set     *Set
	allowed Guard
}

// If is the set for changes under a condition.
func (s *Set) If(allowed Guard) Guarded { return Guarded{s, allowed} }

// Put is Set.Put, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Put(f Fence) (created bool, snap *Snapshot, err error) {
	return g.set.putIf(g.allowed, f)
}

// Delete is Set.Delete, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Delete(key string) (snap *Snapshot, ok bool, err error) {
	return g.set.deleteIf(g.allowed, key)
}

// Replace is Set.Replace, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Replace(c *Collection) (*Snapshot, error) { return g.set.replaceIf(g.allowed, c) }
