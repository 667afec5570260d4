// Package kml reads KML 2.2 and 2.3 (OGC 12-007): the placemarks of a document.
package kml

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"strings"

	"paddock/fence/geojson"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/xmlread"
)

// reader is one read of a document.
type reader struct {
	*xmlread.Reader
	out     feature.Sink
	types   map[string]string // of fields of schemas, by name of the schema and of the field
	skipped map[string]bool   // elements that a finding names already
}

// Read reads a document. A Placemark with areas, lines or points is a feature with the id of the
// Placemark, its name and description, and the values of its ExtendedData as properties. A value is
// a number or a truth value if its Schema says so. Altitudes and styles are left out, and links are
// not followed.
func Read(in *feature.Input, out feature.Sink) error {
	r := &reader{Reader: xmlread.New(in.Data), out: out, types: map[string]string{}, skipped: map[string]bool{}}
	root, err := r.Root()
	switch {
	case err != nil:
	case root.Name.Local != "kml":
		err = fmt.Errorf("the root element is %s, not kml", root.Name.Local)
	default:
		err = r.Children(r.container)
	}
	if err != nil {
		return in.Errorf("%w", err)
	}
	return nil
}

// container reads an element of a Document or a Folder.
func (r *reader) container(e xml.StartElement) error {
	switch e.Name.Local {
	case "Document", "Folder", "Create", "Update":
		return r.Children(r.container)
	case "Schema":
		return r.schema(&e)
	case "Placemark":
		return r.placemark(&e)
	case "NetworkLink", "GroundOverlay", "ScreenOverlay", "PhotoOverlay", "Tour":
		if kind := e.Name.Local; !r.skipped[kind] {
			r.skipped[kind] = true
			r.out.Note(feature.Noted(r.Line(), feature.CodeNotCarried, "a %s is not read", kind))
		}
	}
	return r.Skip()
}

// schema keeps the types of the fields of a Schema, which stands before its data.
func (r *reader) schema(e *xml.StartElement) error {
	id := xmlread.Attribute(e, "id")
	return r.Children(func(field xml.StartElement) error {
		if field.Name.Local == "SimpleField" {
			r.types[id+"\x00"+xmlread.Attribute(&field, "name")] = strings.TrimPrefix(xmlread.Attribute(&field, "type"), "xsd:")
		}
		return r.Skip()
	})
}

// placemark reads a Placemark and gives its feature to the sink.
func (r *reader) placemark(e *xml.StartElement) error {
	f := &feature.Feature{Place: r.Line()}
	if id := xmlread.Attribute(e, "id"); id != "" {
		f.ID = feature.Text(id)
	}
	var bad error
	err := r.Children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "name", "description", "address", "phoneNumber":
			text, err := r.Text()
			if text != "" {
				f.Properties.Text(e.Name.Local, text)
			}
			return err
		case "ExtendedData":
			return r.extended(&f.Properties)
		}
		return r.geometry(&e, &f.Geometry, &bad)
	})
	if err != nil {
		return err
	}
	if bad != nil {
		r.out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", bad))
		return nil
	}
	return r.out.Take(f)
}

// extended reads an ExtendedData element.
func (r *reader) extended(p *feature.Properties) error {
	return r.Children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "Data":
			name := xmlread.Attribute(&e, "name")
			return r.Children(func(e xml.StartElement) error {
				if e.Name.Local != "value" {
					return r.Skip()
				}
				text, err := r.Text()
				p.Text(name, text)
				return err
			})
		case "SchemaData":
			schema := strings.TrimPrefix(xmlread.Attribute(&e, "schemaUrl"), "#")
			return r.Children(func(e xml.StartElement) error {
				if e.Name.Local != "SimpleData" {
					return r.Skip()
				}
				name := xmlread.Attribute(&e, "name")
				text, err := r.Text()
				p.Set(name, typed(text, r.types[schema+"\x00"+name]))
				return err
			})
		}
		return r.Skip()
	})
}

// typed returns a value of a field of a type as JSON.
func typed(text, kind string) json.RawMessage {
	switch kind {
	case "int", "uint", "short", "ushort", "float", "double":
		return feature.Typed(text)
	case "bool":
		switch strings.ToLower(text) {
		case "1", "true":
			return json.RawMessage("true")
		case "0", "false":
			return json.RawMessage("false")
		}
	}
	return feature.Text(text)
}
