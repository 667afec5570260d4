package fence

import (
	"fmt"
	"strings"
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
	CodeLongEdge          Code = "long-edge"          // an edge spans over 180 degrees of longitude and stays planar
	CodeDuplicateID       Code = "duplicate-id"       // the key is taken: this fence has a suffix
	CodeInvalidID         Code = "invalid-id"         // an id that is neither string nor number is ignored
	CodeInvalidProperties Code = "invalid-properties" // properties that are no object are ignored

	// Strict refuses a feature with one of these.
	CodeSelfCrossing Code = "self-crossing" // two edges of a ring cross or overlap
	CodeSelfTouch    Code = "self-touch"    // a ring touches itself at a point
	CodeRingsCross   Code = "rings-cross"   // two rings of a part cross or share an edge
	CodeHoleOutside  Code = "hole-outside"  // a hole is not within its shell
	CodeNestedHoles  Code = "nested-holes"  // a hole is within another hole
	CodePartsOverlap Code = "parts-overlap" // two parts overlap or share an edge

	// No fence comes of a feature with one of these: skipped, as it has no area.
	CodeNoGeometry Code = "no-geometry" // the geometry is null or absent
	CodeNotPolygon Code = "not-polygon" // points and lines

	// Refused, as an area would be lost or wrong.
	CodeGeometryCollection Code = "geometry-collection" // use a MultiPolygon
	CodeCRS                Code = "crs"                 // the feature has a coordinate reference system of its own other than WGS84
	CodeOutOfRange         Code = "out-of-range"        // a coordinate is not finite, or beyond 180 or 90 degrees
	CodeInvalidGeometry    Code = "invalid-geometry"    // the geometry has not the shape of its type
	CodeNotFeature         Code = "not-feature"         // the element of features is something else
	CodeNoArea             Code = "no-area"             // no ring is left
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
	Reason  string // one line of English, with the path of the place in the geometry
	At      *Point // where, if there is a place
	Fatal   bool   // the feature was refused
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
