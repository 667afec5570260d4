package track

import (
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/track/rule"
)

// mark is what an object remembers of one rule and one fence, or of a rule and all fences. One of
// the kind Enter is that of all rules: a visit that is shown only since later than it began.
type mark struct {
	rule  string
	kind  Kind // Inside, Outside, Dwell, Enter, or ConditionBegin while the condition holds
	set   SetID
	ref   fence.Ref
	at    Millis // of Inside and Outside: the last event; of Dwell: the next threshold; of Enter: since when
	since Millis // of Outside: when it left; of Dwell: the last threshold told, or the entry
	tried bool   // of Dwell: the threshold has passed while the condition did not hold
}

const (
	// noFence is the ref of all fences of a set.
	noFence = math.MaxUint32
	// never is the next threshold after the last.
	never = Millis(math.MaxInt64)
)

// mark returns the mark of a rule, nil if there is none.
func (o *object) mark(kind Kind, r *rule.Rule, set SetID, ref fence.Ref) *mark {
	for i := range o.marks {
		if m := &o.marks[i]; m.kind == kind && m.set == set && m.ref == ref && m.rule == r.ID {
			return m
		}
	}
	return nil
}

// makeMark returns the mark of a rule, which it makes if there is none. It is valid until the
// next one is made.
func (s *Shard) makeMark(o *object, kind Kind, r *rule.Rule, set SetID, ref fence.Ref) (m *mark, isNew bool) {
	if m := o.mark(kind, r, set, ref); m != nil {
		return m, false
	}
	x := s.ownRare(o)
	x.marks = append(x.marks, mark{rule: r.ID, kind: kind, set: set, ref: ref})
	return &x.marks[len(x.marks)-1], true
}

// outsides goes through the marks of a rule and the fences that it lists. Most marks stand in the
// order of the list, in which they were made, so each is behind the one before. The others are of
// fences that the object has visited since, and are looked up.
type outsides struct {
	o       *object
	rule    *rule.Rule
	set     SetID
	next    int  // index of the mark that is expected
	indexed bool // Shard.outsides has the places of the marks
}

func (s *Shard) newOutsides(o *object, set SetID, r *rule.Rule) outsides {
	w := outsides{o: o, rule: r, set: set}
	for w.next < len(o.marks) && !w.has(w.next) {
		w.next++
	}
	return w
}

// has reports whether a mark is one of the rule's.
func (w *outsides) has(i int) bool {
	m := &w.o.marks[i]
	return m.kind == Outside && m.set == w.set && m.rule == w.rule.ID
}

// makeOutside is makeMark for the next fence of a list.
func (s *Shard) makeOutside(w *outsides, ref fence.Ref) (m *mark, isNew bool) {
	at, known := w.next, w.next < len(w.o.marks) && w.o.marks[w.next].ref == ref && w.has(w.next)
	if !known {
		s.index(w)
		if at, known = s.outsides[ref]; !known {
			x := s.ownRare(w.o)
			at, x.marks = len(x.marks), append(x.marks, mark{rule: w.rule.ID, kind: Outside, set: w.set, ref: ref})
			s.outsides[ref] = at
		}
	}
	w.next = at + 1
	return &w.o.marks[at], !known
}

// index notes the places of the marks of a rule.
func (s *Shard) index(w *outsides) {
	if w.indexed {
		return
	}
	if w.indexed = true; s.outsides == nil {
		s.outsides = map[fence.Ref]int{}
	}
	clear(s.outsides)
	for i := range w.o.marks {
		if w.has(i) {
			s.outsides[w.o.marks[i].ref] = i
		}
	}
}

func (o *object) dropMark(m *mark) {
	i := slices.IndexFunc(o.marks, func(other mark) bool { return other == *m })
	o.marks = slices.Delete(o.marks, i, i+1)
}

// allRules stands for the rules that show a visit.
var allRules rule.Rule

// showSince remembers that a visit is shown from a time on.
func (s *Shard) showSince(o *object, m *membership, at Millis) {
	mk, _ := s.makeMark(o, Enter, &allRules, m.set, m.ref)
	mk.at = at
}

// shownSince returns when a visit began, as its enter told it.
func (o *object) shownSince(m *membership) Millis {
	if mk := o.mark(Enter, &allRules, m.set, m.ref); mk != nil {
		return mk.at
	}
	return m.since
}

// forget drops the marks whose visit has ended, or whose rule is no longer open. A condition that
// holds ends with it.
func (s *Shard) forget(o *object, c *cause) {
	o.marks = slices.DeleteFunc(o.marks, func(m mark) bool {
		r := s.scope.of(m.set).byID(m.rule)
		member := s.findMember(m.set, m.ref)
		if r != nil && member >= 0 && !s.selects(r, &s.members[member]) {
			r = nil
		}
		switch {
		case m.kind == Enter:
			return member < 0 || !s.members[member].shown()
		case m.kind == Outside:
			return r == nil || member >= 0 || s.isBack(&m, r)
		case r != nil && member >= 0:
			return false
		case m.kind == ConditionBegin:
			s.endCondition(o, &m, member, c)
		}
		return true
	})
	if len(o.marks) == 0 {
		o.marks = nil
	}
}

// redate dates the marks of visits whose length a changed rule tells of: next comes its first
// threshold after the last one that was told.
func (s *Shard) redate(o *object) {
	for i := range o.marks {
		m := &o.marks[i]
		was, r, member := o.scope.of(m.set).byID(m.rule), s.scope.of(m.set).byID(m.rule), s.findMember(m.set, m.ref)
		if m.kind == Dwell && was != nil && r != nil && member >= 0 && !was.Equal(r) {
			m.at, m.tried = thresholdAfter(m.since, r, &s.members[member]), false
		}
	}
}

// endCondition tells the end of a condition, with the visit or with the rule.
func (s *Shard) endCondition(o *object, m *mark, member int, c *cause) {
	set, reason := o.era.view.find(m.set), c.reason
	switch {
	case member >= 0:
		reason = s.closing(m.set, o.scope.of(m.set).byID(m.rule))
	case c.edited:
		reason = s.whyLeft(&membership{set: m.set, ref: m.ref})
	}
	s.changes = append(s.changes, change{
		kind: ConditionEnd, reason: reason, set: set, ref: m.ref, fence: set.Snapshot.Fence(m.ref),
		rule: m.rule, at: max(c.at, m.at), since: m.at, member: -1,
	})
}

// byID returns an open rule of a set, nil if there is none.
func (x *setScope) byID(id string) *rule.Rule { return byID(x.rules, id) }

func byID(rules []*rule.Rule, id string) *rule.Rule {
	for _, r := range rules {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// findMember returns the index in s.members, -1 if there is none.
func (s *Shard) findMember(set SetID, ref fence.Ref) int {
	for i := range s.members {
		if s.members[i].set == set && s.members[i].ref == ref {
			return i
		}
	}
	return -1
}

// isBack reports whether an object is no longer outside of all fences that a rule selects, or the
// one fence that it was outside of is gone.
func (s *Shard) isBack(m *mark, r *rule.Rule) bool {
	if m.ref == noFence {
		return s.isInAny(m.set, r)
	}
	return s.view.find(m.set).Snapshot.Fence(m.ref) == nil
}

// isInAny reports whether the object is in a fence that a rule selects.
func (s *Shard) isInAny(set SetID, r *rule.Rule) bool {
	for i := range s.members {
		if m := &s.members[i]; m.set == set && s.selects(r, m) {
			return true
		}
	}
	return false
}

// selects reports whether a rule selects the fence of a membership.
func (s *Shard) selects(r *rule.Rule, m *membership) bool {
	f := s.view.find(m.set).Snapshot.Fence(m.ref)
	return r.Fences.Select(f.Key, f.Properties)
}
