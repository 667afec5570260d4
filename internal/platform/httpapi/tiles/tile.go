// Package tiles draws sets of fences as vector tiles, so that a map can show a set of any size: the
// loaded bytes depend on the shown area, not on the set.
//
// A tile is a square of the Web Mercator world, of Extent units a side. It holds the fences that
// meet it, simplified to the details visible at its zoom and cut to its surroundings. It has two
// layers, in the format of Mapbox Vector Tile 2.1:
//
//   - "fences": a polygon for each fence that is large enough to see, the largest
//     first. Its properties: key; name, if one of the fence's own properties is a
//     name and there is room to read it; large, if it fills much of the tile.
//   - "rest": the places of fences that are not drawn, as cells of 4 pixels. Its
//     properties: small, the number of fences that are too small to see, and dropped,
//     the number that does not fit into MaxBytes. The smallest are dropped first.
//
// At MaxZoom no fence is too small. Coordinates beyond the Mercator square, over 85.0511 degrees of
// latitude, are drawn at its edge.
package tiles

import (
	"fmt"
	"math"

	"paddock/fence/geometry"
)

const (
	// MaxZoom is the closest zoom with tiles: a unit is 4 cm at the equator. Closer maps enlarge
	// its tiles.
	MaxZoom = 18
	// Extent is the side of a tile in its own units.
	Extent = 4096
	// MaxBytes bounds a tile before compression: about 12,000 small fences, where 16,000 of a
	// tessellation would be visible.
	MaxBytes = 512 << 10

	pixel   = Extent / 512 // a map shows a tile on 512 to 1024 pixels
	buffer  = 8 * pixel    // drawn around the tile, to hide the ends of borders
	cell    = 4 * pixel    // of the rest; a fence whose box is smaller is too small to see
	legible = 16 * pixel   // a fence that has room for its name
	large   = 64 * pixel   // a fence that fills much of a tile
)

// Tile is the address of a tile: 2^Z tiles a side from north-west to south-east.
type Tile struct{ Z, X, Y int }

// Valid returns an error about a number that is out of range.
func (t Tile) Valid() error {
	if t.Z < 0 || t.Z > MaxZoom {
		return fmt.Errorf("zoom %d is out of range 0 to %d", t.Z, MaxZoom)
	}
	last := 1<<t.Z - 1
	if t.X < 0 || t.X > last {
		return fmt.Errorf("x %d is out of range 0 to %d at zoom %d", t.X, last, t.Z)
	}
	if t.Y < 0 || t.Y > last {
		return fmt.Errorf("y %d is out of range 0 to %d at zoom %d", t.Y, last, t.Z)
	}
	return nil
}

// vertex is a point in units of a tile, x to the east and y to the south.
type vertex struct{ x, y float64 }

// units returns the side of the world in units of the tile.
func (t Tile) units() float64 { return math.Ldexp(Extent, t.Z) }

// project returns the place of a point in degrees.
func (t Tile) project(p geometry.Point) vertex {
	s := math.Sin(p.Lat * math.Pi / 180)
	y := 0.5 - math.Log((1+s)/(1-s))/(4*math.Pi) // infinite at the poles
	return vertex{
		(p.Lon+180)/360*t.units() - float64(t.X*Extent),
		min(1, max(0, y))*t.units() - float64(t.Y*Extent),
	}
}

// bounds returns the box around the tile and its buffer, in degrees. At the edge of the Mercator
// square it extends over the pole.
func (t Tile) bounds() geometry.Box {
	west, east := float64(t.X*Extent-buffer), float64((t.X+1)*Extent+buffer)
	north, south := float64(t.Y*Extent-buffer), float64((t.Y+1)*Extent+buffer)
	b := geometry.Box{
		MinLon: west/t.units()*360 - 180, MaxLon: east/t.units()*360 - 180,
		MinLat: latitude(south / t.units()), MaxLat: latitude(north / t.units()),
	}
	if north <= 0 {
		b.MaxLat = 90
	}
	if south >= t.units() {
		b.MinLat = -90
	}
	return b
}

// latitude returns the latitude of a place between the north edge of the Mercator square, 0, and
// the south, 1.
func latitude(y float64) float64 {
	return math.Atan(math.Sinh((0.5-y)*2*math.Pi)) * 180 / math.Pi
}

// span is a rectangle in units of a tile.
type span struct{ west, north, east, south float64 }

func (t Tile) span(b geometry.Box) span {
	nw, se := t.project(geometry.Point{Lon: b.MinLon, Lat: b.MaxLat}), t.project(geometry.Point{Lon: b.MaxLon, Lat: b.MinLat})
	return span{nw.x, nw.y, se.x, se.y}
}

// side returns the longer side.
func (s span) side() float64 { return max(s.east-s.west, s.south-s.north) }

func (s span) area() float64 { return (s.east - s.west) * (s.south - s.north) }
