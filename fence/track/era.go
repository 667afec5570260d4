package track

import (
	"slices"

	"paddock/fence/track/rule"
)

// era is a time in which fences, policies and rules stay as they are, and so do the rules that
// are open by their schedules.
type era struct {
	view   *View
	at     Millis // its beginning
	flip   Millis // when a rule opens or closes next; 0: never
	bonds  map[*rule.Class]*bond
	near   []*rule.Rule // open ones about objects near each other, by id
	before *era         // the last one, until all objects have left it
}

// newEra returns the era of a view from a time on.
func newEra(v *View, at Millis, before *era) *era {
	e := &era{view: v, at: at, before: before, bonds: map[*rule.Class]*bond{}}
	if before != nil {
		before.before = nil
	}
	if v.Rules == nil {
		return e
	}
	e.near = e.openNear(before)
	if next, changes := v.Rules.NextChange(at.Time()); changes {
		e.flip = MillisOf(next)
	}
	return e
}

// onlyRules returns the changes of the rules since an earlier era, if nothing else changed. They
// depend on what the rules are, so a replay finds those of the first time.
func (e *era) onlyRules(before *era) (changes []rule.Change, ok bool) {
	rules, earlier := e.view.Rules, before.view.Rules
	switch {
	case before.flip != 0 && before.flip <= e.at || !e.view.sameSets(before.view):
		return nil, false
	case rules == nil || earlier == nil:
		return nil, rules == earlier
	}
	return rules.Compare(earlier)
}

// classOf returns the class of an object; nil without rules.
func (e *era) classOf(fleet, id string) *rule.Class {
	if e.view.Rules == nil {
		return nil
	}
	return e.view.Rules.Class(fleet, id)
}

// classAfter returns the class of an object of another era.
func (s *Shard) classAfter(o *object) *rule.Class {
	rules, earlier := s.era.view.Rules, o.era.view.Rules
	fleet, id := s.nameOf(o)
	switch {
	case rules == nil:
		return nil
	case rules == earlier:
		return o.class
	case earlier == nil:
		return rules.Class(fleet, id)
	}
	return rules.Renew(o.class, earlier, fleet, id)
}

// scope is the meaning of the open rules of a class.
type scope struct {
	sets   []setScope // in the order of View.Sets
	dwells bool       // a rule tells of dwelling
}

// setScope is the meaning of the rules for one set.
type setScope struct {
	set     SetID
	tracked bool        // a rule names the set, open or not
	builtin bool        // there are no rules: all fences are told
	detects rule.Detect // of the open rules
	rules   []*rule.Rule
	counts  []*rule.Rule // open ones that count, which are not in rules
}

// everything is the scope of a set without rules.
var everything = setScope{tracked: true, builtin: true, detects: rule.Enter | rule.Exit}

// nothing is the scope of a set that the view does not have.
var nothing setScope

// bond is what the objects of a class have in common in an era.
type bond struct {
	era   *era
	class *rule.Class // nil without rules
	scope *scope      // nil without rules
	rules *rule.Table // of which the scope was compiled, or which has the same one; see isOf
}

// isOf reports whether the scope is that of the class in a later table, too.
func (b *bond) isOf(rules *rule.Table) bool {
	if b.rules == rules {
		return true
	}
	changes, ok := rules.Changes(b.rules)
	for i := range changes {
		ok = ok && !b.class.Has(changes[i].Selection())
	}
	if ok {
		b.rules = rules
	}
	return ok
}

// bondOf returns the bond of a class.
func (e *era) bondOf(c *rule.Class) *bond {
	b, known := e.bonds[c]
	if known && b.isOf(e.view.Rules) {
		return b
	}
	b = &bond{era: e, class: c, rules: e.view.Rules}
	if c != nil {
		b.scope = e.compile(c)
		if e.before != nil {
			if old := e.before.bonds[c]; old != nil && b.scope.equal(old.scope) {
				b.scope = old.scope
			}
		}
	}
	e.bonds[c] = b
	return b
}

// compile returns the scope of a class.
func (e *era) compile(c *rule.Class) *scope {
	sc := &scope{sets: make([]setScope, len(e.view.Sets))}
	for i := range e.view.Sets {
		sc.sets[i].set = e.view.Sets[i].ID
	}
	at := e.at.Time()
	for r := range e.view.Rules.RulesOf(c) {
		i := slices.IndexFunc(e.view.Sets, func(t TrackedSet) bool { return t.Name == r.Set })
		if i < 0 {
			continue
		}
		x := &sc.sets[i]
		switch x.tracked = true; {
		case !r.Active.Open(at):
		case r.AtLeast > 0:
			x.counts = append(x.counts, r)
		case r.Detect != 0:
			x.rules = append(x.rules, r)
			x.detects |= r.Detect
			sc.dwells = sc.dwells || r.Detect.Has(rule.DwellTime)
		}
	}
	return sc
}

// equal reports whether two scopes are the same by their content: after a restart the same rules
// are other values.
func (sc *scope) equal(other *scope) bool {
	if sc == other || sc == nil || other == nil {
		return sc == other
	}
	return slices.EqualFunc(sc.sets, other.sets, func(a, b setScope) bool {
		return a.set == b.set && a.tracked == b.tracked && a.detects == b.detects &&
			slices.EqualFunc(a.rules, b.rules, (*rule.Rule).Equal) && slices.EqualFunc(a.counts, b.counts, (*rule.Rule).Equal)
	})
}

// of returns the scope of a set.
func (sc *scope) of(set SetID) *setScope {
	if sc == nil {
		return &everything
	}
	for i := range sc.sets {
		if sc.sets[i].set == set {
			return &sc.sets[i]
		}
	}
	return &nothing
}
