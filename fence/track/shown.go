package track

import (
	"paddock/fence"
	"paddock/fence/track/rule"
)

// visible is the kinds of events that tell a visit. A visit is shown while an open rule that asks
// for one of them selects its fence.
const visible = rule.Enter | rule.Exit

// shows reports whether visits to a fence are shown.
func (x *setScope) shows(f *fence.Fence) bool { return x.builtin || x.shower(f) != nil }

// shower returns a rule by which visits to a fence are shown.
func (x *setScope) shower(f *fence.Fence) *rule.Rule {
	for _, r := range x.rules {
		if r.Detect&visible != 0 && r.Fences.Select(f.Key, f.Properties) {
			return r
		}
	}
	return nil
}

// tells reports whether a rule asks for an event of an object at a fence.
func (s *Shard) tells(o *object, x *setScope, kind rule.Detect, f *fence.Fence) bool {
	if x.builtin {
		return x.detects.Has(kind)
	}
	if !x.detects.Has(kind) {
		return false
	}
	for _, r := range x.rules {
		if r.Detect.Has(kind) && r.Fences.Select(f.Key, f.Properties) && s.holds(o, r, f) {
			return true
		}
	}
	return false
}

// holds reports whether the condition of a rule holds for an object at a fence, which is nil for
// none.
func (s *Shard) holds(o *object, r *rule.Rule, f *fence.Fence) bool {
	if r.When == nil {
		return true
	}
	in := rule.Input{Speed: rule.Measure(o.speed()), Heading: rule.Measure(o.heading()), Accuracy: rule.Measure(o.accuracy())}
	if names := r.When.ObjectNames(); len(names) > 0 {
		s.objectProps.Read(o.properties(), names)
		in.Object = &s.objectProps
	}
	if names := r.When.FenceNames(); f != nil && len(names) > 0 {
		s.fenceProps.Read(f.Properties, names)
		in.Fence = &s.fenceProps
	}
	return r.When.Holds(&in)
}

// reveal ends the visits that are no longer shown, and begins the others that now are, after the
// rules changed or a schedule opened or closed.
func (s *Shard) reveal(o *object, was *scope, c *cause) {
	for i := range s.members {
		m := &s.members[i]
		x, before := s.scope.of(m.set), was.of(m.set)
		set := s.era.view.find(m.set)
		f := set.Snapshot.Fence(m.ref)
		switch shows := x.shows(f); {
		case m.shown() == shows:
		case shows:
			s.showSince(o, m, c.at)
			*m = m.as(0, true)
			if s.tells(o, x, rule.Enter, f) {
				s.changes = append(s.changes, change{
					kind: Enter, reason: s.opening(o, m.set, x.shower(f)), set: set, ref: m.ref, fence: f,
					at: c.at, since: c.at, member: i,
				})
			}
		default:
			if s.tells(o, before, rule.Exit, f) {
				since := o.shownSince(m)
				s.changes = append(s.changes, change{
					kind: Exit, reason: s.closing(m.set, before.shower(f)), set: set, ref: m.ref, fence: f,
					at: max(c.at, since), since: since, visit: m.visit(), member: -1,
				})
			}
			*m = m.as(0, false)
		}
	}
}

// opening returns why a rule shows a visit that was not shown in the era of an object.
func (s *Shard) opening(o *object, set SetID, r *rule.Rule) Reason {
	switch {
	case r == nil || !o.era.view.has(r):
		return RuleAdded
	case o.scope.of(set).has(r.ID): // the fence has other properties
		return FenceChanged
	}
	return Schedule
}

// closing returns why a rule does not show a visit any more.
func (s *Shard) closing(set SetID, r *rule.Rule) Reason {
	if r != nil && s.era.view.has(r) && s.scope.of(set).has(r.ID) {
		return FenceChanged
	}
	return s.era.whyClosed(r)
}

// whyClosed returns why a rule is not open in an era; nil is a rule that nothing is known of.
func (e *era) whyClosed(r *rule.Rule) Reason {
	if r == nil || !e.view.has(r) {
		return RuleRemoved
	}
	if _, _, changes := r.Active.Next(e.at.Time()); !changes {
		return Expired
	}
	return Schedule
}

// has reports whether a view has exactly this rule.
func (v *View) has(r *rule.Rule) bool {
	if v.Rules == nil {
		return false
	}
	known, ok := v.Rules.Get(r.ID)
	return ok && known.Equal(r)
}
