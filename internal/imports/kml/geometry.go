package kml

import (
	"encoding/xml"
	"fmt"
	"strings"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// geometry reads a geometry into g, and passes over any other element. bad is set to the first
// fault of coordinates.
func (r *reader) geometry(e *xml.StartElement, g *feature.Geometry, bad *error) error {
	switch e.Name.Local {
	case "MultiGeometry", "MultiTrack":
		return r.Children(func(e xml.StartElement) error { return r.geometry(&e, g, bad) })
	case "Polygon":
		return r.polygon(g, bad)
	case "LineString", "LinearRing":
		points, err := r.coordinates(bad)
		if len(points) > 0 {
			g.Lines = append(g.Lines, points)
		}
		return err
	case "Track":
		points, err := r.track(bad)
		if len(points) > 0 {
			g.Lines = append(g.Lines, points)
		}
		return err
	case "Point":
		points, err := r.coordinates(bad)
		g.Points = append(g.Points, points...)
		return err
	case "Model":
		r.out.Note(feature.Noted(r.Line(), feature.CodeNotCarried, "a Model is not read"))
	}
	return r.Skip()
}

// polygon reads a Polygon: its outer boundary first, wherever it stands.
func (r *reader) polygon(g *feature.Geometry, bad *error) error {
	var outer, inner geometry.Polygon
	err := r.Children(func(e xml.StartElement) error {
		to := &inner
		switch e.Name.Local {
		case "outerBoundaryIs":
			to = &outer
		case "innerBoundaryIs":
		default:
			return r.Skip()
		}
		return r.Children(func(e xml.StartElement) error {
			if e.Name.Local != "LinearRing" {
				return r.Skip()
			}
			points, err := r.coordinates(bad)
			if len(points) > 0 {
				*to = append(*to, feature.Ring(points))
			}
			return err
		})
	})
	if len(outer) != 1 && *bad == nil {
		*bad = fmt.Errorf("a Polygon has %d outer boundaries, not one", len(outer))
	}
	g.Areas = append(g.Areas, append(outer, inner...))
	return err
}

// coordinates reads the element coordinates of the geometry in hand.
func (r *reader) coordinates(bad *error) (points []geometry.Point, err error) {
	err = r.Children(func(e xml.StartElement) error {
		if e.Name.Local != "coordinates" {
			return r.Skip()
		}
		text, err := r.Text()
		if err != nil {
			return err
		}
		for tuple := range strings.FieldsSeq(text) {
			p, err := point(strings.Split(tuple, ","))
			if err != nil && *bad == nil {
				*bad = fmt.Errorf("coordinates: %.60q: %w", tuple, err)
			}
			if points = append(points, p); len(points) > feature.MaxVertices {
				return fmt.Errorf("line %d: over %d coordinates", r.Line().Number, feature.MaxVertices)
			}
		}
		return nil
	})
	return points, err
}

// track reads the coord elements of a Track.
func (r *reader) track(bad *error) (points []geometry.Point, err error) {
	err = r.Children(func(e xml.StartElement) error {
		if e.Name.Local != "coord" {
			return r.Skip()
		}
		text, err := r.Text()
		if err != nil {
			return err
		}
		p, err := point(strings.Fields(text))
		if err != nil && *bad == nil {
			*bad = fmt.Errorf("coord: %.60q: %w", text, err)
		}
		points = append(points, p)
		return nil
	})
	return points, err
}

// point reads longitude, latitude and perhaps an altitude, which is left out.
func point(parts []string) (p geometry.Point, err error) {
	if len(parts) < 2 || len(parts) > 3 {
		return p, fmt.Errorf("%d numbers, not longitude, latitude and perhaps an altitude", len(parts))
	}
	if p.Lon, err = feature.Number(parts[0]); err == nil {
		p.Lat, err = feature.Number(parts[1])
	}
	return p, err
}
