package fence

import (
	"paddock/fence/geojson"
	"paddock/fence/internal/index"
)

// Replace makes the collection the whole set, in one publication. A key that stays keeps its
// ref. Fences without a key get one as by Add. The collection belongs to the set from now
// on. One that does not come from ReadGeoJSON is validated first. If it fails the set is as
// before: the error is ErrFull or a *RefusedError, whose Feature is the fence's index.
func (s *Set) Replace(c *geojson.Collection) (*Snapshot, error) { return s.If(nil).Replace(c) }

// room reports whether there are refs for all of the collection, even if none stays.
func (s *Set) room(c *geojson.Collection) bool { return s.next+int64(len(c.Fences)) <= 1<<32 }

// rebuild starts the writer anew with the collection's fences.
func (s *Set) rebuild(c *geojson.Collection, found map[int][]geojson.Finding) *Snapshot {
	now := s.current.Load()
	next := &Snapshot{keys: newKeys(len(c.Fences))}
	clear(s.repeats)
	extra := s.assignKeys(c.Fences)
	for i, fs := range found {
		for _, fd := range fs {
			fd.Feature, fd.Key = i, c.Fences[i].Key
			extra = append(extra, fd)
		}
	}
	var byKey map[string][]geojson.Finding
	given := make(map[string]bool, len(c.Fences))
	for i := range c.Fences {
		given[c.Fences[i].Key] = true
	}
	byKey, next.findings = splitFindings(given, c.Findings, extra)

	entries := &index.Table{}
	for i := range c.Fences {
		f := new(c.Fences[i]) // so that a fence replaced later does not live as long as its neighbours
		ref, ok := now.keys.get(f.Key)
		if !ok {
			ref, _ = s.newRef() // Replace has made sure of room.
		}
		entries.Put(ref, index.NewEntry(ref, f, byKey[f.Key]))
		next.keys.put(f.Key, ref)
	}
	next.table, next.bounds = entries, entries.Bounds()
	s.writer = newWriter(s.options.index())
	for e := range entries.All() {
		s.writer.Replace(nil, e)
	}
	return next
}

// assignKeys gives every fence a key that no other has.
func (s *Set) assignKeys(fences []Fence) []geojson.Finding {
	var findings []geojson.Finding
	used := make(map[string]struct{}, len(fences))
	for i := range fences {
		f := &fences[i]
		base := s.baseKey(f, i)
		f.Key = geojson.UniqueKey(base, s.repeats, func(k string) bool { _, ok := used[k]; return ok })
		used[f.Key] = struct{}{}
		if f.Key != base {
			fd := geojson.DuplicateFinding(base, f.Key)
			fd.Feature = i
			findings = append(findings, fd)
		}
	}
	return findings
}

// splitFindings tells the findings of the fences that are in the set, by key, from the others:
// those of files, and of features that were refused or skipped, whether or not these have an id.
func splitFindings(given map[string]bool, lists ...[]geojson.Finding) (byKey map[string][]geojson.Finding, others []geojson.Finding) {
	byKey = map[string][]geojson.Finding{}
	for _, fs := range lists {
		for _, f := range fs {
			if f.Fatal || !given[f.Key] {
				others = append(others, f)
				continue
			}
			byKey[f.Key] = append(byKey[f.Key], f)
		}
	}
	return byKey, others
}

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

// If returns the set for changes that allowed has to permit.
func (s *Set) If(allowed Guard) Guarded { return Guarded{s, allowed} }

// Replace is Set.Replace, if the guard allows it; otherwise the error is the guard's.
func (g Guarded) Replace(c *geojson.Collection) (*Snapshot, error) {
	s := g.set
	found, err := c.Check(s.options.Strict)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := g.allowed.check(s.current.Load()); err != nil {
		return nil, err
	}
	if !s.room(c) {
		return nil, ErrFull
	}
	return s.publish(s.rebuild(c, found)), nil
}
