package fence

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Collection is what a document holds.
type Collection struct {
	Fences   []Fence
	Findings []Finding
	Skipped  int // features that gave no fence
}

// ReadOptions are the settings of a read. The zero value is what most want.
type ReadOptions struct {
	IDProperty string // property that gives the key of a Feature without id; "" is none
	Strict     bool   // refuse what RFC 7946 calls invalid: see Code
	Limits     Limits
}

// Limits bound what a document may ask for. Zeros are the defaults.
type Limits struct {
	FeatureBytes int // of one feature; 0 is 64 MiB. A larger one is refused, the others are read.
	Vertices     int // of the whole document; 0 is 50 million
	Findings     int // kept; 0 is 10,000. The others are counted.
}

// ReadGeoJSON reads a FeatureCollection, a Feature, a Polygon or a MultiPolygon.
func ReadGeoJSON(r io.Reader, file string, o ReadOptions) (*Collection, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	var doc struct {
		Type     string
		Features []json.RawMessage
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, &SyntaxError{File: file, Line: 1, Column: 1, Reason: err.Error()}
	}
	if doc.Type == "Feature" {
		doc.Features = []json.RawMessage{data}
	}
	c := &Collection{}
	for i, d := range doc.Features {
		f, fs, err := ParseFeature(d, o)
		if e, ok := errors.AsType[*RefusedError](err); ok {
			fs = append(fs, e.Finding)
			c.Skipped++
		} else if err != nil {
			return nil, err
		}
		if f.Key == "" {
			f.Key = strconv.Itoa(i)
		}
		for _, fd := range fs {
			fd.File, fd.Feature = file, i
			c.Findings = append(c.Findings, fd)
		}
		if err == nil {
			c.Fences = append(c.Fences, f)
		}
	}
	return c, nil
}

// ParseFeature reads one Feature with a Polygon or MultiPolygon. Its key is the id, else the
// id property, else empty. The error is a *SyntaxError or a *RefusedError.
func ParseFeature(data []byte, o ReadOptions) (Fence, []Finding, error) {
	var doc struct {
		Type       string
		ID         json.RawMessage
		Properties json.RawMessage
		Geometry   *struct {
			Type        string
			Coordinates json.RawMessage
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		return Fence{}, nil, &SyntaxError{Line: 1, Column: 1, Reason: err.Error()}
	}
	refuse := func(c Code, format string, args ...any) (Fence, []Finding, error) {
		return Fence{}, nil, &RefusedError{Finding{Feature: -1, Code: c, Reason: fmt.Sprintf(format, args...), Fatal: true}}
	}
	if doc.Geometry == nil {
		return refuse(CodeNoGeometry, "no geometry")
	}
	var parts [][][][]float64
	switch doc.Geometry.Type {
	case "Polygon":
		parts = make([][][][]float64, 1)
		if err := json.Unmarshal(doc.Geometry.Coordinates, &parts[0]); err != nil {
			return refuse(CodeInvalidGeometry, "%v", err)
		}
	case "MultiPolygon":
		if err := json.Unmarshal(doc.Geometry.Coordinates, &parts); err != nil {
			return refuse(CodeInvalidGeometry, "%v", err)
		}
	default:
		return refuse(CodeNotPolygon, "%s", doc.Geometry.Type)
	}
	f := Fence{ID: doc.ID}
	if string(doc.Properties) != "null" {
		f.Properties = doc.Properties
	}
	for _, part := range parts {
		var pg Polygon
		for _, ring := range part {
			var r Ring
			for _, c := range ring {
				if len(c) < 2 {
					return refuse(CodeInvalidGeometry, "fewer than two coordinates")
				}
				r = append(r, Point{c[0], c[1]})
			}
			if n := len(r); n > 1 && r[0] == r[n-1] {
				r = r[:n-1]
			}
			pg = append(pg, r)
		}
		f.Geometry = append(f.Geometry, pg)
	}
	f.Key = f.givenKey(o.IDProperty)
	fs := Validate(f.Geometry)
	for _, fd := range fs {
		if fd.Fatal {
			return Fence{}, nil, &RefusedError{fd}
		}
	}
	return f, fs, nil
}

// givenKey is the id as text, else the id property as text, else "".
func (f *Fence) givenKey(property string) string {
	if k := keyText(f.ID); k != "" || property == "" {
		return k
	}
	var props map[string]json.RawMessage
	if json.Unmarshal(f.Properties, &props) != nil {
		return ""
	}
	return keyText(props[property])
}

// keyText is the text of a JSON string or number, "" for other values.
func keyText(v json.RawMessage) string {
	if len(v) == 0 {
		return ""
	}
	if v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) != nil {
			return ""
		}
		return s
	}
	if v[0] == '-' || (v[0] >= '0' && v[0] <= '9') {
		return string(v)
	}
	return ""
}
