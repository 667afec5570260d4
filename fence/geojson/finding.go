package geojson

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"paddock/fence/geometry"
)

// Code classifies a finding.
type Code string

// The codes of findings. Those of the first group only tell; the fence is as good as its
// definition in the package comment makes it.
const (
	CodeUnclosedRing      Code = "unclosed-ring"      // the ring is closed by an edge from its last vertex to its first
	CodeRepeatedVertex    Code = "repeated-vertex"    // a vertex equals the one before it
	CodeSpike             Code = "spike"              // the ring goes out and back over the same line
	CodeDroppedRing       Code = "dropped-ring"       // fewer than 3 distinct vertices or no area: the ring is dropped
	CodeDroppedLine       Code = "dropped-line"       // fewer than 2 distinct vertices: the line is dropped
	CodeLongEdge          Code = "long-edge"          // an edge spans over 180 degrees of longitude and stays planar
	CodeDuplicateID       Code = "duplicate-id"       // the key is taken: this fence has a suffix
	CodeInvalidID         Code = "invalid-id"         // an id that is neither string nor number is ignored
	CodeInvalidProperties Code = "invalid-properties" // properties that are no object are ignored
	CodeInvalidSetting    Code = "invalid-setting"    // a property that is a setting has an invalid value: ignored

	// Strict refuses a feature with one of these.
	CodeSelfCrossing Code = "self-crossing" // two edges of a ring cross or overlap
	CodeSelfTouch    Code = "self-touch"    // a ring touches itself at a point
	CodeRingsCross   Code = "rings-cross"   // two rings of a part cross or share an edge
	CodeHoleOutside  Code = "hole-outside"  // a hole is not within its shell
	CodeNestedHoles  Code = "nested-holes"  // a hole is within another hole
	CodePartsOverlap Code = "parts-overlap" // two parts overlap or share an edge

	// No fence comes of a feature with one of these: skipped, as it has neither area nor line, or
	// has expired.
	CodeNoGeometry Code = "no-geometry" // the geometry is null or absent
	CodeNotPolygon Code = "not-polygon" // points
	CodeExpired    Code = "expired"     // the fence has ended: see ReadOptions.Now

	// Refused, as an area would be lost or wrong.
	CodeGeometryCollection Code = "geometry-collection" // use a MultiPolygon
	CodeCRS                Code = "crs"                 // the feature, or its geometry, names another coordinate reference system than WGS84
	CodeOutOfRange         Code = "out-of-range"        // a coordinate is not finite, or beyond 180 or 90 degrees
	CodeInvalidGeometry    Code = "invalid-geometry"    // the geometry has not the shape of its type
	CodeNotFeature         Code = "not-feature"         // the element of features is something else
	CodeNoArea             Code = "no-area"             // no ring is left
	CodeNoLength           Code = "no-length"           // no line is left
	CodeTooLarge           Code = "too-large"           // a limit is exceeded
)

// strict reports whether Strict refuses a feature for the code.
func (c Code) strict() bool {
	switch c {
	case CodeSelfCrossing, CodeSelfTouch, CodeRingsCross, CodeHoleOutside, CodeNestedHoles, CodePartsOverlap:
		return true
	}
	return false
}

// Finding is a defect of the data that was found at load.
type Finding struct {
	File    string // as given to ReadGeoJSON
	Feature int    // index in the file, counting every feature; -1 if the finding is about the whole file
	Key     string // of the fence; "" if there is none
	Code    Code
	Reason  string          // one line of English, with the path of the place in the geometry
	At      *geometry.Point // where, if there is a place
	Fatal   bool            // the feature was refused
}

// String is one line: file, feature, key, code and reason.
func (f Finding) String() string {
	var b strings.Builder
	if f.File != "" {
		b.WriteString(f.File + ": ")
	}
	if f.Feature >= 0 {
		fmt.Fprintf(&b, "feature %d", f.Feature)
		if f.Key != "" {
			fmt.Fprintf(&b, " %q", f.Key)
		}
		b.WriteString(": ")
	}
	if f.Fatal {
		b.WriteString("refused: ")
	}
	fmt.Fprintf(&b, "%s: %s", f.Code, f.Reason)
	if f.At != nil {
		fmt.Fprintf(&b, ", at %v,%v", f.At.Lon, f.At.Lat)
	}
	return b.String()
}

var (
	// ErrNotGeoJSON is wrapped where a document is JSON but nothing that a set can be read from.
	ErrNotGeoJSON = errors.New("not GeoJSON")
	// ErrCRS is wrapped where a document names a coordinate reference system other than WGS84.
	ErrCRS = errors.New("unsupported coordinate reference system")
	// ErrLimit is wrapped where a document as a whole is larger than the limits allow.
	ErrLimit = errors.New("limit exceeded")
)

// SyntaxError says where a document stops being JSON.
type SyntaxError struct {
	File   string // as given to ReadGeoJSON
	Line   int    // from 1
	Column int    // from 1, in bytes
	Offset int64  // from 0, in bytes, of the first byte that is wrong
	Reason string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s (byte %d)", e.File, e.Line, e.Column, e.Reason, e.Offset)
}

// RefusedError says why a single fence was refused.
type RefusedError struct{ Finding Finding }

func (e *RefusedError) Error() string { return "fence " + e.Finding.String() }

func Keyed(findings []Finding, key string) []Finding {
	for i := range findings {
		findings[i].Key = key
	}
	return findings
}

func DuplicateFinding(base, key string) Finding {
	return Finding{
		Feature: -1, Key: key, Code: CodeDuplicateID,
		Reason: fmt.Sprintf("the key %q is taken: this fence is %q", base, key),
	}
}

// UniqueKey gives base, or base with the first suffix above the last one given that makes it
// free.
func UniqueKey(base string, repeats map[string]int, taken func(string) bool) string {
	key := base
	for taken(key) {
		n := max(repeats[base], 1) + 1
		repeats[base] = n
		key = base + "~" + strconv.Itoa(n)
	}
	return key
}
