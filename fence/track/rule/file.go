package rule

import (
	"bytes"
	"errors"
	"fmt"

	"paddock/fence/track/rule/internal/document"
)

// Limits of a file of rules, in bytes. To read YAML takes a hundred times its size in memory, so
// long files are JSON.
const (
	MaxYAML = 4 << 20 // about 25,000 rules
	MaxJSON = 64 << 20
)

// ParseFile reads a file of rules, in YAML, or in JSON if it begins with a brace:
//
//	rules:
//	  - id: school-speed
//	    set: schools
//	    detect: [condition]
//	    when: speed_kmh > fence.maxspeed
//
// A rule has the members of its JSON. The error is *Faults with the place of each fault in the
// file, which it calls by this name.
func ParseFile(name string, text []byte) ([]*Rule, error) {
	faults := &Faults{}
	doc, err := parseDocument(text)
	if err != nil {
		faults.add(&Fault{Place: name, Err: err})
		if syntax, ok := errors.AsType[*document.SyntaxError](err); ok {
			faults.List[0].Place = placeIn(name, syntax.Place)
		}
		return nil, faults
	}
	if doc == nil {
		return nil, nil
	}
	list := readList(reader{doc, "", faults})
	for _, f := range faults.List {
		f.Place = placeIn(name, doc.Find(f.Field).Place)
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	return list, nil
}

func parseDocument(text []byte) (*document.Value, error) {
	isJSON := bytes.HasPrefix(bytes.TrimSpace(text), []byte("{"))
	switch {
	case isJSON && len(text) > MaxJSON:
		return nil, fmt.Errorf("%d bytes, the limit is %d", len(text), MaxJSON)
	case isJSON:
		return document.ParseJSON(text)
	case len(text) > MaxYAML:
		return nil, fmt.Errorf("%d bytes, the limit of YAML is %d: write the rules as JSON, whose limit is %d", len(text), MaxYAML, MaxJSON)
	}
	return document.ParseYAML(text)
}

func placeIn(name string, at document.Place) string {
	if at.Line == 0 {
		return name
	}
	return fmt.Sprintf("%s:%d:%d", name, at.Line, at.Column)
}

// readList reads the rules of a file, of which each id stands once.
func readList(doc reader) (rules []*Rule) {
	first := map[string]string{}
	doc.fields(map[string]func(reader){"rules": func(list reader) {
		list.items(MaxRules, func(item reader) {
			r := decodeInto(item)
			if r == nil {
				return
			}
			if other, taken := first[r.ID]; taken {
				item.faults.addf(join(item.path, "id"), "%s is the id of %s too", r.ID, other)
				return
			}
			first[r.ID] = item.path
			rules = append(rules, r)
		})
	}})
	return rules
}
