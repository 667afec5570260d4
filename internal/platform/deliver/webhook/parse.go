package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"paddock/internal/platform/events"
	"paddock/internal/process/spelling"
	"paddock/internal/process/strictyaml"
)

// maxDocument bounds the JSON of an endpoint, in bytes.
const maxDocument = 256 << 10

// Parse reads the JSON of an endpoint, whose id may be left out of it. The error is Faults if it is
// a JSON object.
func Parse(text []byte, id string) (*Endpoint, error) {
	if len(text) > maxDocument {
		return nil, fmt.Errorf("a webhook of %d bytes, the limit is %d", len(text), maxDocument)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil || members == nil {
		return nil, errors.New("not a JSON object")
	}
	e := &Endpoint{ID: id, Enabled: true}
	var faults Faults
	fields := e.fields()
	for name, value := range members {
		to, known := fields[name]
		if !known {
			faults.add(name, fmt.Errorf("there is no such field; %s", spelling.Advice(name, slices.Sorted(maps.Keys(fields)))))
		} else if err := json.Unmarshal(value, to); err != nil {
			faults.add(name, wrongKind(to))
		}
	}
	if err := faults.err(); err != nil {
		return nil, err
	}
	e.Check(faults.add)
	if id != "" && e.ID != id {
		faults.add("id", fmt.Errorf("%.64q is not the id of the request, %.64q", e.ID, id))
	}
	return e, faults.err()
}

// fields returns the members of an endpoint by name.
func (e *Endpoint) fields() map[string]any {
	fields := map[string]any{
		"id": &e.ID, "url": &e.URL, "objects": &e.Objects, "format": &e.Format, "max_batch": &e.MaxBatch,
		"headers": &e.Headers, "secrets": &e.Secrets, "enabled": &e.Enabled,
	}
	for name, list := range e.Lists() {
		fields[name] = list
	}
	return fields
}

func wrongKind(field any) error {
	switch field.(type) {
	case *string:
		return errors.New("want a text")
	case *bool:
		return errors.New("want true or false")
	case *int:
		return errors.New("want a whole number")
	}
	if strings.HasPrefix(fmt.Sprintf("%T", field), "*map") {
		return errors.New("want an object of texts")
	}
	return errors.New("want a list of texts")
}

// JSON returns the shown form of the endpoint.
func (e *Endpoint) JSON() []byte {
	text, _ := events.PlainJSON(e.Shown()) // texts always encode
	return text
}

// Patch returns the endpoint changed by a JSON merge patch (RFC 7396) of its shown form.
func (e *Endpoint) Patch(patch []byte) (*Endpoint, error) {
	var change map[string]any
	if err := decode(patch, &change); err != nil || change == nil {
		return nil, errors.New("a patch is a JSON object")
	}
	var members map[string]any
	if err := decode(e.JSON(), &members); err != nil {
		return nil, err
	}
	text, err := json.Marshal(merge(members, change))
	if err != nil {
		return nil, err
	}
	return Parse(text, e.ID)
}

// decode reads JSON, with numbers as they are written.
func decode(text []byte, v any) error {
	if len(text) > maxDocument {
		return fmt.Errorf("%d bytes, the limit is %d", len(text), maxDocument)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// merge applies a merge patch to an object.
func merge(to, patch map[string]any) map[string]any {
	if to == nil {
		to = map[string]any{}
	}
	for name, value := range patch {
		inner, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(to, name)
		case isObject:
			old, _ := to[name].(map[string]any)
			to[name] = merge(old, inner)
		default:
			to[name] = value
		}
	}
	return to
}

// Read reads an endpoint of a configuration file. Faults are those of the file.
func Read(n *strictyaml.Node) *Endpoint {
	e := &Endpoint{Enabled: true}
	at := map[string]*strictyaml.Node{}
	fields := e.yamlFields()
	for name, read := range fields {
		fields[name] = func(entry strictyaml.Entry) {
			at[name] = entry.Value
			read(entry)
		}
	}
	fields.Read(n, "a webhook")
	e.Check(func(field string, err error) {
		name, _, _ := strings.Cut(strings.ReplaceAll(field, "[", "."), ".")
		node := n
		if found := at[name]; found != nil {
			node = found
		}
		node.Fault("%s: %w", field, err)
	})
	return e
}
