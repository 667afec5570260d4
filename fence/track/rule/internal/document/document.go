// Package document reads JSON and YAML into one kind of tree, whose values know their place in the
// text. It is stricter than both formats: an object names each member once.
package document

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a value.
type Kind uint8

// The kinds of JSON values.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
)

var kindNames = [...]string{
	Null: "null", Bool: "true or false", Number: "a number", Text: "a text", List: "a list", Object: "an object",
}

func (k Kind) String() string { return kindNames[k] }

const (
	maxDepth   = 32   // of lists and objects in each other
	maxMembers = 1024 // of one object
)

// Value is a value of a document.
type Value struct {
	Kind    Kind
	Text    string   // of a Text; the digits of a Number; true or false of a Bool
	Items   []*Value // of a List
	Members []Member // of an Object, in the order of the text
	Place   Place
}

// Member is one member of an object.
type Member struct {
	Key   string
	Value *Value
}

// Place is the place of a value in a YAML text; lines and columns count from 1. It is zero for
// JSON.
type Place struct{ Line, Column int }

// SyntaxError is a text that is no document, with the place of the error.
type SyntaxError struct {
	Place Place
	Err   error
}

func (e *SyntaxError) Error() string { return e.Err.Error() }

func (e *SyntaxError) Unwrap() error { return e.Err }

func syntax(at Place, format string, args ...any) error {
	return &SyntaxError{at, fmt.Errorf(format, args...)}
}

// Get returns the member with this key, or nil.
func (v *Value) Get(key string) *Value {
	for _, m := range v.Members {
		if m.Key == key {
			return m.Value
		}
	}
	return nil
}

// Find returns the value at a path such as "rules[3].dwell.after", or the last value on the way to
// it that exists.
func (v *Value) Find(path string) *Value {
	for _, step := range strings.FieldsFunc(path, func(r rune) bool { return r == '.' || r == '[' || r == ']' }) {
		next := v.Get(step)
		if v.Kind == List {
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(v.Items) {
				next = v.Items[i]
			}
		}
		if next == nil {
			return v
		}
		v = next
	}
	return v
}

// add adds a member to an object.
func (v *Value) add(key string, member *Value) error {
	if v.Get(key) != nil {
		return syntax(member.Place, "%q is given twice", key)
	}
	if len(v.Members) == maxMembers {
		return syntax(member.Place, "an object of more than %d members", maxMembers)
	}
	v.Members = append(v.Members, Member{key, member})
	return nil
}

// Merge returns v changed by patch, by the rules of RFC 7396 (JSON merge patch): members that are
// null are removed, objects merge, other values replace. Neither argument is changed.
func Merge(v, patch *Value) *Value {
	if patch.Kind != Object {
		return patch
	}
	merged := &Value{Kind: Object, Place: patch.Place}
	if v != nil && v.Kind == Object {
		merged.Members = slices.Clone(v.Members)
	}
	for _, m := range patch.Members {
		merged.patch(m)
	}
	return merged
}

func (v *Value) patch(m Member) {
	i := slices.IndexFunc(v.Members, func(o Member) bool { return o.Key == m.Key })
	switch {
	case m.Value.Kind == Null && i >= 0:
		v.Members = slices.Delete(v.Members, i, i+1)
	case m.Value.Kind == Null:
	case i >= 0:
		v.Members[i].Value = Merge(v.Members[i].Value, m.Value)
	default:
		v.Members = append(v.Members, Member{m.Key, Merge(nil, m.Value)})
	}
}
