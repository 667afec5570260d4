package fence

import (
	"fmt"
	"io"
	"time"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/internal/index"
)

// Options are a set's settings. The zero value is what most want.
type Options struct {
	Kind Kind // "" is DefaultKind

	// Zoom is the finest level of the tiles of KindQTree and KindQRTree and of the cells of
	// KindS2: 1 to MaxZoom, ZoomWorld for level 0; 0 is DefaultZoom. Finer ones discard more,
	// and cost time and memory for each fence: about four times as much per level for tiles of
	// a box, twice for the cells along a boundary, until a fence has 4,096 of them.
	Zoom int

	// Parents are what KindCity and KindCityBBox group fences by, such as the districts of a
	// city. They never change an answer. Without any, those kinds look at every fence.
	Parents []geometry.MultiPolygon

	Boundary geometry.Boundary // which points of its own boundary a fence holds; "" is BoundaryHalfOpen

	// Antimeridian says what an edge over half the world means when fences are read.
	Antimeridian geometry.Antimeridian

	IDProperty string         // property that gives the key of a Feature without id; "" is none
	Strict     bool           // refuse what RFC 7946 calls invalid: see Code
	Limits     geojson.Limits // of documents that LoadDir reads

	// Now is asked when fences are read. Fences that have expired by then are skipped. Nil: none.
	Now func() time.Time
}

// Reading is what the options say about reading documents.
func (o Options) Reading() geojson.ReadOptions {
	return geojson.ReadOptions{IDProperty: o.IDProperty, Strict: o.Strict, Antimeridian: o.Antimeridian, Limits: o.Limits, Now: o.Now}
}

// checked gives the options with the defaults put in.
func (o Options) checked() (Options, error) {
	var err error
	if o.Kind, err = ParseKind(string(o.Kind)); err != nil {
		return o, err
	}
	if o.Boundary, err = geometry.ParseBoundary(string(o.Boundary)); err != nil {
		return o, err
	}
	if o.Antimeridian, err = geometry.ParseAntimeridian(string(o.Antimeridian)); err != nil {
		return o, err
	}
	switch {
	case o.Zoom == 0:
		o.Zoom = DefaultZoom
	case o.Zoom == ZoomWorld: // stays, see index
	case o.Zoom < 0 || o.Zoom > MaxZoom:
		return o, fmt.Errorf("%w: %d is not within 0 and %d", ErrZoom, o.Zoom, MaxZoom)
	}
	return o, nil
}

// ZoomLevel returns the value of Options.Zoom for a level that is counted from 0.
func ZoomLevel(z int) int {
	if z == 0 {
		return ZoomWorld
	}
	return z
}

// index gives what checked options mean to an index.
func (o Options) index() index.Options {
	return index.Options{Kind: string(o.Kind), Zoom: max(o.Zoom, 0), Parents: o.Parents, Rule: o.Boundary.Rule()}
}

// ReadParents reads the areas of a GeoJSON document for Options.Parents. The errors are those
// of ReadGeoJSON; features that give no area are left out.
func ReadParents(r io.Reader, file string, o geojson.ReadOptions) ([]geometry.MultiPolygon, error) {
	c, err := geojson.ReadGeoJSON(r, file, o)
	if err != nil {
		return nil, err
	}
	var areas []geometry.MultiPolygon
	for i := range c.Fences {
		areas = append(areas, c.Fences[i].Geometry)
	}
	return areas, nil
}
