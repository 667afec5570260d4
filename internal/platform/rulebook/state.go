package rulebook

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// State is the policies and the rules at some time. It is immutable.
type State struct {
	preset    *track.Policy     // of sets without one of their own
	policies  map[string]policy // by set
	rules     *rule.Table
	rulesFile string          // name of the file of rules; "": none
	filed     map[string]bool // ids of its rules
	pages     [Pages]*Page
}

// policy is the policy of a set.
type policy struct {
	*track.Policy
	file string // that holds it; "": the API
}

// Pages is the number of pages of a state.
const Pages = 256

// Page is the part of the rules whose ids have the same hash. A changed rule changes one page.
type Page struct {
	rules []*rule.Rule // by id
	filed []bool       // whether they are of a file
}

var noPage = &Page{}

func empty(p track.Policy) *State {
	none, err := rule.NewTable(nil)
	if err != nil {
		panic(err) // there is no rule to be wrong
	}
	s := &State{preset: &p, policies: map[string]policy{}, rules: none}
	for i := range s.pages {
		s.pages[i] = noPage
	}
	return s
}

func pageOf(id string) int { return int(xxhash.Sum64String(id) % Pages) }

// Rules returns the rules.
func (s *State) Rules() *rule.Table { return s.rules }

// Policy returns the policy of a set, and the name of the file that holds it. own reports whether
// it is that of the set alone.
func (s *State) Policy(set string) (p *track.Policy, file string, own bool) {
	if p, known := s.policies[set]; known {
		return p.Policy, p.file, true
	}
	return s.preset, "", false
}

// File returns the name of the file that holds a rule, or "".
func (s *State) File(id string) string {
	if s.filed[id] {
		return s.rulesFile
	}
	return ""
}

// editable returns a rule that the API may change; known is false if there is none. The guard is
// asked first, as it may hide that there is one.
func (s *State) editable(id string, allowed Guard) (old *rule.Rule, known bool, err error) {
	old, known = s.rules.Get(id)
	if err := allowed(old); err != nil {
		return nil, known, err
	}
	if file := s.File(id); file != "" {
		return nil, known, &FileError{fmt.Sprintf("the rule %q", id), file}
	}
	return old, known, nil
}

// MaxNear bounds the rules about objects near each other: each of them looks at each position.
const MaxNear = 100

// errNear refuses more of these rules.
var errNear = fmt.Errorf("%w rules with near: at most %d are kept; delete one first", ErrFull, MaxNear)

// Nears returns the number of rules about objects near each other.
func Nears(rules []*rule.Rule) (n int) {
	for _, r := range rules {
		if r.Near != nil {
			n++
		}
	}
	return n
}

// WithRules returns the policies of the state with other rules, for a dry run: a book does not take
// it.
func (s *State) WithRules(all []*rule.Rule) (*State, error) {
	if Nears(all) > MaxNear {
		return nil, errNear
	}
	rules, err := rule.NewTable(all)
	if err != nil {
		return nil, err
	}
	return &State{preset: s.preset, policies: s.policies, rules: rules}, nil
}

// with returns the state with a rule of the API.
func (s *State) with(r *rule.Rule) (*State, error) {
	if old, known := s.rules.Get(r.ID); r.Near != nil && (!known || old.Near == nil) && Nears(s.rules.Rules()) >= MaxNear {
		return nil, errNear
	}
	rules, err := s.rules.Put(r)
	if err != nil || rules == s.rules {
		return s, err
	}
	next := *s
	next.rules = rules
	kept, _ := rules.Get(r.ID)
	n := pageOf(r.ID)
	next.pages[n] = s.pages[n].with(kept, false)
	return &next, nil
}

func (s *State) without(id string) *State {
	next := *s
	next.rules = s.rules.Delete(id)
	n := pageOf(id)
	next.pages[n] = s.pages[n].without(id)
	return &next
}

// withPolicy returns the state with a policy of a set, or without one.
func (s *State) withPolicy(set string, p *track.Policy, file string) *State {
	next := *s
	next.policies = maps.Clone(s.policies)
	if p == nil {
		delete(next.policies, set)
	} else {
		next.policies[set] = policy{p, file}
	}
	return &next
}

// withFiles returns the state with other files.
func (s *State) withFiles(f Files) (next *State, taken []string, err error) {
	next = s
	for set, p := range s.policies {
		if _, there := f.Policies[set]; p.file != "" && !there {
			next = next.withPolicy(set, nil, "")
		}
	}
	for set, p := range f.Policies {
		old, known := next.policies[set]
		if known && old.file == "" {
			taken = append(taken, "policy of the set "+set)
		}
		if !known || *old.Policy != p || old.file != f.Names[set] {
			next = next.withPolicy(set, &p, f.Names[set])
		}
	}
	filed := make(map[string]bool, len(f.Rules))
	all := make([]*rule.Rule, 0, len(f.Rules))
	for _, r := range f.Rules {
		if _, known := s.rules.Get(r.ID); known && !s.filed[r.ID] {
			taken = append(taken, "rule "+r.ID)
		}
		filed[r.ID] = true
		all = append(all, r)
	}
	for _, r := range s.rules.Rules() {
		if !s.filed[r.ID] && !filed[r.ID] {
			all = append(all, r)
		}
	}
	if Nears(all) > MaxNear {
		return nil, nil, fmt.Errorf("%s: %w", f.RulesFile, errNear)
	}
	rules, err := s.rules.Replace(all)
	if err != nil {
		return nil, nil, err
	}
	if rules == s.rules && f.RulesFile == s.rulesFile && maps.Equal(filed, s.filed) {
		return next, taken, nil
	}
	copied := *next
	copied.rules, copied.rulesFile, copied.filed = rules, f.RulesFile, filed
	copied.paginate()
	slices.Sort(taken)
	return &copied, taken, nil
}

// released returns the state with all rules and policies as those of the API.
func (s *State) released() *State {
	next := *s
	next.policies = maps.Clone(s.policies)
	changed := s.rulesFile != ""
	for set, p := range s.policies {
		changed = changed || p.file != ""
		next.policies[set] = policy{Policy: p.Policy}
	}
	if !changed {
		return s
	}
	next.rulesFile, next.filed = "", nil
	next.paginate()
	return &next
}

// paginate makes the pages of the rules.
func (s *State) paginate() {
	var pages [Pages]Page
	for _, r := range s.rules.Rules() {
		p := &pages[pageOf(r.ID)]
		p.rules, p.filed = append(p.rules, r), append(p.filed, s.filed[r.ID])
	}
	for i := range pages {
		if !pages[i].equal(s.pages[i]) {
			s.pages[i] = &pages[i]
		}
	}
}

func (p *Page) equal(o *Page) bool {
	return slices.Equal(p.rules, o.rules) && slices.Equal(p.filed, o.filed)
}

// find returns the place of a rule, or where it would be.
func (p *Page) find(id string) (at int, there bool) {
	return slices.BinarySearchFunc(p.rules, id, func(r *rule.Rule, id string) int {
		switch {
		case r.ID < id:
			return -1
		case r.ID > id:
			return 1
		}
		return 0
	})
}

func (p *Page) with(r *rule.Rule, filed bool) *Page {
	at, there := p.find(r.ID)
	next := &Page{slices.Clone(p.rules), slices.Clone(p.filed)}
	if there {
		next.rules[at], next.filed[at] = r, filed
	} else {
		next.rules, next.filed = slices.Insert(next.rules, at, r), slices.Insert(next.filed, at, filed)
	}
	return next
}

func (p *Page) without(id string) *Page {
	at, there := p.find(id)
	if !there {
		return p
	}
	return &Page{slices.Delete(slices.Clone(p.rules), at, at+1), slices.Delete(slices.Clone(p.filed), at, at+1)}
}
