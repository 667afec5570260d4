package rule

import (
	"encoding/json"
	"strconv"

	"paddock/fence/track/rule/internal/members"
)

// Properties are the members of a JSON object, ready to be read by conditions. The zero value has
// none. Those of a fence are read once and serve all conditions.
type Properties struct{ members []property }

type property struct {
	name  []byte
	value value
}

// Read replaces the properties by the members of raw whose names are in names, or by all if names
// is nil. They share memory with raw. Of members with one name the last counts. The members before
// the first error of raw are read; a raw that is no object has none.
//
// Read uses the memory of the call before again. It allocates only for texts with escapes, and to
// grow.
func (p *Properties) Read(raw json.RawMessage, names []string) {
	p.members = p.members[:0]
	for name, v := range members.Of(raw) {
		if names == nil || isIn(names, name) {
			p.members = append(p.members, property{name, parseValue(v)})
		}
	}
}

// isIn reports whether name is one of names, which are few.
func isIn(names []string, name []byte) bool {
	for _, n := range names {
		if n == string(name) {
			return true
		}
	}
	return false
}

// get returns the last property of this name. A nil p has none.
func (p *Properties) get(name string) value {
	if p == nil {
		return value{}
	}
	for i := len(p.members) - 1; i >= 0; i-- {
		if m := &p.members[i]; string(m.name) == name {
			return m.value
		}
	}
	return value{}
}

// lookUp returns the last property of this name of a JSON object.
func lookUp(raw json.RawMessage, name string) value {
	var found []byte
	for n, v := range members.Of(raw) {
		if string(n) == name {
			found = v
		}
	}
	return parseValue(found)
}

// parseValue reads one JSON value. Its extent is known, and its contents are not checked yet.
func parseValue(raw []byte) value {
	if len(raw) == 0 {
		return value{}
	}
	switch raw[0] {
	case '"':
		if s, ok := members.Unquote(raw); ok {
			return value{kind: text, text: s}
		}
		return value{}
	case '{', '[':
		return value{kind: compound}
	case 't', 'f':
		return value{kind: boolean, truth: raw[0] == 't'}
	case 'n':
		return value{}
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil && f == 0 { // too large a number is infinite
		return value{}
	}
	return numberOf(f)
}
