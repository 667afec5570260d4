package livemap

import (
	"fmt"
	"slices"
	"strings"

	"paddock/fence/track"
)

// Filter selects objects. The zero Filter selects all.
type Filter struct {
	Fleet  string   `json:"fleet"`
	States []string `json:"states"` // any of them
	Text   string   `json:"text"`   // words that occur in the id or the fleet, whatever their case
}

// Validate refuses an unknown state.
func (f *Filter) Validate() error {
	for _, name := range f.States {
		if _, ok := stateOf(name); !ok {
			return fmt.Errorf("states: %.32q: use moving, dwelling, silent or unknown", name)
		}
	}
	return nil
}

func stateOf(name string) (s track.State, ok bool) {
	for _, s := range []track.State{track.Moving, track.Dwelling, track.Silent, track.Unknown} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// matcher is a Filter that is ready to use.
type matcher struct {
	fleet  string
	states []track.State
	words  []string
}

func (f *Filter) matcher() matcher {
	m := matcher{fleet: f.Fleet, words: strings.Fields(strings.ToLower(f.Text))}
	for _, name := range f.States {
		if s, ok := stateOf(name); ok {
			m.states = append(m.states, s)
		}
	}
	return m
}

// named reports whether fleets and ids matter.
func (m *matcher) named() bool { return m.fleet != "" || len(m.words) > 0 }

func (m *matcher) name(fleet, id string) bool {
	if m.fleet != "" && fleet != m.fleet {
		return false
	}
	if len(m.words) == 0 {
		return true
	}
	fleet, id = strings.ToLower(fleet), strings.ToLower(id)
	for _, w := range m.words {
		if !strings.Contains(id, w) && !strings.Contains(fleet, w) {
			return false
		}
	}
	return true
}

func (m *matcher) state(s track.State) bool {
	return len(m.states) == 0 || slices.Contains(m.states, s)
}
