package tile38

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// where is the command that an area stands in.
type where int

const (
	inSet    where = iota // SET: a POINT may have a height, and a HASH is a point
	inNearby              // NEARBY: a POINT has a distance
	inSearch              // WITHIN, INTERSECTS
)

// errUnsaid is wrapped by areas that a fence cannot have.
var errUnsaid = errors.New("a fence cannot say it")

// area reads a type of object or area with its arguments, and returns the properties of a Feature.
// Points are latitude first, and lengths are metres.
func area(r *reading, g *feature.Geometry, in where) (properties json.RawMessage, err error) {
	kind := r.word()
	r.next()
	switch kind {
	case "OBJECT":
		text := []byte(r.next())
		if r.err != nil {
			return nil, nil
		}
		*g, properties, err = feature.ParseGeoJSON(text)
		if err == nil {
			err = circleOf(properties, g)
		}
		return properties, err
	case "POINT":
		g.Points = []geometry.Point{point(r)}
		if in == inNearby && len(r.args) == 0 {
			return nil, fmt.Errorf("a POINT without a distance: %w", errUnsaid)
		}
		if len(r.args) > 0 {
			height := r.number()
			if in == inNearby {
				g.Radius = height
			}
		}
	case "CIRCLE":
		g.Points = []geometry.Point{point(r)}
		g.Radius = r.number()
	case "BOUNDS":
		a, b := point(r), point(r)
		if r.err == nil {
			*g, err = feature.Rectangle(a.Lon, a.Lat, b.Lon, b.Lat)
		}
	case "HASH":
		var box geometry.Box
		if box, err = geohash(r.next()); err != nil || r.err != nil {
			return nil, err
		}
		if in == inSet {
			g.Points = []geometry.Point{{Lon: (box.MinLon + box.MaxLon) / 2, Lat: (box.MinLat + box.MaxLat) / 2}}
		} else {
			*g, err = feature.Rectangle(box.MinLon, box.MinLat, box.MaxLon, box.MaxLat)
		}
	case "TILE":
		x, y, z := r.number(), r.number(), r.number()
		if r.err == nil {
			err = tile(g, x, y, z)
		}
		return nil, err
	case "QUADKEY":
		x, y, z, err := quadkey(r.next())
		if err == nil && r.err == nil {
			err = tile(g, x, y, z)
		}
		return nil, err
	case "SECTOR":
		return nil, fmt.Errorf("a SECTOR: %w", errUnsaid)
	case "":
		return nil, nil // r has the error
	default:
		return nil, fmt.Errorf("%.40q is no type of area", kind)
	}
	if len(r.args) > 0 && r.err == nil && err == nil {
		err = fmt.Errorf("there is more behind %s: %.40q", kind, r.args[0])
	}
	return nil, err
}

// point reads latitude and longitude.
func point(r *reading) geometry.Point {
	lat := r.number()
	return geometry.Point{Lon: r.number(), Lat: lat}
}

// circleOf reads the radius of a circle, which Tile38 writes as a Point whose properties have the
// type Circle and a radius in metres, or in other radius_units.
func circleOf(properties json.RawMessage, g *feature.Geometry) error {
	var circle struct {
		Type   string  `json:"type"`
		Radius float64 `json:"radius"`
		Units  string  `json:"radius_units"`
	}
	if len(g.Points) != 1 || json.Unmarshal(properties, &circle) != nil || circle.Type != "Circle" {
		return nil
	}
	switch circle.Units {
	case "", "m":
		g.Radius = circle.Radius
	case "km":
		g.Radius = circle.Radius * 1000
	default:
		return fmt.Errorf("a radius in %.20q, not m or km", circle.Units)
	}
	return nil
}

// geohash returns the box of a geohash of 1 to 22 characters.
func geohash(text string) (geometry.Box, error) {
	const digits = "0123456789bcdefghjkmnpqrstuvwxyz"
	box := geometry.Box{MinLon: -180, MinLat: -90, MaxLon: 180, MaxLat: 90}
	if text == "" || len(text) > 22 {
		return box, fmt.Errorf("a geohash of %d characters", len(text))
	}
	longitude := true
	for i := range len(text) {
		n := strings.IndexByte(digits, text[i]|0x20)
		if c := text[i]; c >= '0' && c <= '9' {
			n = strings.IndexByte(digits, c)
		}
		if n < 0 {
			return box, fmt.Errorf("%q is no geohash", text)
		}
		for bit := 4; bit >= 0; bit-- {
			low, high := &box.MinLat, &box.MaxLat
			if longitude {
				low, high = &box.MinLon, &box.MaxLon
			}
			if middle := (*low + *high) / 2; n>>bit&1 == 1 {
				*low = middle
			} else {
				*high = middle
			}
			longitude = !longitude
		}
	}
	return box, nil
}

// maxZoom bounds the zoom of tiles.
const maxZoom = 30

// tile makes the area of a tile of the web's map (EPSG:3857).
func tile(g *feature.Geometry, x, y, z float64) error {
	n := math.Exp2(z)
	if z < 0 || z > maxZoom || z != math.Trunc(z) || x < 0 || x >= n || y < 0 || y >= n || x != math.Trunc(x) || y != math.Trunc(y) {
		return fmt.Errorf("there is no tile %v %v %v", x, y, z)
	}
	lat := func(y float64) float64 { return math.Atan(math.Sinh(math.Pi*(1-2*y/n))) * 180 / math.Pi }
	box, err := feature.Rectangle(x/n*360-180, lat(y+1), (x+1)/n*360-180, lat(y))
	*g = box
	return err
}

// quadkey returns the tile of a key of digits 0 to 3.
func quadkey(key string) (x, y, z float64, err error) {
	if len(key) > maxZoom || strings.Trim(key, "0123") != "" {
		return 0, 0, 0, fmt.Errorf("%.40q is no quadkey", key)
	}
	for i := range len(key) {
		digit := key[i] - '0'
		x, y = 2*x+float64(digit&1), 2*y+float64(digit>>1)
	}
	return x, y, float64(len(key)), nil
}

// field returns the value of a field as JSON: numbers and other values of JSON are such.
func field(text string) json.RawMessage {
	if _, err := strconv.ParseFloat(text, 64); err == nil || strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") || text == "true" || text == "false" || text == "null" {
		if json.Valid([]byte(text)) {
			return feature.Compact([]byte(text))
		}
	}
	return feature.Text(text)
}
