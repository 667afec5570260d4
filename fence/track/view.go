package track

import (
	"paddock/fence"
)

// SetID names a set for as long as it exists. A set that is deleted and made
// again under the same name gets another one, so that the old memberships end.
type SetID uint32

// TrackedSet is one set as it stands in a View.
type TrackedSet struct {
	ID       SetID
	Name     string
	Snapshot *fence.Snapshot
	Policy   *Policy // nil: raw. It is immutable.
}

// View is what a shard tracks: one snapshot of each set, in ascending order of
// ID. It is immutable.
type View struct {
	Sets []TrackedSet
}

// find returns the set with this id, or nil. A View holds few sets, so a
// straight walk beats anything clever.
func (v *View) find(id SetID) *TrackedSet {
	for i := range v.Sets {
		if v.Sets[i].ID == id {
			return &v.Sets[i]
		}
	}
	return nil
}

// membership is one fence that an object is in.
type membership struct {
	set   SetID
	ref   fence.Ref
	since Millis
	visit uint64
}

// compare orders memberships by set, then by load order.
func (m *membership) compare(set SetID, ref fence.Ref) int {
	switch {
	case m.set != set:
		if m.set < set {
			return -1
		}
		return 1
	case m.ref < ref:
		return -1
	case m.ref > ref:
		return 1
	}
	return 0
}

// inradius returns the inradius of a fence, which it computes once.
func (s *Shard) inradius(f *fence.Fence) float64 {
	r, known := s.inradii[f]
	if !known {
		if len(s.inradii) > 1<<16 {
			clear(s.inradii)
		}
		r = f.Geometry.Inradius()
		s.inradii[f] = r
	}
	return r
}
