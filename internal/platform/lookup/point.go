package lookup

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"paddock/fence"
)

// readPoint reads {"lon","lat"}, [lon,lat], a GeoJSON Point or a Feature with one.
func readPoint(raw []byte) (fence.Point, error) {
	if len(raw) > 0 && raw[0] == '[' {
		var pair []*float64
		if json.Unmarshal(raw, &pair) != nil {
			return fence.Point{}, errors.New("not a pair of numbers")
		}
		return pointOf(pair)
	}
	type geometry struct {
		Type        string
		Coordinates []*float64
	}
	var v struct {
		Lon, Lat *float64
		geometry
		Geometry *geometry
	}
	if json.Unmarshal(raw, &v) != nil {
		return fence.Point{}, errors.New(`not a point: send {"lon","lat"}, [lon, lat], a GeoJSON Point or a Feature with one`)
	}
	g := &v.geometry
	if v.Geometry != nil {
		g = v.Geometry
	}
	switch {
	case v.Lon != nil && v.Lat != nil:
		return pointOf([]*float64{v.Lon, v.Lat})
	case g.Coordinates == nil:
		return fence.Point{}, errors.New("lon or lat missing")
	case g.Type != "Point":
		return fence.Point{}, fmt.Errorf("geometry type %.32q: must be a Point", g.Type)
	}
	return pointOf(g.Coordinates)
}

func pointOf(pair []*float64) (fence.Point, error) {
	if len(pair) < 2 || pair[0] == nil || pair[1] == nil {
		return fence.Point{}, errors.New("a point has two coordinates, lon and lat")
	}
	p := fence.Point{Lon: *pair[0], Lat: *pair[1]}
	return p, Check(p)
}

// Check returns an error if a point is out of range.
func Check(p fence.Point) error {
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
