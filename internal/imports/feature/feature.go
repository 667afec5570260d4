// Package feature holds what the readers of foreign files give: features that become fences, and
// findings with their places.
package feature

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// Place is where something stands in a file: "line 12", "record 4". The zero value is the whole
// file.
type Place struct {
	Unit   string // "line", "record", "feature" and the like
	Number int    // as the unit is usually counted in the format
}

// MarshalText implements [encoding.TextMarshaler].
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

func (p Place) String() string {
	if p.Unit == "" {
		return ""
	}
	return p.Unit + " " + strconv.Itoa(p.Number)
}

// Feature is a fence as a foreign file describes it.
type Feature struct {
	Set        string          // the set that it belongs to; "" is that of the file
	ID         json.RawMessage // a JSON string or number; nil if it has none
	Properties Properties
	Geometry   Geometry
	Place      Place
}

// Key returns the id as text; "" if there is none.
func (f *Feature) Key() string {
	var text string
	if json.Unmarshal(f.ID, &text) != nil {
		text = string(f.ID)
	}
	return text
}

// Refused returns a finding that the feature gives no fence.
func (f *Feature) Refused(code geojson.Code, format string, args ...any) Finding {
	return Finding{Place: f.Place, Key: f.Key(), Code: code, Reason: fmt.Sprintf(format, args...), Lost: true}
}

// Geometry is the place of a feature. Of several kinds the first that is not empty counts.
type Geometry struct {
	Areas  geometry.MultiPolygon // rings without their closing vertex, see Ring
	Lines  geometry.MultiLine
	Points []geometry.Point

	Radius float64 // metres, of each point; 0 if there is none
	Buffer float64 // metres, on each side of the lines; 0 if there is none
}

// Add adds the parts of another geometry.
func (g *Geometry) Add(o *Geometry) {
	g.Areas = append(g.Areas, o.Areas...)
	g.Lines = append(g.Lines, o.Lines...)
	g.Points = append(g.Points, o.Points...)
	g.Radius = max(g.Radius, o.Radius)
	g.Buffer = max(g.Buffer, o.Buffer)
}

// Empty reports whether the geometry has no place at all.
func (g *Geometry) Empty() bool { return len(g.Areas)+len(g.Lines)+len(g.Points) == 0 }

// MaxVertices bounds the vertices of a feature, as the reader of sets does.
const MaxVertices = 20_000_000

// Ring returns a ring without its closing vertex.
func Ring(points []geometry.Point) geometry.Ring {
	if n := len(points); n > 1 && points[0] == points[n-1] {
		points = points[:n-1]
	}
	return geometry.Ring(points)
}

// The codes of findings that only an import has. The others are those of [geojson.Code].
const (
	CodeNotCarried geojson.Code = "not-carried" // something that a fence cannot say is left out
	CodeNoID       geojson.Code = "no-id"       // the feature lacks the property that gives ids
	CodeMixed      geojson.Code = "mixed"       // a feature has areas and lines or points: the areas alone are kept
	CodeEncoding   geojson.Code = "encoding"    // a text is not in the encoding that the file names
	CodeRule       geojson.Code = "rule"        // what a rule made of a hook needs from its user
)

// Finding is a defect of a file, or something that is not carried over.
type Finding struct {
	File   string          `json:"-"`
	Place  Place           `json:"place,omitzero"`
	Key    string          `json:"fence,omitempty"` // "" if there is none
	Code   geojson.Code    `json:"code"`
	Reason string          `json:"reason"`            // one line of English
	At     *geometry.Point `json:"-"`                 // where on the map, if there is a place
	Lost   bool            `json:"refused,omitempty"` // no fence came of the feature, although it is one
}

// MarshalJSON adds lon and lat.
func (f Finding) MarshalJSON() ([]byte, error) {
	type plain Finding
	out := struct {
		plain
		Lon *float64 `json:"lon,omitempty"`
		Lat *float64 `json:"lat,omitempty"`
	}{plain: plain(f)}
	if f.At != nil {
		out.Lon, out.Lat = &f.At.Lon, &f.At.Lat
	}
	return json.Marshal(out)
}

// String is one line: file, place, key, code and reason.
func (f Finding) String() string {
	var b strings.Builder
	b.WriteString(f.File + ": ")
	if f.Place.Unit != "" {
		b.WriteString(f.Place.String())
		if f.Key != "" {
			fmt.Fprintf(&b, " %q", f.Key)
		}
		b.WriteString(": ")
	}
	if f.Lost {
		b.WriteString("refused: ")
	}
	fmt.Fprintf(&b, "%s: %s", f.Code, f.Reason)
	if f.At != nil {
		fmt.Fprintf(&b, ", at %v,%v", f.At.Lon, f.At.Lat)
	}
	return b.String()
}

// Sink takes what a reader finds, in the order of the file.
type Sink interface {
	// Take takes a feature, and keeps nothing of it. An error ends the reading.
	Take(f *Feature) error
	// Note takes a finding. Its file is filled in by the sink.
	Note(f Finding)
	// Rule takes a rule.
	Rule(r *rule.Rule)
}

// Input is a file to read.
type Input struct {
	Name string // for errors
	Data []byte
	// Companion returns the file beside it with the same name and another extension, such as
	// ".dbf"; nil if there is none.
	Companion func(ext string) ([]byte, error)
}

// Errorf returns an error of the whole file.
func (in *Input) Errorf(format string, args ...any) error {
	return fmt.Errorf("%s: %w", in.Name, fmt.Errorf(format, args...))
}

// Reader reads a file. The error is a defect of all of it, and names the file.
type Reader func(in *Input, out Sink) error

// Refused returns a finding about a feature that gives no fence.
func Refused(at Place, code geojson.Code, format string, args ...any) Finding {
	return Finding{Place: at, Code: code, Reason: fmt.Sprintf(format, args...), Lost: true}
}

// Noted returns a finding that costs nothing but what it names.
func Noted(at Place, code geojson.Code, format string, args ...any) Finding {
	return Finding{Place: at, Code: code, Reason: fmt.Sprintf(format, args...)}
}

// Number reads a finite decimal number.
func Number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("%.40q is not a number", text)
	}
	return f, nil
}
