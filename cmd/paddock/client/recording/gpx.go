package recording

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"strconv"
	"time"

	"paddock/internal/imports/xmlread"
	"paddock/internal/platform/position"
)

// gpx reads the points of tracks of GPX 1.0 and 1.1 (Topografix) with lat, lon, time, ele, and the
// speed and course of version 1.0. Waypoints and routes have no times, and are left out. The id is
// the given one, or the name of the track, or that of the file.
func (s *source) gpx(id string) Positions {
	return func(yield func(Fix, error) bool) {
		g := &gpxReader{source: s, Reader: xmlread.From(s.in), id: id, yield: yield}
		if err := g.document(); err != nil && !errors.Is(err, errEnded) {
			yield(Fix{}, s.fatal(err))
		}
	}
}

// gpxReader is one read of a document.
type gpxReader struct {
	*source
	*xmlread.Reader
	id    string
	yield func(Fix, error) bool
}

func (g *gpxReader) document() error {
	root, err := g.Root()
	switch {
	case err != nil:
		return err
	case root.Name.Local != "gpx":
		return fmt.Errorf("the root element is %s, not gpx", root.Name.Local)
	}
	return g.Children(func(e xml.StartElement) error {
		if e.Name.Local == "trk" {
			return g.track()
		}
		return g.Skip()
	})
}

func (g *gpxReader) track() error {
	id := cmp.Or(g.id, g.source.id)
	return g.Children(func(e xml.StartElement) error {
		switch e.Name.Local {
		case "name": // it is before the points
			name, err := g.Text()
			id = cmp.Or(g.id, name, g.source.id)
			return err
		case "trkseg":
			return g.Children(func(e xml.StartElement) error {
				if e.Name.Local == "trkpt" {
					return g.point(&e, id)
				}
				return g.Skip()
			})
		}
		return g.Skip()
	})
}

// point reads a point of a track.
func (g *gpxReader) point(e *xml.StartElement, id string) error {
	p := position.Position{ID: id}
	at := Place{g.name, "line", g.Line().Number}
	var bad error
	number := func(name, text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil && bad == nil {
			bad = fmt.Errorf("%s: %.32q is not a number", name, text)
		}
		return v
	}
	p.Lon, p.Lat = number("lon", xmlread.Attribute(e, "lon")), number("lat", xmlread.Attribute(e, "lat"))
	err := g.Children(func(e xml.StartElement) error {
		name := e.Name.Local
		switch name {
		case "time", "ele", "speed", "course":
		default:
			return g.Skip()
		}
		text, err := g.Text()
		if err != nil {
			return err
		}
		switch name {
		case "time":
			t, err := time.Parse(time.RFC3339, text)
			if err != nil && bad == nil {
				bad = fmt.Errorf("time: %.64q is not as 2026-03-12T11:16:45Z", text)
			}
			p.Time = t.UnixMilli()
		case "ele":
			p.Altitude = position.Known(float32(number(name, text)))
		case "speed":
			p.Speed = position.Known(float32(number(name, text)))
		case "course":
			p.Heading = position.Known(float32(number(name, text)))
		}
		return nil
	})
	switch {
	case err != nil:
		return err
	case bad == nil && id == "":
		bad = errors.New("id: missing: the track has no name")
	}
	if bad != nil {
		if !g.yield(Fix{}, &Rejected{at, bad.Error()}) {
			return errEnded
		}
		return nil
	}
	if !g.source.yield(p, at, g.yield) {
		return errEnded
	}
	return nil
}
