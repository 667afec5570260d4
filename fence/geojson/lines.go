package geojson

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"paddock/fence/geometry"
)

// BufferProperty is the property of a line, a number of metres, that makes it a corridor.
const BufferProperty = "paddock:buffer"

// lines reads a line, and makes a corridor of it if it has a buffer.
func (fr *featureReader) lines(kind string, feature *rawFeature, key string) (area, error) {
	var ml geometry.MultiLine
	_, err := fr.positions(feature.area.coordinates, key, func(cr *coordinateReader) (err error) {
		if kind == "MultiLineString" {
			ml, err = cr.multiLine()
			return err
		}
		l, err := cr.line()
		ml = geometry.MultiLine{l}
		return err
	})
	if err != nil {
		return area{}, err
	}
	if fr.unwraps() {
		ml = geometry.UnwrapLines(ml)
	}
	a := inspectLines(ml)
	if len(a.lines) == 0 {
		return a, nil
	}
	a.parts, err = corridor(feature.properties, a.lines, fr.left.spend)
	switch {
	case errors.Is(err, geometry.ErrVertices):
		return area{}, errVertices
	case err != nil:
		return area{}, refused(key, CodeInvalidGeometry, err.Error(), nil)
	}
	return a, nil
}

// inspectLines drops lines without a length, and tells the defects of the others.
func inspectLines(ml geometry.MultiLine) (a area) {
	note := func(c Code, i int, at *geometry.Point, format string, args ...any) {
		where := ""
		if len(ml) > 1 {
			where = fmt.Sprintf("line %d: ", i)
		}
		a.findings = append(a.findings, Finding{Feature: -1, Code: c, Reason: where + fmt.Sprintf(format, args...), At: at})
	}
	for i, l := range ml {
		repeats, repeat, long := defectsOf(l)
		switch {
		case len(l) < 2 || repeats == len(l)-1:
			note(CodeDroppedLine, i, first(geometry.Ring(l)), "%d vertices without a length: the line is dropped", len(l))
			continue
		case repeats > 0:
			note(CodeRepeatedVertex, i, repeat, "%d repeated", repeats)
		}
		if long != nil {
			note(CodeLongEdge, i, long, "an edge spans over 180 degrees of longitude; it does not cross the antimeridian")
		}
		a.lines = append(a.lines, l)
	}
	if len(a.lines) == 0 {
		a.findings = append(a.findings, Finding{Feature: -1, Code: CodeNoLength, Fatal: true, Reason: "no line with a length is left"})
	}
	return a
}

// defectsOf counts repeated vertices, and tells the first one and the first long edge.
func defectsOf(l geometry.Line) (repeats int, repeat, long *geometry.Point) {
	for i := 1; i < len(l); i++ {
		a, b := l[i-1], l[i]
		if a == b {
			if repeats++; repeat == nil {
				repeat = &geometry.Point{Lon: b.Lon, Lat: b.Lat}
			}
		}
		if math.Abs(b.Lon-a.Lon) > 180 && long == nil {
			long = &geometry.Point{Lon: a.Lon, Lat: a.Lat}
		}
	}
	return repeats, repeat, long
}

// corridor makes the area of lines with a buffer; none without one. spend is as in
// geometry.Corridor.
func corridor(properties []byte, ml geometry.MultiLine, spend func(int) bool) (geometry.MultiPolygon, error) {
	metres, ok, err := bufferOf(properties)
	if err != nil || !ok {
		return nil, err
	}
	return geometry.Corridor(ml, metres, spend)
}

// bufferOf reads BufferProperty. One that is no number is an error, or the corridor would be a line
// that holds nothing.
func bufferOf(properties []byte) (metres float64, ok bool, err error) {
	if len(properties) == 0 || properties[0] != '{' {
		return 0, false, nil
	}
	if !json.Valid(properties) { // a Go program or an image may give anything
		return 0, false, fmt.Errorf("%w: the properties are not JSON", geometry.ErrShape)
	}
	var written []byte
	for k, v := range members(properties) {
		if string(k) == BufferProperty {
			written = v
		}
	}
	if written == nil || string(written) == "null" {
		return 0, false, nil
	}
	if json.Unmarshal(written, &metres) != nil {
		return 0, false, fmt.Errorf("%w: the property %s is %s, not a number of metres", geometry.ErrShape, BufferProperty, shape(written))
	}
	return metres, true, nil
}

// refusedLines tells why no set takes the lines, if so.
func refusedLines(ml geometry.MultiLine) (Finding, bool) {
	for i, l := range ml {
		if len(l) < 2 {
			return Finding{Feature: -1, Code: CodeNoLength, Fatal: true, Reason: fmt.Sprintf("line %d has %d vertices", i, len(l))}, true
		}
		for k, p := range l {
			if reason := p.OutOfRange(); reason != "" {
				return Finding{
					Feature: -1, Code: CodeOutOfRange, Fatal: true, At: &geometry.Point{Lon: p.Lon, Lat: p.Lat},
					Reason: fmt.Sprintf("line %d vertex %d: %s", i, k, reason),
				}, true
			}
		}
	}
	return Finding{}, false
}

// checkLines makes the area of a corridor that has none, refuses lines that no set may hold, and
// otherwise tells their defects.
func (f *Fence) checkLines() []Finding {
	if fd, bad := refusedLines(f.Lines); bad {
		return []Finding{fd}
	}
	if len(f.Geometry) == 0 {
		var err error
		if f.Geometry, err = corridor(f.Properties, f.Lines, Limits{}.WithDefaults().allowance().spend); err != nil {
			return []Finding{unfit(err.Error())}
		}
	}
	if fd, bad := f.Refusal(); bad {
		return []Finding{fd}
	}
	return inspectLines(f.Lines).findings
}
