// Package jsonfile reads fences from JSON: GeoJSON (RFC 7946) with the additions of Azure Maps and
// TomTom, and the answers of Amazon Location Service and Traccar.
package jsonfile

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
)

// Kind is a kind of document.
type Kind string

// The kinds of documents.
const (
	GeoJSON Kind = "GeoJSON"
	TomTom  Kind = "TomTom"
	Amazon  Kind = "Amazon Location"
	Traccar Kind = "Traccar"
)

// KindOf returns the kind of a document by the members of the object that it is, or that its first
// element is; "" for one of no kind.
func KindOf(data []byte) (kind Kind) {
	if text := bytes.TrimLeft(data, " \t\r\n"); len(text) == 0 || text[0] != '{' && text[0] != '[' {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(data))
	first, err := d.Token()
	list := first == json.Delim('[')
	if list && err == nil {
		first, err = d.Token()
	}
	if err != nil || first != json.Delim('{') {
		return ""
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return kind
		}
		switch name {
		case "Entries", "GeofenceId":
			return Amazon
		case "area":
			return Traccar
		case "fences":
			return TomTom
		case "features":
			return GeoJSON
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return kind
		}
		var shape struct {
			Shape string `json:"shapeType"`
		}
		switch {
		case name == "geometry" && (list || json.Unmarshal(value, &shape) == nil && shape.Shape != ""):
			return TomTom
		case name == "type", name == "circle":
			kind = GeoJSON
		}
	}
	return kind
}

// Is returns a test for documents of a kind.
func Is(kind Kind) func(data []byte) bool {
	return func(data []byte) bool { return KindOf(data) == kind }
}

// elements calls visit for each element of an array, or else for each of the values that stand one
// behind the other, as in lines of JSON.
func elements(data []byte, visit func(n int, element json.RawMessage) error) error {
	d := json.NewDecoder(bytes.NewReader(data))
	text := bytes.TrimLeft(data, " \t\r\n")
	list := len(text) > 0 && text[0] == '['
	if list {
		_, _ = d.Token() // it is there
	}
	for n := 0; !list || d.More(); n++ {
		var element json.RawMessage
		err := d.Decode(&element)
		if errors.Is(err, io.EOF) && !list && n > 0 {
			return nil
		}
		if err != nil {
			return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
		}
		if err := visit(n, element); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil { // ]
		return fmt.Errorf("byte %d: %w", d.InputOffset(), err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("byte %d: there is more behind the array", d.InputOffset())
	}
	return nil
}

// entries makes a feature of each element, see entry. It returns their number.
func entries(data []byte, from int, out feature.Sink, read func(f *feature.Feature, element json.RawMessage) error) (n int, err error) {
	err = elements(data, func(i int, element json.RawMessage) error {
		n++
		return entry(from+i, element, out, read)
	})
	return n, err
}

// entry has read fill in a feature, and gives it to the sink. An error of read refuses the feature.
func entry(n int, element json.RawMessage, out feature.Sink, read func(f *feature.Feature, element json.RawMessage) error) error {
	f := &feature.Feature{Place: feature.Place{Unit: "feature", Number: n}}
	if err := read(f, element); err != nil {
		out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", err))
		return nil
	}
	return out.Take(f)
}

// identifier returns an id that is a text or a number; nil otherwise.
func identifier(id json.RawMessage) json.RawMessage {
	if len(id) == 0 || id[0] != '"' && id[0] != '-' && (id[0] < '0' || id[0] > '9') {
		return nil
	}
	return id
}
