package fence

import (
	"fmt"
	"math"
	"sync"
)

// Validate tells the defects of a geometry. A Fatal one means that no set takes it. It takes
// O(n log n) steps for n vertices.
func Validate(mp MultiPolygon) []Finding {
	if f, bad := refusal(mp); bad {
		return []Finding{f}
	}
	w := workspaces.Get().(*workspace)
	defer workspaces.Put(w)
	return inspect(mp, nil, w).findings
}

// workspaces are those of callers of Validate; the collector takes those that nobody uses.
var workspaces = sync.Pool{New: func() any { return new(workspace) }}

// refusal tells why no set takes the geometry, if so.
func refusal(mp MultiPolygon) (Finding, bool) {
	for i, part := range mp {
		for j, r := range part {
			for k, p := range r {
				if reason := p.outOfRange(); reason != "" {
					at := p
					return Finding{
						Feature: -1, Code: CodeOutOfRange, Fatal: true, At: &at,
						Reason: fmt.Sprintf("part %d ring %d vertex %d: %s", i, j, k, reason),
					}, true
				}
			}
		}
	}
	if mp.Vertices() == 0 {
		return Finding{Feature: -1, Code: CodeNoArea, Fatal: true, Reason: "no ring"}, true
	}
	return Finding{}, false
}

// outOfRange says what is wrong with the coordinates, "" if nothing.
func (p Point) outOfRange() string {
	switch {
	case math.Abs(p.Lon) <= 180 && math.Abs(p.Lat) <= 90:
		return ""
	case p.Lon-p.Lon != 0 || p.Lat-p.Lat != 0:
		return fmt.Sprintf("%v,%v is not finite", p.Lon, p.Lat)
	case math.Abs(p.Lon) <= 90 && math.Abs(p.Lat) <= 180:
		return fmt.Sprintf("%v,%v is out of range: longitude and latitude swapped?", p.Lon, p.Lat)
	case math.Abs(p.Lon) > 360 || math.Abs(p.Lat) > 360:
		return fmt.Sprintf("%v,%v is out of range: not degrees but feet or metres?", p.Lon, p.Lat)
	}
	return fmt.Sprintf("%v,%v is out of range", p.Lon, p.Lat)
}
