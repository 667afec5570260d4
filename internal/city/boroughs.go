package city

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// boroughMargin is by how much the area of a borough is larger than its districts' hull.
const boroughMargin = 1.01

// Boroughs returns an area for each borough, by which districts can be grouped: the convex hull
// of the borough's districts, enlarged so that none of them touches its border. Areas overlap.
func (c *City) Boroughs() []fence.Fence {
	points := map[string][]vec{}
	for _, f := range c.sets[0].Fences {
		var p districtProperties
		_ = json.Unmarshal(f.Properties, &p) // made by newFence
		for _, part := range f.Geometry {
			for _, corner := range part[0] {
				points[p.Borough] = append(points[p.Borough], plane(corner))
			}
		}
	}
	var areas []fence.Fence
	for i, b := range boroughs {
		if len(points[b.name]) == 0 {
			continue // a small city has no district there
		}
		ring := hull(points[b.name])
		for middle, k := centroid(ring), 0; k < len(ring); k++ {
			ring[k] = mix(middle, ring[k], boroughMargin)
		}
		properties := struct {
			Name string `json:"name"`
		}{b.name}
		areas = append(areas, newFence(fmt.Sprintf("b%02d", i+1), properties, geometry.MultiPolygon{{toRing(ring)}}))
	}
	return areas
}

// hull returns the convex hull of points, counter-clockwise. It sorts them.
func hull(points []vec) []vec {
	slices.SortFunc(points, func(a, b vec) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) })
	var ring []vec
	for range 2 { // the lower side from west to east, then the upper one back
		least := len(ring)
		for _, p := range points {
			for n := len(ring); n >= least+2 && ring[n-1].sub(ring[n-2]).cross(p.sub(ring[n-2])) <= 0; n = len(ring) {
				ring = ring[:n-1]
			}
			ring = append(ring, p)
		}
		ring = ring[:len(ring)-1] // the other side begins with it
		slices.Reverse(points)
	}
	return ring
}
