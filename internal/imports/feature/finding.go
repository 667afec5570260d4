package feature

import (
	"encoding/json"
	"fmt"
	"strings"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

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

// Refused returns a finding about a feature that gives no fence.
func Refused(at Place, code geojson.Code, format string, args ...any) Finding {
	return Finding{Place: at, Code: code, Reason: fmt.Sprintf(format, args...), Lost: true}
}

// Noted returns a finding that costs nothing but what it names.
func Noted(at Place, code geojson.Code, format string, args ...any) Finding {
	return Finding{Place: at, Code: code, Reason: fmt.Sprintf(format, args...)}
}
