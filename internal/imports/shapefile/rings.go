package shapefile

import (
	"fmt"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// pairBudget bounds the edges that are looked at to find the shells of holes, in one file. It is
// spent only by thousands of rings whose boxes lie in one another.
const pairBudget = 500_000_000

// ring is a ring with what is asked of it.
type ring struct {
	vertices geometry.Ring
	box      geometry.Box
	area     float64 // in square degrees; negative for a hole
	holes    []geometry.Ring
}

// areas makes polygons of rings. Shells go clockwise and holes counterclockwise, and a hole belongs
// to the smallest shell that it lies in. Where this is not so, writers of shapefiles differ from
// the specification, and what lies in what decides: if no ring goes clockwise, a ring within an odd
// number of others is a hole. A hole that lies in no shell is taken as a shell, with a finding.
func (r *reader) areas(f *feature.Feature, all []geometry.Ring) (geometry.MultiPolygon, error) {
	if len(all) == 1 {
		return geometry.MultiPolygon{{all[0]}}, nil
	}
	var shells, holes []*ring
	for _, vertices := range all {
		one := &ring{vertices: vertices, box: geometry.MultiPolygon{{vertices}}.Bounds(), area: clockwise(vertices)}
		if one.area < 0 {
			holes = append(holes, one)
		} else {
			shells = append(shells, one)
		}
	}
	if len(shells) == 0 {
		var err error
		if shells, holes, err = r.byDepth(holes); err != nil {
			return nil, err
		}
	}
	for _, h := range holes {
		var in *ring
		for _, s := range shells {
			inside, err := r.within(h, s)
			if err != nil {
				return nil, err
			}
			if inside && (in == nil || abs(s.area) < abs(in.area)) {
				in = s
			}
		}
		if in == nil {
			r.out.Note(feature.Finding{Place: f.Place, Code: geojson.CodeHoleOutside, Reason: "a ring that goes counterclockwise lies in no other: it is taken as a shell"})
			shells = append(shells, h)
			continue
		}
		in.holes = append(in.holes, h.vertices)
	}
	out := make(geometry.MultiPolygon, len(shells))
	for i, s := range shells {
		out[i] = append(geometry.Polygon{s.vertices}, s.holes...)
	}
	return out, nil
}

// byDepth tells shells from holes by the number of rings that each lies in.
func (r *reader) byDepth(all []*ring) (shells, holes []*ring, err error) {
	for _, one := range all {
		depth := 0
		for _, other := range all {
			if other == one {
				continue
			}
			inside, err := r.within(one, other)
			if err != nil {
				return nil, nil, err
			}
			if inside {
				depth++
			}
		}
		if depth%2 == 1 {
			holes = append(holes, one)
		} else {
			shells = append(shells, one)
		}
	}
	return shells, holes, nil
}

// within reports whether a ring lies in another. Rings may touch, so the middles of three edges
// decide.
func (r *reader) within(in, outer *ring) (bool, error) {
	a, b := in.box, outer.box
	if a.MinLon < b.MinLon || a.MinLat < b.MinLat || a.MaxLon > b.MaxLon || a.MaxLat > b.MaxLat || len(in.vertices) == 0 {
		return false, nil
	}
	if r.budget -= 3 * len(outer.vertices); r.budget < 0 {
		return false, fmt.Errorf("too many rings lie in one another to tell shells from holes")
	}
	votes, n := 0, len(in.vertices)
	for k := range 3 {
		i := k * n / 3
		p, q := in.vertices[i], in.vertices[(i+1)%n]
		if outer.vertices.Odd(geometry.Point{Lon: p.Lon/2 + q.Lon/2, Lat: p.Lat/2 + q.Lat/2}) {
			votes++
		}
	}
	return votes >= 2, nil
}

// clockwise returns the area of a ring in square degrees, negative if it goes counterclockwise.
func clockwise(r geometry.Ring) (area float64) {
	for i := range r {
		a, b := r[i], r[(i+1)%len(r)]
		area += (b.Lon - a.Lon) * ((a.Lat - r[0].Lat) + (b.Lat - r[0].Lat)) / 2
	}
	return area
}

func abs(f float64) float64 { return max(f, -f) }
