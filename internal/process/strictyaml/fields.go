package strictyaml

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Fields maps the keys of a mapping to functions that read their values.
type Fields map[string]func(e Entry)

// Read passes each entry of n to its function. Faults call n by the name what.
func (f Fields) Read(n *Node, what string) { f.Take(n.Entries(what)) }

// Take passes each entry to its function. A key without a function is a fault.
func (f Fields) Take(entries []Entry) {
	for _, e := range entries {
		if take, known := f[e.Key]; known {
			take(e)
		} else {
			e.Unknown(slices.Sorted(maps.Keys(f)))
		}
	}
}

// Into returns a function that reads one value with parse.
func Into[T any](field *T, parse func(string) (T, error)) func(Entry) {
	return func(e Entry) {
		text, ok := e.Text(e.Key)
		if !ok {
			return
		}
		v, err := parse(text)
		if err != nil {
			e.Value.Fault("%s: %w", e.Key, err)
			return
		}
		*field = v
	}
}

// ListInto returns a function that reads a list of values with parse.
func ListInto[T any](field *[]T, parse func(string) (T, error)) func(Entry) {
	return func(e Entry) {
		for _, item := range e.Value.Items(e.Key) {
			text, ok := item.Text("a value of " + e.Key)
			if !ok {
				continue
			}
			v, err := parse(text)
			if err != nil {
				item.Fault("%s: %w", e.Key, err)
				continue
			}
			*field = append(*field, v)
		}
	}
}

// NonEmpty reads a text that is not empty.
func NonEmpty(s string) (string, error) {
	if s == "" {
		return "", errors.New("it is empty")
	}
	return s, nil
}

// Either returns a reader of two words, of which it reports the second.
func Either(no, yes string) func(string) (bool, error) {
	return func(s string) (bool, error) {
		if s != no && s != yes {
			return false, fmt.Errorf("%q is neither %s nor %s", s, no, yes)
		}
		return s == yes, nil
	}
}
