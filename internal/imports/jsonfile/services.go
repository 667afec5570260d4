package jsonfile

import (
	"encoding/json"
	"errors"
	"fmt"

	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
	"paddock/internal/imports/wkt"
)

// ReadTomTom reads the details of fences of TomTom's Geofencing API: of one, an array of them, or
// the member fences of one or several projects. The name of a project becomes the set.
func ReadTomTom(in *feature.Input, out feature.Sink) error {
	n := 0
	err := elements(in.Data, func(_ int, element json.RawMessage) error {
		var project struct {
			Name   string          `json:"name"`
			Fences json.RawMessage `json:"fences"`
		}
		if err := json.Unmarshal(element, &project); err != nil {
			return err
		}
		list := project.Fences
		if feature.Absent(list) {
			list, project.Name = element, ""
		}
		read, err := entries(list, n, out, func(f *feature.Feature, element json.RawMessage) error {
			f.Set = project.Name
			var fence struct {
				ID       json.RawMessage `json:"id"`
				Geometry json.RawMessage `json:"geometry"`
			}
			if json.Unmarshal(element, &fence) == nil && feature.Absent(fence.Geometry) {
				f.ID = identifier(fence.ID)
				return errors.New("it has no geometry, as in a list of a project's fences: ask for the details of each fence")
			}
			return readFeature(f, element, out)
		})
		n += read
		return err
	})
	return wrapped(in, err)
}

// wrapped names the file in an error of the JSON, and leaves those of a sink as they are.
func wrapped(in *feature.Input, err error) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) || errors.As(err, &kind) {
		return in.Errorf("%w", err)
	}
	return err
}

// amazonFence is an element of the answer of ListGeofences, and the answer of GetGeofence.
type amazonFence struct {
	ID         string          `json:"GeofenceId"`
	Status     string          `json:"Status"`
	Properties json.RawMessage `json:"GeofenceProperties"`
	Geometry   struct {
		Circle *struct {
			Center []float64 `json:"Center"`
			Radius float64   `json:"Radius"`
		} `json:"Circle"`
		Polygon      json.RawMessage `json:"Polygon"`
		MultiPolygon json.RawMessage `json:"MultiPolygon"`
		Geobuf       string          `json:"Geobuf"`
	} `json:"Geometry"`
}

// ReadAmazon reads the answers of ListGeofences and GetGeofence of Amazon Location Service, one or
// several of them in an array. Deleted geofences are left out.
func ReadAmazon(in *feature.Input, out feature.Sink) error {
	n, more := 0, false
	err := elements(in.Data, func(_ int, element json.RawMessage) error {
		var page struct {
			Entries json.RawMessage `json:"Entries"`
			Next    string          `json:"NextToken"`
		}
		if err := json.Unmarshal(element, &page); err != nil {
			return err
		}
		if feature.Absent(page.Entries) {
			page.Entries = element
		}
		read, err := entries(page.Entries, n, out, func(f *feature.Feature, element json.RawMessage) error {
			var raw amazonFence
			if err := json.Unmarshal(element, &raw); err != nil {
				return err
			}
			return raw.read(f)
		})
		n += read
		more = page.Next != ""
		return err
	})
	if more { // of the last page
		out.Note(feature.Noted(feature.Place{}, feature.CodeNotCarried, "behind feature %d is a NextToken: the rest of the collection is in the next page", n-1))
	}
	return wrapped(in, err)
}

// read fills in the feature of a geofence. Positions are longitude first, lengths are metres.
func (raw *amazonFence) read(f *feature.Feature) (err error) {
	if raw.ID != "" {
		f.ID = feature.Text(raw.ID)
	}
	for name, value := range feature.Members(raw.Properties) {
		f.Properties.Set(name, feature.Compact(value))
	}
	switch raw.Status {
	case "DELETED", "DELETING":
		return nil // without a place
	}
	g := &raw.Geometry
	polygon := func(kind string, coordinates json.RawMessage) (err error) {
		f.Geometry, _, err = feature.ParseGeoJSON([]byte(fmt.Sprintf(`{"type":%q,"coordinates":%s}`, kind, coordinates)))
		return err
	}
	switch {
	case g.Circle != nil:
		if len(g.Circle.Center) != 2 {
			return fmt.Errorf("a Center of %d numbers", len(g.Circle.Center))
		}
		f.Geometry.Points = []geometry.Point{{Lon: g.Circle.Center[0], Lat: g.Circle.Center[1]}}
		f.Geometry.Radius = g.Circle.Radius
	case !feature.Absent(g.Polygon):
		return polygon("Polygon", g.Polygon)
	case !feature.Absent(g.MultiPolygon):
		return polygon("MultiPolygon", g.MultiPolygon)
	case g.Geobuf != "":
		return errors.New("the geometry is in Geobuf: ask for it as a Polygon")
	}
	return nil
}

// polylineMetres is the distance of lines in Traccar that have none (geofence.polylineDistance).
const polylineMetres = 25

// traccarFence is an element of the answer of GET /api/geofences.
type traccarFence struct {
	ID          json.RawMessage `json:"id"`
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Area        string          `json:"area"`
	Calendar    int             `json:"calendarId"`
	Attributes  json.RawMessage `json:"attributes"`
}

// ReadTraccar reads the answer of GET /api/geofences of Traccar. Areas are in Well-Known Text with
// the latitude first. A line is a corridor of its polylineDistance, or of 25 m on each side.
func ReadTraccar(in *feature.Input, out feature.Sink) error {
	_, err := entries(in.Data, 0, out, func(f *feature.Feature, element json.RawMessage) error {
		var raw traccarFence
		if err := json.Unmarshal(element, &raw); err != nil {
			return err
		}
		f.ID = identifier(raw.ID)
		if raw.Name != "" {
			f.Properties.Text("name", raw.Name)
		}
		if raw.Description != "" {
			f.Properties.Text("description", raw.Description)
		}
		for name, value := range feature.Members(raw.Attributes) {
			f.Properties.Set(name, feature.Compact(value))
		}
		if raw.Calendar != 0 {
			out.Note(feature.Finding{Place: f.Place, Key: f.Key(), Code: feature.CodeNotCarried, Reason: "its calendar: the hours of a rule can say it"})
		}
		var err error
		if f.Geometry, err = wkt.Parse(raw.Area, wkt.LatLon); err != nil {
			return fmt.Errorf("area: %w", err)
		}
		if len(f.Geometry.Lines) > 0 {
			f.Geometry.Buffer = polylineMetres
			if metres, ok := f.Properties.Float("polylineDistance"); ok {
				f.Geometry.Buffer = metres
			}
		}
		return nil
	})
	return wrapped(in, err)
}
