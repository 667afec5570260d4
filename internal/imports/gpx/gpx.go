// Package gpx reads tracks and routes of GPX 1.0 and 1.1 (Topografix) as lines.
package gpx

import (
	"encoding/xml"
	"fmt"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/xmlread"
)

// texts are the elements of tracks, routes and waypoints that become properties.
var texts = map[string]bool{"name": true, "cmt": true, "desc": true, "src": true, "type": true, "number": true, "sym": true}

// reader is one read of a document.
type reader struct {
	*xmlread.Reader
	out feature.Sink
}

// Read reads a document. A track is a feature whose segments are lines, a route one with one line,
// and a waypoint one with a point. Their texts are properties; heights and times are left out.
func Read(in *feature.Input, out feature.Sink) error {
	r := &reader{xmlread.New(in.Data), out}
	root, err := r.Root()
	switch {
	case err != nil:
	case root.Name.Local != "gpx":
		err = fmt.Errorf("the root element is %s, not gpx", root.Name.Local)
	default:
		err = r.Children(func(e xml.StartElement) error {
			switch e.Name.Local {
			case "trk", "rte", "wpt":
				return r.feature(&e)
			}
			return r.Skip()
		})
	}
	if err != nil {
		return in.Errorf("%w", err)
	}
	return nil
}

// feature reads a track, a route or a waypoint.
func (r *reader) feature(e *xml.StartElement) error {
	f := &feature.Feature{Place: r.Line()}
	g := &f.Geometry
	var bad error
	point := func(e *xml.StartElement) geometry.Point {
		p, err := position(e)
		if err != nil && bad == nil {
			bad = fmt.Errorf("line %d: %s: %w", r.Line().Number, e.Name.Local, err)
		}
		return p
	}
	var route geometry.Line
	if e.Name.Local == "wpt" {
		g.Points = []geometry.Point{point(e)}
	}
	err := r.Children(func(e xml.StartElement) error {
		switch name := e.Name.Local; {
		case texts[name]:
			text, err := r.Text()
			if text != "" {
				f.Properties.Text(name, text)
			}
			return err
		case name == "rtept":
			route = append(route, point(&e))
		case name == "trkseg":
			var line geometry.Line
			err := r.Children(func(e xml.StartElement) error {
				if e.Name.Local == "trkpt" {
					line = append(line, point(&e))
				}
				return r.Skip()
			})
			if len(line) > 0 {
				g.Lines = append(g.Lines, line)
			}
			return err
		}
		return r.Skip()
	})
	if err != nil {
		return err
	}
	if len(route) > 0 {
		g.Lines = append(g.Lines, route)
	}
	if bad != nil {
		r.out.Note(f.Refused(geojson.CodeInvalidGeometry, "%v", bad))
		return nil
	}
	return r.out.Take(f)
}

// position reads the attributes lat and lon.
func position(e *xml.StartElement) (p geometry.Point, err error) {
	if p.Lon, err = feature.Number(xmlread.Attribute(e, "lon")); err != nil {
		return p, fmt.Errorf("lon: %w", err)
	}
	if p.Lat, err = feature.Number(xmlread.Attribute(e, "lat")); err != nil {
		return p, fmt.Errorf("lat: %w", err)
	}
	return p, nil
}
