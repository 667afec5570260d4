package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"paddock/fence/geometry"
)

// readPoint reads {"lon","lat"}, [lon,lat], a GeoJSON Point or a Feature with one.
func readPoint(raw []byte) (geometry.Point, error) {
	if len(raw) > 0 && raw[0] == '[' {
		var pair []*float64
		if json.Unmarshal(raw, &pair) != nil {
			return geometry.Point{}, errors.New("not a pair of numbers")
		}
		return pointOf(pair)
	}
	type shape struct {
		Type        string
		Coordinates []*float64
	}
	var v struct {
		Lon, Lat *float64
		shape
		Geometry *shape
	}
	if json.Unmarshal(raw, &v) != nil {
		return geometry.Point{}, errors.New(`not a point: send {"lon","lat"}, [lon, lat], a GeoJSON Point or a Feature with one`)
	}
	g := &v.shape
	if v.Geometry != nil {
		g = v.Geometry
	}
	switch {
	case v.Lon != nil && v.Lat != nil:
		return pointOf([]*float64{v.Lon, v.Lat})
	case g.Coordinates == nil:
		return geometry.Point{}, errors.New("lon or lat missing")
	case g.Type != "Point":
		return geometry.Point{}, fmt.Errorf("geometry type %.32q: must be a Point", g.Type)
	}
	return pointOf(g.Coordinates)
}

func pointOf(pair []*float64) (geometry.Point, error) {
	if len(pair) < 2 || pair[0] == nil || pair[1] == nil {
		return geometry.Point{}, errors.New("a point has two coordinates, lon and lat")
	}
	p := geometry.Point{Lon: *pair[0], Lat: *pair[1]}
	return p, Check(p)
}

// Check returns an error if a point is out of range.
func Check(p geometry.Point) error {
	switch lon, lat := math.Abs(p.Lon), math.Abs(p.Lat); {
	case lat > 90 && lat <= 180 && lon <= 90:
		return fmt.Errorf("lat %v is out of range -90 to 90: lon and lat swapped?", p.Lat)
	case !(lat <= 90):
		return fmt.Errorf("lat %v is out of range -90 to 90", p.Lat)
	case !(lon <= 180):
		return fmt.Errorf("lon %v is out of range -180 to 180", p.Lon)
	}
	return nil
}
