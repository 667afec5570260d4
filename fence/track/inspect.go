package track

import (
	"encoding/json"
	"strings"

	"paddock/fence"
	"paddock/fence/geometry"
)

// Object is what is known of one object: a copy, free to keep.
type Object struct {
	Fleet, ID string
	Props     json.RawMessage
	Point     geometry.Point
	Time      Millis // of the last accepted fix
	Arrived   Millis
	State     State

	Accuracy, Speed, Heading, Altitude Measure

	Fences  []Visit   // ascending by set, then load order
	Pending []Pending // in the same order
}

// Pending is a change of membership that the policy of the set has not confirmed yet.
type Pending struct {
	Set   string
	Fence *fence.Fence
	Enter bool   // and not exit
	At    Millis // when the object crossed the boundary
	Fixes int    // the last contrary ones that counted
	Due   Millis // when it is confirmed without another fix, 0 if it is not
}

// Visit is one fence that an object is in.
type Visit struct {
	Set   string
	Fence *fence.Fence
	Since Millis
	Visit uint64 // Seq of the enter event; 0 if the visit began without one
}

// Dot is what a map draws of an object.
type Dot struct {
	Handle         uint32 // names the object within its shard, until it is removed
	Point          geometry.Point
	Speed, Heading Measure
	State          State
}

// Get returns one object.
func (s *Shard) Get(fleet, id string) (Object, bool) {
	o, ok := s.find(fleet, id)
	if !ok {
		return Object{}, false
	}
	return s.describe(o), true
}

// LastFix returns the time of an object's last accepted fix, 0 if the object is not known.
func (s *Shard) LastFix(fleet, id string) Millis {
	if o, ok := s.find(fleet, id); ok {
		return o.time
	}
	return 0
}

// Filter selects objects by what is known of them. The zero value selects all.
type Filter struct {
	// In narrows to objects in the fence with this key of this set. An empty set name does not,
	// and an empty key means any fence of the set.
	In FenceName
	// Since narrows to objects whose last accepted fix arrived at this time or later.
	Since Millis
	// Area narrows to objects at points for which it returns true, if it is not nil.
	Area func(p geometry.Point) bool
}

// Select appends the objects of the filter for which keep returns true, in the order of their
// handles. A nil keep keeps all.
func (s *Shard) Select(dst []Object, f *Filter, keep func(fleet, id string) bool) []Object {
	for o := range s.objects.all() {
		if !o.gone() && s.passes(o, f) && (keep == nil || keep(s.nameOf(o))) {
			dst = append(dst, s.describe(o))
		}
	}
	return dst
}

func (s *Shard) passes(o *object, f *Filter) bool {
	return o.arrived >= f.Since && (f.Area == nil || f.Area(o.point)) && s.isIn(o, f.In)
}

// FenceName names a fence of a set, or every fence of it.
type FenceName struct{ Set, Key string }

// AppendDots appends a dot for each object, by ascending handle.
func (s *Shard) AppendDots(dst []Dot) []Dot {
	for o := range s.objects.all() {
		if !o.gone() {
			dst = append(dst, o.dot())
		}
	}
	return dst
}

// Dot returns the dot of one object.
func (s *Shard) Dot(fleet, id string) (Dot, bool) {
	o, ok := s.find(fleet, id)
	if !ok {
		return Dot{}, false
	}
	return o.dot(), true
}

func (o *object) dot() Dot {
	return Dot{Handle: o.handle, Point: o.point, Speed: o.speed(), Heading: o.heading(), State: o.state()}
}

// Name returns fleet and id of the object behind a handle, or "" and "" if it was removed.
func (s *Shard) Name(handle uint32) (fleet, id string) {
	return s.nameOf(s.objects.at(handle))
}

func (s *Shard) isIn(o *object, in FenceName) bool {
	if in.Set == "" {
		return true
	}
	for _, m := range s.visits.list(o) {
		set := &o.era.view.Sets[m.set]
		if set.Name == in.Set && (in.Key == "" || set.Snapshot.Fence(m.ref).Key == in.Key) {
			return true
		}
	}
	return false
}

func (s *Shard) describe(o *object) Object {
	fleet, id := s.nameOf(o)
	d := Object{
		Fleet: strings.Clone(fleet), ID: strings.Clone(id), Props: o.properties(), Point: o.point,
		Time: o.time, Arrived: o.arrived, State: o.state(),
		Accuracy: o.accuracy(), Speed: o.speed(), Heading: o.heading(), Altitude: o.altitude(),
	}
	for _, packed := range s.visits.list(o) {
		set, m := &o.era.view.Sets[packed.set], packed.unpack(o.era.view, o.seq)
		d.Fences = append(d.Fences, Visit{
			Set: set.Name, Fence: set.Snapshot.Fence(m.ref), Since: m.since, Visit: m.visit(),
		})
	}
	for i := range o.pending {
		d.Pending = append(d.Pending, s.describePending(o, &o.pending[i]))
	}
	return d
}

func (s *Shard) describePending(o *object, p *pending) Pending {
	set := o.era.view.find(p.set)
	d := Pending{
		Set: set.Name, Fence: set.Snapshot.Fence(p.ref), Enter: !s.isMember(o, p.set, p.ref), At: p.at, Fixes: int(p.fixes),
	}
	if p.timed() {
		d.Due = p.due
	}
	return d
}
