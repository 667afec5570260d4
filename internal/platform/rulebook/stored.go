package rulebook

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"

	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// ErrState is wrapped where bytes are not those of a stored state.
var ErrState = errors.New("rulebook: not a stored state")

// storedHead is the stored form of everything but the pages.
type storedHead struct {
	Default  track.Policy            `json:"default"`
	Policies map[string]storedPolicy `json:"policies"`
	Rules    string                  `json:"rules_file"`
}

type storedPolicy struct {
	Policy track.Policy `json:"policy"`
	File   string       `json:"file,omitempty"`
}

// Head returns the stored form of the state without its pages.
func (s *State) Head() []byte {
	h := storedHead{Default: *s.preset, Policies: map[string]storedPolicy{}, Rules: s.rulesFile}
	for set, p := range s.policies {
		h.Policies[set] = storedPolicy{*p.Policy, p.file}
	}
	text, _ := json.Marshal(h) // numbers and texts always encode
	return text
}

// Pages returns the pages. Those of two states are the same pointers where nothing has changed.
func (s *State) Pages() [Pages]*Page { return s.pages }

// same reports whether two states have the same stored form.
func (s *State) same(as *State) bool {
	if s == as {
		return true
	}
	for n, p := range s.pages {
		if q := as.pages[n]; p != q && !bytes.Equal(p.Append(nil), q.Append(nil)) {
			return false
		}
	}
	return bytes.Equal(s.Head(), as.Head())
}

// Empty reports whether the page has no rules.
func (p *Page) Empty() bool { return len(p.rules) == 0 }

// Append appends the stored form of a page: for each rule whether it is of a file, as 0 or 1, and
// the length and the bytes of its JSON.
func (p *Page) Append(b []byte) []byte {
	for i, r := range p.rules {
		filed := byte(0)
		if p.filed[i] {
			filed = 1
		}
		text := r.AppendJSON(nil)
		b = binary.AppendUvarint(append(b, filed), uint64(len(text)))
		b = append(b, text...)
	}
	return b
}

// Decode returns the state with this head, whose pages are those of an earlier state but for the
// changed ones. The earlier state may be nil: it has no rules then.
func Decode(earlier *State, head []byte, changed map[int][]byte) (*State, error) {
	var h storedHead
	if err := json.Unmarshal(head, &h); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	if earlier == nil {
		earlier = empty(track.Policy{})
	}
	next := *earlier
	next.preset, next.policies, next.rulesFile = &h.Default, map[string]policy{}, h.Rules
	if *earlier.preset == h.Default {
		next.preset = earlier.preset
	}
	for set, p := range h.Policies {
		old, known := earlier.policies[set]
		if !known || *old.Policy != p.Policy {
			old.Policy = &p.Policy
		}
		next.policies[set] = policy{old.Policy, p.File}
	}
	for n, b := range changed {
		var err error
		if next.pages[n], err = parsePage(b); err != nil {
			return nil, err
		}
	}
	var err error
	if next.rules, err = next.table(earlier, changed); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrState, err)
	}
	next.filed = map[string]bool{}
	for _, p := range next.pages {
		for i, r := range p.rules {
			if p.filed[i] {
				next.filed[r.ID] = true
			}
		}
	}
	return &next, nil
}

// fewPages is the number of changed pages up to which their rules are edited one by one.
const fewPages = 8

// table returns the rules of the pages, as a change of those of an earlier state.
func (s *State) table(earlier *State, changed map[int][]byte) (t *rule.Table, err error) {
	t = earlier.rules
	if len(changed) > fewPages {
		var all []*rule.Rule
		for _, p := range s.pages {
			all = append(all, p.rules...)
		}
		return t.Replace(all)
	}
	for n := range changed {
		for _, r := range earlier.pages[n].rules {
			if _, there := s.pages[n].find(r.ID); !there {
				t = t.Delete(r.ID)
			}
		}
	}
	for n := range changed { // there is room by now
		for _, r := range s.pages[n].rules {
			if t, err = t.Put(r); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// parsePage reads what Append wrote.
func parsePage(b []byte) (*Page, error) {
	p := &Page{}
	for len(b) > 0 {
		filed := b[0]
		n, size := binary.Uvarint(b[1:])
		if filed > 1 || size <= 0 || n > uint64(len(b)-1-size) {
			return nil, fmt.Errorf("%w: a page", ErrState)
		}
		text := b[1+size:][:n]
		b = b[1+size:][n:]
		r, err := rule.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrState, err)
		}
		p.rules, p.filed = append(p.rules, r), append(p.filed, filed == 1)
	}
	return p, nil
}
