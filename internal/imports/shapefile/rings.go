package shapefile

import (
	"fmt"
	"slices"

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
	inside   geometry.Point
	area     float64 // in square degrees; negative for a hole
	holes    []geometry.Ring
}

// manyRings is how many rings that all go clockwise are taken for shells without a look at what
// lies in what.
const manyRings = 5000

// areas makes polygons of rings. Shells go clockwise and holes counterclockwise, and a hole belongs
// to the smallest shell that it lies in. Not all writers of shapefiles keep to this: if all rings
// go one way, a ring that lies in an odd number of others is a hole. A hole that lies in no shell
// is taken as a shell, with a finding.
func (r *reader) areas(f *feature.Feature, all []geometry.Ring) (geometry.MultiPolygon, error) {
	if len(all) == 1 {
		return geometry.MultiPolygon{{all[0]}}, nil
	}
	var shells, holes []*ring
	for _, vertices := range all {
		one := &ring{vertices: vertices, box: geometry.MultiPolygon{{vertices}}.Bounds(), area: clockwise(vertices)}
		one.inside = one.interior()
		if one.area < 0 {
			holes = append(holes, one)
		} else {
			shells = append(shells, one)
		}
	}
	if len(shells) == 0 || len(holes) == 0 && len(shells) <= manyRings {
		var err error
		if shells, holes, err = r.byDepth(append(shells, holes...)); err != nil {
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

// within reports whether a ring lies in another. They may share vertices and edges, so a point
// inside of the ring decides.
func (r *reader) within(in, outer *ring) (bool, error) {
	a, b := in.box, outer.box
	r.budget--
	if a.MinLon < b.MinLon || a.MinLat < b.MinLat || a.MaxLon > b.MaxLon || a.MaxLat > b.MaxLat || len(in.vertices) == 0 {
		return false, nil
	}
	if r.budget -= len(outer.vertices); r.budget < 0 {
		return false, fmt.Errorf("too many rings lie in one another to tell shells from holes")
	}
	return outer.vertices.Odd(in.inside), nil
}

// interior returns a point inside of the ring: the middle of the widest piece of the parallel
// through its middle.
func (o *ring) interior() geometry.Point {
	lat := o.box.MinLat/2 + o.box.MaxLat/2
	var cuts []float64
	for i, a := range o.vertices {
		b := o.vertices[(i+1)%len(o.vertices)]
		if (a.Lat <= lat) != (b.Lat <= lat) {
			cuts = append(cuts, a.Lon+(lat-a.Lat)/(b.Lat-a.Lat)*(b.Lon-a.Lon))
		}
	}
	slices.Sort(cuts)
	p, width := geometry.Point{Lon: o.box.MinLon, Lat: lat}, -1.0
	for i := 0; i+1 < len(cuts); i += 2 {
		if w := cuts[i+1] - cuts[i]; w > width {
			p.Lon, width = cuts[i]/2+cuts[i+1]/2, w
		}
	}
	return p
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
