package track

import (
	"slices"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// SetID names a set for as long as it exists. A set that is deleted and made
// again under the same name gets another one, so that the old memberships end.
type SetID uint32

// TrackedSet is one set as it stands in a View.
type TrackedSet struct {
	ID       SetID
	Name     string
	Snapshot *fence.Snapshot // those of one ID and one generation have the same fences
	Policy   *Policy         // nil: raw. It is immutable.
}

// sameFences reports whether a set has the same fences in another view. A snapshot restored from
// its stored form is another pointer, of the same generation.
func (t *TrackedSet) sameFences(o *TrackedSet) bool {
	return t.Snapshot == o.Snapshot || t.Snapshot.Generation() == o.Snapshot.Generation()
}

// View is what a shard tracks: one snapshot of each set, in ascending order of ID, and the rules.
// It is immutable.
type View struct {
	Sets []TrackedSet
	// Rules say which sets are tracked for which objects, and which events are told. nil: every
	// set for every object, and enter and exit of all fences.
	Rules *rule.Table
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
	told  uint64 // see visit and shown
}

// newMembership returns a membership whose visit has no enter event. shown: a rule tells of it.
func newMembership(set SetID, ref fence.Ref, since Millis, shown bool) membership {
	return membership{set: set, ref: ref, since: since}.as(0, shown)
}

// visit returns the Seq of the enter event, 0 if there was none.
func (m *membership) visit() uint64 { return m.told >> 1 }

// shown reports whether a rule tells of the visit.
func (m *membership) shown() bool { return m.told&1 != 0 }

// as returns the membership with another enter event, shown or not.
func (m membership) as(visit uint64, shown bool) membership {
	m.told = visit<<1 | bit(shown)
	return m
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

// sameSets reports whether two views have the same fences and policies.
func (v *View) sameSets(other *View) bool {
	return v == other || slices.EqualFunc(v.Sets, other.Sets, func(a, b TrackedSet) bool {
		return a.ID == b.ID && a.sameFences(&b) && (a.Policy == b.Policy || policyOf(&a) == policyOf(&b))
	})
}
