package rule

import (
	"fmt"
	"iter"
	"slices"

	"paddock/fence/track/rule/internal/trie"
)

// Table holds the rules and finds those of an object. It is immutable: [Table.Put] and
// [Table.Delete] return another table, which shares nearly all of its memory with this one. So one
// goroutine changes rules while any number of others use the tables that they have.
//
// Rules with the same fleet and pattern have one [Selection] of objects and form a [Group]. The
// selections of an object are its [Class]. An object keeps its class while rules of its selections
// change; after a selection was added or removed, [Table.Renew] brings the class up to date by the
// changes alone. The rules of a class are those of its groups in a table, see [Table.RulesOf].
type Table struct {
	rules   trie.Map[string, *Rule]
	timed   timetable                    // the schedules of enabled ones
	near    trie.Map[string, *Rule]      // enabled ones about objects near each other
	index   index                        // all selections but the one of every object
	groups  trie.Map[*Selection, *Group] // by the selections of the index
	common  *Group                       // of the rules for every object; nil: none
	classes *classes
	history history
}

// NewTable returns a table of these rules, of which each id stands once. It has no classes in
// common with other tables.
func NewTable(rules []*Rule) (*Table, error) {
	t := &Table{classes: newClasses()}
	puts, _, err := t.difference(rules)
	if err != nil {
		return nil, err
	}
	return t.rebuilt(puts, nil)
}

// Len returns the number of rules.
func (t *Table) Len() int { return t.rules.Len() }

// Get returns the rule with this id.
func (t *Table) Get(id string) (*Rule, bool) { return t.rules.Get(id) }

// Rules returns the rules in the order of their ids. It takes time in proportion to their number.
func (t *Table) Rules() []*Rule {
	all := make([]*Rule, 0, t.Len())
	for _, r := range t.rules.All() {
		all = append(all, r)
	}
	slices.SortFunc(all, (*Rule).compare)
	return all
}

// Put returns the table with this rule, in place of the one with its id. It returns t itself if
// that is the same rule. The table keeps a copy in normal form.
func (t *Table) Put(r *Rule) (*Table, error) {
	kept, err := r.checked()
	if err != nil {
		return nil, err
	}
	old, replaces := t.rules.Get(r.ID)
	switch {
	case replaces && old.Equal(kept):
		return t, nil
	case !replaces && t.Len() == MaxRules:
		return nil, fmt.Errorf("%s: a table has at most %d rules", r.ID, MaxRules)
	}
	next := *t
	next.set(r.ID, kept)
	if err := next.regroup(old, kept); err != nil {
		return nil, fmt.Errorf("%s: %w", r.ID, err)
	}
	return &next, nil
}

// set puts a rule into a table that nothing refers to yet.
func (t *Table) set(id string, r *Rule) {
	t.timed = t.timed.exchanged(t.enabled(id), r)
	t.rules = t.rules.With(id, r)
	if t.near = t.near.Without(id); r.Near != nil && !r.Disabled {
		t.near = t.near.With(id, r)
	}
}

// unset takes a rule out of a table that nothing refers to yet.
func (t *Table) unset(id string) {
	t.timed = t.timed.exchanged(t.enabled(id), nil)
	t.rules, t.near = t.rules.Without(id), t.near.Without(id)
}

// Near yields the rules about objects near each other, in no order. Disabled rules are none of
// them.
func (t *Table) Near() iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		for _, r := range t.near.All() {
			if !yield(r) {
				return
			}
		}
	}
}

// Delete returns the table without the rule of this id, or t itself if there is none.
func (t *Table) Delete(id string) *Table {
	old, ok := t.rules.Get(id)
	if !ok {
		return t
	}
	next := *t
	next.unset(id)
	_ = next.regroup(old, nil) // a removal exceeds no limit
	return &next
}

// regroup puts kept into its group and takes old from its own. Either may be nil or disabled; then
// it is in no group.
func (t *Table) regroup(old, kept *Rule) error {
	if old != nil && old.Disabled {
		old = nil
	}
	if kept != nil && kept.Disabled {
		kept = nil
	}
	switch {
	case old == nil && kept == nil:
		return nil
	case old != nil && kept != nil && old.selector() != kept.selector():
		serial := t.classes.serials.Add(1)
		if err := t.edit(serial, old.selector(), old, nil); err != nil {
			return err
		}
		return t.edit(serial, kept.selector(), nil, kept)
	case kept != nil:
		return t.edit(t.classes.serials.Add(1), kept.selector(), old, kept)
	}
	return t.edit(t.classes.serials.Add(1), old.selector(), old, nil)
}

// edit replaces a rule of one group and records the change under this serial.
func (t *Table) edit(serial uint64, s selector, old, kept *Rule) error {
	before := t.group(s)
	after, err := t.setGroup(s, before, before.edited(old, kept))
	if err == nil {
		t.history = t.history.with(serial, Change{before, after})
	}
	return err
}

// group returns the group of a selector, or nil.
func (t *Table) group(s selector) *Group {
	if s.isAll() {
		return t.common
	}
	g, _ := t.groups.Get(t.index.get(s))
	return g
}

// setGroup gives a selector these rules. It returns the new group, nil without rules.
func (t *Table) setGroup(s selector, before *Group, rules []*Rule) (after *Group, err error) {
	switch {
	case len(rules) == 0:
		t.drop(before)
		return nil, nil
	case before != nil:
		after = &Group{before.Selection, rules}
	default:
		after = &Group{&Selection{s, t.classes.serials.Add(1)}, rules}
		if !s.isAll() {
			err = t.index.add(after.Selection)
		}
	}
	if s.isAll() {
		t.common = after
	} else {
		t.groups = t.groups.With(after.Selection, after)
	}
	return after, err
}

// drop removes a group and its selection.
func (t *Table) drop(g *Group) {
	if g.isAll() {
		t.common = nil
		return
	}
	t.groups = t.groups.Without(g.Selection)
	t.index.remove(g.Selection)
}

// Replace returns the table with these rules alone, of which each id stands once. If only a few of
// them differ, objects keep most classes, as after Put and Delete.
func (t *Table) Replace(rules []*Rule) (*Table, error) {
	puts, deletes, err := t.difference(rules)
	if err != nil {
		return nil, err
	}
	if len(puts)+len(deletes) > maxChanged {
		return t.rebuilt(puts, deletes)
	}
	next := t
	for _, id := range deletes {
		next = next.Delete(id)
	}
	for _, r := range puts {
		if next, err = next.Put(r); err != nil {
			return nil, err
		}
	}
	return next, nil
}

// difference returns what to put and what to delete, so that the table holds these rules alone.
func (t *Table) difference(rules []*Rule) (puts []*Rule, deletes []string, err error) {
	if len(rules) > MaxRules {
		return nil, nil, fmt.Errorf("%d rules, a table has at most %d", len(rules), MaxRules)
	}
	keep := make(map[string]bool, len(rules))
	for _, r := range rules {
		if keep[r.ID] {
			return nil, nil, fmt.Errorf("%s: two rules have this id", r.ID)
		}
		keep[r.ID] = true
		if old, ok := t.Get(r.ID); !ok || !old.Equal(r) {
			puts = append(puts, r)
		}
	}
	for id := range t.rules.All() {
		if !keep[id] {
			deletes = append(deletes, id)
		}
	}
	slices.Sort(deletes)
	return puts, deletes, nil
}

// rebuilt returns the table after changes, without a history.
func (t *Table) rebuilt(puts []*Rule, deletes []string) (*Table, error) {
	next := &Table{
		rules: t.rules, timed: t.timed, near: t.near,
		classes: t.classes, history: history{base: t.classes.serials.Add(1)},
	}
	for _, id := range deletes {
		next.unset(id)
	}
	for _, r := range puts {
		kept, err := r.checked()
		if err != nil {
			return nil, err
		}
		next.set(r.ID, kept)
	}
	groups := map[selector][]*Rule{}
	for _, r := range next.rules.All() {
		if !r.Disabled {
			groups[r.selector()] = append(groups[r.selector()], r)
		}
	}
	for s, of := range groups {
		slices.SortFunc(of, (*Rule).compare)
		if _, err := next.setGroup(s, nil, of); err != nil {
			return nil, fmt.Errorf("%s: %w", of[0].ID, err)
		}
	}
	return next, nil
}

// Class returns the class of an object. It takes microseconds, however many rules there are.
func (t *Table) Class(fleet, id string) *Class {
	var space [16]*Selection
	return t.classes.of(t.index.find(fleet, id, space[:0]))
}

// Groups returns the groups of a class, with the rules for every object first. The class is one of
// this table.
func (t *Table) Groups(c *Class) []*Group {
	groups := make([]*Group, 0, 1+len(c.selections))
	if t.common != nil {
		groups = append(groups, t.common)
	}
	for _, s := range c.selections {
		if g, ok := t.groups.Get(s); ok {
			groups = append(groups, g)
		}
	}
	return groups
}

// RulesOf yields the rules of a class in the order of their ids.
func (t *Table) RulesOf(c *Class) iter.Seq[*Rule] { return merge(t.Groups(c)) }

// Changes returns the changes between an earlier table and this one, in their order. ok is false if
// they are too many to remember, or if this table was not made from that one: then all may differ.
func (t *Table) Changes(earlier *Table) (changes []Change, ok bool) {
	if t.classes != earlier.classes {
		return nil, false
	}
	return t.history.since(earlier.history.last())
}

// Compare returns the changes between two tables by the rules that they have, however they were
// made: one for each selection of which enabled rules differ. ok is false if more than 32 rules do.
func (t *Table) Compare(earlier *Table) (changes []Change, ok bool) {
	var differ []selector
	rules := 0
	for id := range t.rules.Apart(earlier.rules) {
		before, after := earlier.enabled(id), t.enabled(id)
		if before == after || before != nil && after != nil && before.Equal(after) {
			continue
		}
		if rules++; rules > maxChanged {
			return nil, false
		}
		for _, r := range []*Rule{before, after} {
			if r != nil {
				differ = append(differ, r.selector())
			}
		}
	}
	slices.SortFunc(differ, selector.compare)
	for _, s := range slices.Compact(differ) {
		changes = append(changes, Change{earlier.group(s), t.group(s)})
	}
	return changes, true
}

// enabled returns the rule with this id, nil if there is none or it is disabled.
func (t *Table) enabled(id string) *Rule {
	if r, ok := t.rules.Get(id); ok && !r.Disabled {
		return r
	}
	return nil
}

// Keeps reports whether objects that none of these changes concerns, which are those of Compare,
// have the same classes in this table as in the earlier one.
func (t *Table) Keeps(earlier *Table, changes []Change) bool {
	steps, ok := t.Changes(earlier)
	return ok && !slices.ContainsFunc(steps, func(step Change) bool {
		return step.moves() && !slices.ContainsFunc(changes, func(c Change) bool {
			return c.Selection().selector == step.Selection().selector
		})
	})
}

// Renew returns the class of an object that had the class c in an earlier table. It takes time in
// proportion to the changes between the tables. A loop over many objects may ask Changes first: if
// no selection was added or removed, all classes stay, and a selection with an Object concerns that
// object alone.
func (t *Table) Renew(c *Class, earlier *Table, fleet, id string) *Class {
	changes, ok := t.Changes(earlier)
	if !ok {
		return t.Class(fleet, id)
	}
	for i := range changes {
		c = t.classes.renew(c, &changes[i], fleet, id)
	}
	return c
}
