// Package feature holds what the readers of foreign files give: features that become fences, and
// findings with their places.
package feature

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
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

// Number reads a finite decimal number.
func Number(text string) (float64, error) {
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return 0, fmt.Errorf("%.40q is not a number", text)
	}
	return f, nil
}
