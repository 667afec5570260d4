package track

import (
	"iter"
	"slices"
	"time"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// detect adds the events that rules ask for at each fix, for an object whose memberships are
// s.members.
func (s *Shard) detect(o *object, c *cause) {
	for i := range o.scope.sets {
		x := &o.scope.sets[i]
		if x.detects&^visible == 0 {
			continue
		}
		set := &s.era.view.Sets[i]
		for _, r := range x.rules {
			for k := range s.members {
				if m := &s.members[k]; m.set == set.ID {
					s.detectMember(o, set, r, k, c)
				}
			}
			if r.Detect.Has(rule.Outside) {
				s.detectOutside(o, set, r, c)
			}
		}
		if x.detects.Has(rule.Cross) {
			s.detectCross(o, set, x, &s.plan.sets[i], c)
		}
	}
}

// detectMember adds the events of one rule for a fence that the object is in.
func (s *Shard) detectMember(o *object, set *TrackedSet, r *rule.Rule, member int, c *cause) {
	const kinds = rule.Inside | rule.DwellTime | rule.Holds
	m := &s.members[member]
	f := set.Snapshot.Fence(m.ref)
	if r.Detect&kinds == 0 || !r.Fences.Select(f.Key, f.Properties) {
		return
	}
	holds := s.holds(o, r, f)
	if r.Detect.Has(rule.Inside) && holds && s.repeats(o, Inside, r, set.ID, m.ref, r.Inside.Every) {
		s.note(Inside, c.reason, set, m.ref, r, c.at, m.since, member)
	}
	if r.Detect.Has(rule.DwellTime) {
		s.dwell(o, set, r, member, o.time, holds || s.hasLapsed(r, m), c)
	}
	if !r.Detect.Has(rule.Holds) {
		return
	}
	switch mk := o.mark(ConditionBegin, r, set.ID, m.ref); {
	case holds && mk == nil:
		mk, _ = s.makeMark(o, ConditionBegin, r, set.ID, m.ref)
		mk.at = c.at
		s.note(ConditionBegin, c.reason, set, m.ref, r, c.at, c.at, member)
	case !holds && mk != nil:
		s.note(ConditionEnd, c.reason, set, m.ref, r, c.at, mk.at, member)
		o.dropMark(mk)
	}
}

// note adds an event of a rule.
func (s *Shard) note(kind Kind, reason Reason, set *TrackedSet, ref fence.Ref, r *rule.Rule, at, since Millis, member int) {
	ch := change{kind: kind, reason: reason, set: set, ref: ref, rule: r.ID, at: at, since: since, member: member}
	if ref != noFence {
		ch.fence = set.Snapshot.Fence(ref)
	}
	s.changes = append(s.changes, ch)
}

// repeats reports whether an event that comes at each fix is due, and remembers that it came.
func (s *Shard) repeats(o *object, kind Kind, r *rule.Rule, set SetID, ref fence.Ref, every time.Duration) bool {
	if every == 0 {
		return true
	}
	m, isNew := s.makeMark(o, kind, r, set, ref)
	if !isNew && o.time-m.at < Millis(every.Milliseconds()) {
		return false
	}
	m.at = o.time
	return true
}

// detectOutside adds the events of a rule for the fences that it lists and the object is not in,
// or one event if it lists none and the object is in none.
func (s *Shard) detectOutside(o *object, set *TrackedSet, r *rule.Rule, c *cause) {
	if len(r.Fences.IDs) == 0 {
		if !s.isInAny(set.ID, r) {
			m, isNew := s.makeMark(o, Outside, r, set.ID, noFence)
			s.outside(o, set, r, m, isNew, c)
		}
		return
	}
	w := s.newOutsides(o, set.ID, r)
	for _, id := range r.Fences.IDs {
		if ref, ok := set.Snapshot.Lookup(id); ok && s.findMember(set.ID, ref) < 0 {
			m, isNew := s.makeOutside(&w, ref)
			s.outside(o, set, r, m, isNew, c)
		}
	}
}

// outside adds an event of an object that is not in a fence, or in none, by its mark.
func (s *Shard) outside(o *object, set *TrackedSet, r *rule.Rule, m *mark, isNew bool, c *cause) {
	if isNew {
		m.since, m.at = s.leftAt(set.ID, m.ref, r, c.at), never
	}
	var f *fence.Fence
	if m.ref != noFence {
		f = set.Snapshot.Fence(m.ref)
	}
	every := Millis(r.Outside.Every.Milliseconds())
	if m.at != never && o.time-m.at < every || !s.holds(o, r, f) {
		return
	}
	m.at = o.time
	s.note(Outside, c.reason, set, m.ref, r, c.at, m.since, -1)
}

// leftAt returns when the object left a fence by the changes at hand, or the last fence that a
// rule selects; otherwise the time of the fix.
func (s *Shard) leftAt(set SetID, ref fence.Ref, r *rule.Rule, fix Millis) Millis {
	left, known := fix, false
	for i := range s.changes {
		ch := &s.changes[i]
		if ch.kind != Exit || ch.set.ID != set || ref != ch.ref && (ref != noFence || !r.Fences.Select(ch.fence.Key, ch.fence.Properties)) {
			continue
		}
		if !known || ch.at > left {
			left, known = ch.at, true
		}
	}
	return left
}

// threshold returns when a rule next tells of a visit by its length; never after the last time.
func (o *object) threshold(r *rule.Rule, m *membership) Millis {
	if mk := o.mark(Dwell, r, m.set, m.ref); mk != nil {
		return mk.at
	}
	return m.since + Millis(r.Dwell.After.Milliseconds())
}

// thresholdAfter returns when a rule first tells of a visit by its length after a time.
func thresholdAfter(told Millis, r *rule.Rule, m *membership) Millis {
	at, every := m.since+Millis(r.Dwell.After.Milliseconds()), Millis(r.Dwell.Every.Milliseconds())
	switch {
	case at > told:
		return at
	case every == 0 || told > never-every:
		return never
	}
	return at + ((told-at)/every+1)*every
}

// lastThreshold returns the last threshold of a rule by now, of which one was at a time before.
func lastThreshold(r *rule.Rule, at, now Millis) Millis {
	if every := Millis(r.Dwell.Every.Milliseconds()); every > 0 {
		return at + (now-at)/every*every
	}
	return at
}

// dwell adds the event of a visit that has lasted long enough at a time of the device. Of several
// thresholds that have passed unnoticed it is the last.
func (s *Shard) dwell(o *object, set *TrackedSet, r *rule.Rule, member int, now Millis, holds bool, c *cause) {
	m := &s.members[member]
	at := o.threshold(r, m)
	if at > now {
		return
	}
	mk, isNew := s.makeMark(o, Dwell, r, set.ID, m.ref)
	if isNew {
		mk.since = m.since
	}
	if mk.at, mk.tried = at, !holds; !holds {
		return
	}
	at = lastThreshold(r, at, now)
	mk.at, mk.since = never, at
	if every := Millis(r.Dwell.Every.Milliseconds()); every > 0 {
		mk.at = at + every
	}
	s.note(Dwell, c.reason, set, m.ref, r, at, m.since, member)
}

// lag is how far the device's clock, and its message, were behind at the last fix.
func (o *object) lag() Millis { return o.arrived - o.time }

// dwelling is a visit, and when a rule next tells of its length.
type dwelling struct {
	membership
	rule  *rule.Rule
	fence *fence.Fence
	at    Millis
}

// dwellings yields the visits whose length rules tell of next, where no condition has prevented
// that.
func (s *Shard) dwellings(o *object) iter.Seq[dwelling] {
	return func(yield func(dwelling) bool) {
		for _, p := range s.visits.list(o) {
			d := dwelling{membership: p.unpack(o.era.view, o.seq)}
			x := o.scope.of(d.set)
			if !x.detects.Has(rule.DwellTime) {
				continue
			}
			d.fence = o.era.view.find(d.set).Snapshot.Fence(d.ref)
			for _, d.rule = range x.rules {
				if !d.rule.Detect.Has(rule.DwellTime) || !d.rule.Fences.Select(d.fence.Key, d.fence.Properties) {
					continue
				}
				mk := o.mark(Dwell, d.rule, d.set, d.ref)
				if d.at = o.threshold(d.rule, &d.membership); d.at == never || mk != nil && mk.tried {
					continue
				}
				if !yield(d) {
					return
				}
			}
		}
	}
}

// dwellDeadline returns when the clock makes a visit of the object long enough for a rule.
func (s *Shard) dwellDeadline(o *object) (at Millis, ok bool) {
	for d := range s.dwellings(o) {
		if t := max(d.at+o.lag(), o.era.at); !ok || t < at { // not before the rule was in force
			at, ok = t, true
		}
	}
	return at, ok
}

// lapse keeps the visits that become long enough for a rule until a fix, by what the fix before
// tells: the clock would have told the same between the two.
func (s *Shard) lapse(o *object, until Millis) {
	s.lapsed = s.lapsed[:0]
	for d := range s.dwellings(o) {
		if d.at <= until && s.holds(o, d.rule, d.fence) {
			s.lapsed = append(s.lapsed, d)
		}
	}
}

// hasLapsed reports whether a visit became long enough for a rule by what the fix before tells.
func (s *Shard) hasLapsed(r *rule.Rule, m *membership) bool {
	return slices.ContainsFunc(s.lapsed, func(d dwelling) bool { return d.rule == r && d.set == m.set && d.ref == m.ref })
}

// tellLapsed adds the events of a visit that was long enough for rules until a fix ended it.
func (s *Shard) tellLapsed(m *membership, set *TrackedSet, end Millis, c *cause) {
	for i := range s.lapsed {
		if d := &s.lapsed[i]; d.set == m.set && d.ref == m.ref && d.at <= end {
			s.changes = append(s.changes, change{
				kind: Dwell, reason: c.reason, set: set, ref: m.ref, fence: d.fence, rule: d.rule.ID,
				at: lastThreshold(d.rule, d.at, end), since: m.since, visit: m.visit(), member: -1,
			})
		}
	}
}

// elapseDwell adds the events of visits that the clock has made long enough.
func (s *Shard) elapseDwell(o *object, due Millis, c *cause) {
	if o.scope == nil || !o.scope.dwells {
		return
	}
	for k := range s.members {
		m := &s.members[k]
		set := o.era.view.find(m.set)
		f := set.Snapshot.Fence(m.ref)
		for _, r := range o.scope.of(m.set).rules {
			mk := o.mark(Dwell, r, m.set, m.ref)
			if r.Detect.Has(rule.DwellTime) && r.Fences.Select(f.Key, f.Properties) && (mk == nil || !mk.tried) {
				s.dwell(o, set, r, k, due-o.lag(), s.holds(o, r, f), c)
			}
		}
	}
}
