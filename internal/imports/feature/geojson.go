package feature

import (
	"encoding/json"
	"fmt"
	"math"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// maxCollections bounds how deep collections of geometries may lie in one another.
const maxCollections = 16

// object is an object of GeoJSON (RFC 7946), with the radius that some services add.
type object struct {
	Type        string            `json:"type"`
	Coordinates json.RawMessage   `json:"coordinates"`
	Geometries  []json.RawMessage `json:"geometries"`
	Geometry    json.RawMessage   `json:"geometry"`
	Properties  json.RawMessage   `json:"properties"`
	Features    []json.RawMessage `json:"features"`
	CRS         json.RawMessage   `json:"crs"`
}

// ParseGeoJSON reads a geometry, a Feature or a FeatureCollection of GeoJSON, the features of which
// become one geometry. It also returns the properties of a Feature; nil if there are none.
func ParseGeoJSON(data []byte) (g Geometry, properties json.RawMessage, err error) {
	properties, err = g.parse(data, 0)
	return g, properties, err
}

func (g *Geometry) parse(data []byte, depth int) (properties json.RawMessage, err error) {
	var o object
	if err := json.Unmarshal(data, &o); err != nil {
		return nil, fmt.Errorf("GeoJSON: %w", err)
	}
	if err := CheckNamedCRS(o.CRS); err != nil {
		return nil, err
	}
	if depth > maxCollections {
		return nil, fmt.Errorf("GeoJSON: collections lie more than %d deep in one another", maxCollections)
	}
	within := o.Geometries
	switch o.Type {
	case "Feature":
		if Absent(o.Geometry) {
			return o.Properties, nil
		}
		_, err := g.parse(o.Geometry, depth+1)
		return o.Properties, err
	case "FeatureCollection":
		within = o.Features
		fallthrough
	case "GeometryCollection":
		for _, one := range within {
			if _, err := g.parse(one, depth+1); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	return nil, g.coordinates(o.Type, o.Coordinates)
}

// CheckNamedCRS refuses a member crs of GeoJSON 2008 that names another system than WGS 84; nil is
// no member.
func CheckNamedCRS(crs json.RawMessage) error {
	if name, ok := geojson.CRSName(crs); !ok {
		return OtherCRS(name)
	}
	return nil
}

// coordinates reads those of one geometry.
func (g *Geometry) coordinates(kind string, data []byte) (err error) {
	switch kind {
	case "Point":
		var c []float64
		if err = decode(data, &c); err == nil {
			g.Points = append(g.Points, position(c, &err))
		}
	case "MultiPoint":
		var c [][]float64
		err = decode(data, &c)
		g.Points = append(g.Points, positions(c, &err)...)
	case "LineString":
		var c [][]float64
		err = decode(data, &c)
		g.Lines = append(g.Lines, positions(c, &err))
	case "MultiLineString":
		var c [][][]float64
		err = decode(data, &c)
		for i := range c {
			g.Lines = append(g.Lines, positions(c[i], &err))
		}
	case "Polygon":
		var c [][][]float64
		err = decode(data, &c)
		g.Areas = append(g.Areas, rings(c, &err))
	case "MultiPolygon":
		var c [][][][]float64
		err = decode(data, &c)
		for i := range c {
			g.Areas = append(g.Areas, rings(c[i], &err))
		}
	default:
		err = fmt.Errorf("GeoJSON: the type is %.40q", kind)
	}
	return err
}

// Absent reports whether a member of a JSON object is missing or null.
func Absent(value json.RawMessage) bool { return len(value) == 0 || string(value) == "null" }

func decode(data []byte, to any) error {
	if Absent(data) {
		return fmt.Errorf("GeoJSON: there are no coordinates")
	}
	if err := json.Unmarshal(data, to); err != nil {
		return fmt.Errorf("GeoJSON: coordinates: %w", err)
	}
	return nil
}

func rings(c [][][]float64, err *error) (pg geometry.Polygon) {
	for i := range c {
		pg = append(pg, Ring(positions(c[i], err)))
	}
	return pg
}

func positions(c [][]float64, err *error) []geometry.Point {
	points := make([]geometry.Point, len(c))
	for i := range c {
		points[i] = position(c[i], err)
	}
	return points
}

// position leaves out the altitude.
func position(c []float64, err *error) geometry.Point {
	if len(c) < 2 {
		if *err == nil {
			*err = fmt.Errorf("GeoJSON: coordinates: a position of %d numbers", len(c))
		}
		return geometry.Point{Lon: math.NaN(), Lat: math.NaN()}
	}
	return geometry.Point{Lon: c[0], Lat: c[1]}
}

// Rectangle returns the area between two corners, over the antimeridian if it begins east of its
// end.
func Rectangle(west, south, east, north float64) (Geometry, error) {
	area, err := geometry.Rectangle(west, south, east, north)
	return Geometry{Areas: area}, err
}
