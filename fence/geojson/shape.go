package geojson

import (
	"encoding/json"
	"fmt"

	"paddock/fence/geometry"
)

// circleMember is the member "circle" of a Feature that has no polygon.
type circleMember struct {
	Lon     *float64 `json:"lon"`
	Lat     *float64 `json:"lat"`
	RadiusM *float64 `json:"radius_m"`
}

// shape gives the area of a Feature that is written as a circle or a box instead of a polygon:
// in a member "circle" with lon, lat and radius_m; as a Point with a number as its property
// "radius", in metres; or, without any geometry, in the "bbox" of RFC 7946. ok is false if
// there is none of these. kind is that of the geometry, "" if it has none.
func (raw *rawFeature) shape(kind string, g *rawGeometry) (area geometry.MultiPolygon, ok bool, err error) {
	switch {
	case kind == "Polygon" || kind == "MultiPolygon":
		return nil, false, nil
	case raw.circle != nil:
		area, err = readCircle(raw.circle)
		return area, true, err
	case kind == "Point":
		radius, ok := numberMember(raw.properties, "radius")
		if !ok {
			return nil, false, nil
		}
		center, err := numbers(g.coordinates, "the coordinates", 2, 4)
		if err == nil {
			area, err = geometry.Circle(geometry.Point{Lon: center[0], Lat: center[1]}, radius)
		}
		return area, true, err
	case kind == "" && raw.bbox != nil && string(raw.bbox) != "null":
		area, err = readBox(raw.bbox)
		return area, true, err
	}
	return nil, false, nil
}

func readCircle(data []byte) (geometry.MultiPolygon, error) {
	var c circleMember
	if err := json.Unmarshal(data, &c); err != nil || c.Lon == nil || c.Lat == nil || c.RadiusM == nil {
		return nil, fmt.Errorf("%w: a circle has the numbers lon, lat and radius_m", geometry.ErrShape)
	}
	return geometry.Circle(geometry.Point{Lon: *c.Lon, Lat: *c.Lat}, *c.RadiusM)
}

// readBox reads west, south, east, north, between which there may be altitudes.
func readBox(data []byte) (geometry.MultiPolygon, error) {
	b, err := numbers(data, "the bbox", 4, 6)
	if err != nil {
		return nil, err
	}
	half := len(b) / 2
	return geometry.Rectangle(b[0], b[1], b[half], b[half+1])
}

// numbers reads an array of numbers, from least to most of them, that is called what.
func numbers(data []byte, what string, least, most int) ([]float64, error) {
	var ns []*float64
	err := json.Unmarshal(data, &ns)
	out := make([]float64, 0, len(ns))
	for _, n := range ns {
		if n != nil {
			out = append(out, *n)
		}
	}
	if err != nil || len(out) != len(ns) || len(out) < least || len(out) > most || most == 6 && len(out) == 5 {
		return nil, fmt.Errorf("%w: %s must be %d to %d numbers", geometry.ErrShape, what, least, most)
	}
	return out, nil
}

// numberMember is the member of that name, if it is a number.
func numberMember(object []byte, name string) (n float64, ok bool) {
	if len(object) == 0 || object[0] != '{' {
		return 0, false
	}
	for k, v := range members(object) {
		if string(k) == name {
			ok = json.Unmarshal(v, &n) == nil && string(v) != "null"
		}
	}
	return n, ok
}
