// Package rulebook holds the policies of sets and the rules of a platform, of files and of the API.
//
// A [Book] publishes immutable states. The fold takes the state of the book with the fences, see
// package views, so that a rule holds from some record on and a replay applies the same rules.
package rulebook

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// Book holds the present state. It is safe for concurrent use.
type Book struct {
	mu      sync.Mutex // held while it changes
	current atomic.Pointer[State]
}

// Errors of changes.
var (
	// ErrUnknown: there is no such rule, or the set has no policy of its own.
	ErrUnknown = errors.New("not found")
	// ErrFull is wrapped where the number of rules or policies is at its bound.
	ErrFull = errors.New("too many")
)

// FileError refuses a change of what a file holds.
type FileError struct{ What, File string }

func (e *FileError) Error() string {
	return fmt.Sprintf("%s is of the file %s: change it there", e.What, e.File)
}

// maxPolicies bounds the policies of sets.
const maxPolicies = 10_000

// New returns a book without rules, whose sets have this policy.
func New(p track.Policy) *Book {
	b := &Book{}
	b.current.Store(empty(p))
	return b
}

// State returns the present state.
func (b *Book) State() *State { return b.current.Load() }

// Adopt puts a state of [Decode] in place of the present one.
func (b *Book) Adopt(s *State) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.current.Store(s)
}

// change publishes the state that f makes of the present one.
func (b *Book) change(f func(s *State) (*State, error)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	next, err := f(b.current.Load())
	if err == nil {
		b.current.Store(next)
	}
	return err
}

// SetDefault sets the policy of sets without one of their own.
func (b *Book) SetDefault(p track.Policy) {
	_ = b.change(func(s *State) (*State, error) {
		if *s.preset == p {
			return s, nil
		}
		next := *s
		next.preset = &p
		return &next, nil
	})
}

// Unknown returns the ErrUnknown of a rule.
func Unknown(id string) error { return fmt.Errorf("rule %q: %w", id, ErrUnknown) }

// Guard allows a change of a rule, nil if there is none yet, or returns an error.
type Guard func(old *rule.Rule) error

// Put adds a rule, or replaces the one of its id, if the guard allows it. The error is that of the
// guard, a *FileError, or wraps ErrFull.
func (b *Book) Put(r *rule.Rule, allowed Guard) (kept *rule.Rule, created bool, err error) {
	err = b.change(func(s *State) (*State, error) {
		_, known, err := s.editable(r.ID, allowed)
		if err != nil {
			return nil, err
		}
		if !known && s.rules.Len() >= rule.MaxRules {
			return nil, fmt.Errorf("%w rules: at most %d are kept; delete one first", ErrFull, rule.MaxRules)
		}
		next, err := s.with(r)
		if err != nil {
			return nil, err
		}
		kept, _ = next.rules.Get(r.ID)
		created = !known
		return next, nil
	})
	return kept, created, err
}

// Edit replaces a rule by what f makes of it, if the guard allows it. The error is that of the
// guard or of f, a *FileError, or wraps ErrUnknown.
func (b *Book) Edit(id string, allowed Guard, f func(old *rule.Rule) (*rule.Rule, error)) (kept *rule.Rule, err error) {
	err = b.change(func(s *State) (*State, error) {
		if _, known := s.rules.Get(id); !known {
			return nil, Unknown(id)
		}
		old, _, err := s.editable(id, allowed)
		if err != nil {
			return nil, err
		}
		edited, err := f(old)
		if err != nil {
			return nil, err
		}
		next, err := s.with(edited)
		if err == nil {
			kept, _ = next.rules.Get(id)
		}
		return next, err
	})
	return kept, err
}

// Delete removes a rule if the guard allows it. The error is that of the guard, a *FileError, or
// wraps ErrUnknown.
func (b *Book) Delete(id string, allowed Guard) error {
	return b.change(func(s *State) (*State, error) {
		_, known, err := s.editable(id, allowed)
		if err == nil && !known {
			err = Unknown(id)
		}
		if err != nil {
			return nil, err
		}
		return s.without(id), nil
	})
}

// SetPolicy gives a set a policy of its own, or takes it away with nil. The error is a *FileError,
// or wraps ErrFull or ErrUnknown.
func (b *Book) SetPolicy(set string, p *track.Policy) error {
	return b.change(func(s *State) (*State, error) {
		old, known := s.policies[set]
		switch {
		case known && old.file != "":
			return nil, &FileError{fmt.Sprintf("the policy of the set %q", set), old.file}
		case p == nil && !known:
			return nil, fmt.Errorf("a policy of the set %q: %w", set, ErrUnknown)
		case p != nil && !known && len(s.policies) >= maxPolicies:
			return nil, fmt.Errorf("%w policies: at most %d are kept; delete one first", ErrFull, maxPolicies)
		}
		return s.withPolicy(set, p, ""), nil
	})
}

// Forget removes the policy that the API has given to a set which is gone.
func (b *Book) Forget(set string) {
	_ = b.change(func(s *State) (*State, error) {
		if p, known := s.policies[set]; !known || p.file != "" {
			return s, nil
		}
		return s.withPolicy(set, nil, ""), nil
	})
}

// Files is the content of the files of a directory.
type Files struct {
	Rules     []*rule.Rule
	RulesFile string                  // its name; "": there is none
	Policies  map[string]track.Policy // by set
	Names     map[string]string       // of the files of policies, by set
}

// SetFiles puts the content of files in place of that of earlier ones. Rules and policies of files
// replace those of the API with the same names; taken lists their names.
func (b *Book) SetFiles(f Files) (taken []string, err error) {
	err = b.change(func(s *State) (next *State, err error) {
		next, taken, err = s.withFiles(f)
		return next, err
	})
	return taken, err
}

// Release makes rules and policies of files those of the API, as there are no files any more.
func (b *Book) Release() {
	_ = b.change(func(s *State) (*State, error) { return s.released(), nil })
}
