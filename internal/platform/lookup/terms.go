package lookup

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/platform/lookup/pointquery"
)

// Terms are the options of a request.
type Terms struct {
	Set        string  // "": all sets
	Generation *uint64 // required generation of the set, which then has to be named; nil: any
	Properties string  // PropertiesAll or PropertiesNone; "": all
}

// The choices of the properties of fences in answers.
const (
	PropertiesAll  = "all"
	PropertiesNone = "none"
)

// CheckProperties refuses an unknown choice.
func CheckProperties(choice string) error {
	if choice != "" && choice != PropertiesAll && choice != PropertiesNone {
		return fail(Invalid, "properties %.32q: use all or none", choice)
	}
	return nil
}

// Open makes l a request with these terms. It reuses the memory of earlier requests.
func (l *Lookup) Open(c *fence.Catalog, t Terms) error {
	if err := CheckProperties(t.Properties); err != nil {
		return err
	}
	if err := l.Begin(c, t.Set); err != nil {
		return err
	}
	l.bare = t.Properties == PropertiesNone
	if t.Generation == nil {
		return nil
	}
	return l.at(*t.Generation)
}

// Request answers a body from a door without HTTP: JSON, or the compact form, which its first byte
// identifies.
func (l *Lookup) Request(c *fence.Catalog, door Terms, body []byte) error {
	if len(body) == 0 || body[0] != CompactVersion {
		return l.JSON(c, door, body)
	}
	q, err := parseCompact(body)
	if err != nil {
		return err
	}
	if err := l.openBoth(c, door, q.terms()); err != nil {
		return err
	}
	return l.compact(&q)
}

// JSON answers a body that is one JSON value, as Document does. An object may have terms, the
// members set, generation and properties, in addition to those of the door.
func (l *Lookup) JSON(c *fence.Catalog, door Terms, body []byte) error {
	if l.scratch == nil {
		l.scratch = make([]byte, 0, 256)
	}
	if q, ok := pointquery.Read(body, l.scratch); ok {
		return l.one(c, door, &q)
	}
	return l.any(c, door, body)
}

// any is JSON for every body, with encoding/json.
func (l *Lookup) any(c *fence.Catalog, door Terms, body []byte) error {
	t, err := termsOf(body)
	if err != nil {
		return err
	}
	if err := l.openBoth(c, door, t); err != nil {
		return err
	}
	return l.Document(body)
}

// one is JSON for a body that was read in one pass.
//
// hot: BenchmarkOnePoint, TestOnePointDoesNotAllocate
func (l *Lookup) one(c *fence.Catalog, door Terms, q *pointquery.Search) error {
	t := Terms{Set: string(q.Set), Properties: choiceOf(q.Properties)}
	if q.Generations {
		l.generation = q.Generation
		t.Generation = &l.generation
	}
	if err := l.openBoth(c, door, t); err != nil {
		return err
	}
	return l.line(geometry.Point{Lon: q.Lon, Lat: q.Lat})
}

// line answers a body of one point with one line.
func (l *Lookup) line(p geometry.Point) error {
	if err := Check(p); err != nil {
		return fail(Invalid, "body: %v", err)
	}
	if err := l.Point(p); err != nil {
		return err
	}
	l.text("\n")
	return nil
}

// choiceOf returns a choice of properties as a string. It does not allocate for a valid choice.
func choiceOf(text []byte) string {
	for _, choice := range [...]string{"", PropertiesAll, PropertiesNone} {
		if string(text) == choice {
			return choice
		}
	}
	return string(text)
}

// openBoth opens with the terms of the door and, where it has none, of the body.
func (l *Lookup) openBoth(c *fence.Catalog, door, body Terms) error {
	if door.Set != "" && body.Set != "" && door.Set != body.Set {
		return fail(Invalid, "set: %.64q in the body, %.64q outside of it", body.Set, door.Set)
	}
	return l.Open(c, Terms{
		Set: cmp.Or(door.Set, body.Set), Properties: cmp.Or(door.Properties, body.Properties),
		Generation: cmp.Or(door.Generation, body.Generation),
	})
}

// termsOf reads the terms of a body. Document reports other errors in it.
func termsOf(body []byte) (t Terms, err error) {
	if body = bytes.TrimLeft(withoutMark(body), " \t\r\n"); len(body) == 0 || body[0] != '{' {
		return t, nil
	}
	var v struct {
		Set        *string         `json:"set"`
		Generation *uint64         `json:"generation"`
		Properties json.RawMessage `json:"properties"` // of a Feature, an object
	}
	err = json.Unmarshal(body, &v)
	if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		if e.Field == "set" {
			return t, fail(Invalid, "set: must be a string")
		}
		return t, fail(Invalid, "generation: must be a whole number")
	}
	if err != nil {
		return t, nil
	}
	if v.Set != nil {
		if t.Set = *v.Set; t.Set == "" {
			return t, fail(Invalid, "set: empty")
		}
	}
	t.Generation = v.Generation
	if len(v.Properties) > 0 && v.Properties[0] == '"' {
		_ = json.Unmarshal(v.Properties, &t.Properties) // a string always decodes
	}
	return t, nil
}
