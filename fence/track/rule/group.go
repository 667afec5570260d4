package rule

import (
	"bytes"
	"fmt"
	"iter"
	"slices"
	"strings"
)

// selector is the objects that a rule is about.
type selector struct {
	fleet   string // "": any
	pattern Pattern
}

func (s selector) match(fleet, id string) bool {
	return (s.fleet == "" || s.fleet == fleet) && s.pattern.Match(id)
}

func (s selector) compare(o selector) int {
	if c := strings.Compare(s.fleet, o.fleet); c != 0 {
		return c
	}
	return strings.Compare(s.pattern.text, o.pattern.text)
}

// selector returns the objects of a rule in normal form.
func (r *Rule) selector() selector {
	if r.Objects == "" {
		return selector{r.Fleet, Pattern{"*"}}
	}
	return selector{r.Fleet, Pattern{r.Objects}}
}

func (r *Rule) compare(o *Rule) int { return strings.Compare(r.ID, o.ID) }

// Equal reports whether two rules are the same.
func (r *Rule) Equal(o *Rule) bool {
	return r == o || r.ID == o.ID && bytes.Equal(r.AppendJSON(nil), o.AppendJSON(nil))
}

// checked returns a copy of a rule without faults, in normal form.
func (r *Rule) checked() (*Rule, error) {
	if err := r.Check(); err != nil {
		return nil, fmt.Errorf("%s: %w", shorten(r.ID), err)
	}
	kept := *r
	kept.Fences.IDs = slices.Clone(r.Fences.IDs)
	kept.normalize()
	return &kept, nil
}

// isAll reports whether the selector selects every object.
func (s selector) isAll() bool { return s.fleet == "" && s.pattern.text == "*" }

// Selection is the objects that some rules of a table have in common. It stays the same while rules
// with its fleet and pattern come and go, until there is none.
type Selection struct {
	selector
	serial uint64 // its name in all tables that share classes
}

// Fleet returns the fleet of the objects, "" for any.
func (s *Selection) Fleet() string { return s.fleet }

// Pattern returns the pattern of their ids.
func (s *Selection) Pattern() Pattern { return s.pattern }

// Match reports whether an object is selected.
func (s *Selection) Match(fleet, id string) bool { return s.match(fleet, id) }

// Object returns the only id that is selected, if the pattern has no wildcard.
func (s *Selection) Object() (id string, ok bool) {
	id, rest := s.pattern.literal()
	return id, rest == ""
}

// All reports whether every object is selected.
func (s *Selection) All() bool { return s.isAll() }

// Group is the enabled rules of one selection in one table. It is immutable.
type Group struct {
	*Selection
	rules []*Rule // by id
}

// Rules returns the rules in the order of their ids.
func (g *Group) Rules() []*Rule { return g.rules }

// edited returns the rules of the group without old and with kept. Each may be nil, as may g.
func (g *Group) edited(old, kept *Rule) []*Rule {
	var rules []*Rule
	if g != nil {
		rules = append(make([]*Rule, 0, len(g.rules)+1), g.rules...)
	}
	if old != nil {
		if i, ok := slices.BinarySearchFunc(rules, old, (*Rule).compare); ok {
			rules = slices.Delete(rules, i, i+1)
		}
	}
	if kept != nil {
		i, _ := slices.BinarySearchFunc(rules, kept, (*Rule).compare)
		rules = slices.Insert(rules, i, kept)
	}
	return rules
}

// merge yields the rules of the groups in the order of their ids.
func merge(groups []*Group) iter.Seq[*Rule] {
	return func(yield func(*Rule) bool) {
		rest := make([][]*Rule, len(groups))
		for i, g := range groups {
			rest[i] = g.rules
		}
		for len(rest) > 0 {
			first := 0
			for i := range rest {
				if rest[i][0].ID < rest[first][0].ID {
					first = i
				}
			}
			if !yield(rest[first][0]) {
				return
			}
			if rest[first] = rest[first][1:]; len(rest[first]) == 0 {
				rest = slices.Delete(rest, first, first+1)
			}
		}
	}
}

// Selects reports whether the rule selects an object.
func (r *Rule) Selects(fleet, id string) bool { return r.selector().match(fleet, id) }

// Selects reports whether an object is one that others are near.
func (n *Near) Selects(fleet, id string) bool {
	return (isAny(n.Fleet) || n.Fleet == fleet) && (isAny(n.Objects) || Pattern{n.Objects}.Match(id))
}
