package jsonfile

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"time"

	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/imports/feature"
)

// rawFeature is a Feature with the members that some services add.
type rawFeature struct {
	Type       string          `json:"type"`
	ID         json.RawMessage `json:"id"`
	Name       string          `json:"name"`
	Properties json.RawMessage `json:"properties"`
	Geometry   json.RawMessage `json:"geometry"`
	CRS        json.RawMessage `json:"crs"`
	Box        []float64       `json:"bbox"`
	Circle     *struct {
		Lon    float64 `json:"lon"`
		Lat    float64 `json:"lat"`
		Radius float64 `json:"radius_m"`
	} `json:"circle"`
}

// ReadGeoJSON reads a FeatureCollection, a Feature or a geometry, or several of them one after the
// other, without the separators of RFC 8142. It copies the features: ids, properties, and places
// with their altitudes left out. A document whose crs names another system than WGS 84 is refused,
// and so is a feature for its own crs, or for that of a geometry in it.
// A GeometryCollection is read, which sets refuse, and so are the geofences of Azure Maps: see
// azure.
func ReadGeoJSON(in *feature.Input, out feature.Sink) error {
	data := in.Data
	d := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	if err := d.Decode(&first); err != nil || !d.More() {
		_, err := readDocument(in.Name, data, 0, out)
		return err
	}
	n := 0
	err := elements(data, func(i int, element json.RawMessage) error {
		read, err := readDocument(fmt.Sprintf("%s: document %d", in.Name, i), element, n, out)
		n += read
		return err
	})
	return wrapped(in, err)
}

// readDocument reads one document, whose features are counted on from a number.
func readDocument(name string, data []byte, from int, out feature.Sink) (n int, err error) {
	// The reader of sets knows each fault of a document, with line and column.
	if _, err := geojson.ReadGeoJSON(bytes.NewReader(data), name, geojson.ReadOptions{}); err != nil {
		return 0, err
	}
	read := func(f *feature.Feature, element json.RawMessage) error { return readFeature(f, element, out) }
	listed, err := features(data, func(element json.RawMessage) error {
		n++
		return entry(from+n-1, element, out, read)
	})
	if !listed && err == nil {
		return 1, entry(from, data, out, read)
	}
	return n, err
}

// features calls visit for each element of the array features of an object. listed is whether it
// has that member.
func features(data []byte, visit func(element json.RawMessage) error) (listed bool, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	_, err = d.Token()
	for err == nil && d.More() {
		var name json.Token
		if name, err = d.Token(); err != nil {
			break
		}
		rest := bytes.TrimLeft(data[d.InputOffset():], " \t\r\n:")
		if name != "features" || len(rest) == 0 || rest[0] != '[' {
			var other json.RawMessage
			err = d.Decode(&other)
			continue
		}
		listed = true
		if _, err = d.Token(); err != nil {
			break
		}
		for err == nil && d.More() {
			var element json.RawMessage
			if err = d.Decode(&element); err == nil {
				err = visit(element)
			}
		}
		if err == nil {
			_, err = d.Token() // ]
		}
	}
	return listed, err
}

// readFeature reads a Feature, or a geometry alone.
func readFeature(f *feature.Feature, element json.RawMessage, out feature.Sink) error {
	var raw rawFeature
	if err := json.Unmarshal(element, &raw); err != nil {
		return err
	}
	if raw.Type != "Feature" && raw.Circle == nil {
		raw = rawFeature{Geometry: element}
	}
	f.ID = identifier(raw.ID)
	for name, value := range feature.Members(raw.Properties) {
		f.Properties.Set(name, feature.Compact(value))
	}
	if err := feature.CheckNamedCRS(raw.CRS); err != nil {
		return err
	}
	if err := raw.place(f); err != nil {
		return err
	}
	if raw.Name != "" && f.Properties.Get("name") == nil {
		f.Properties.Text("name", raw.Name)
	}
	azure(f, out)
	return nil
}

// place reads the place of a Feature: its geometry, or a circle or a box in place of one.
func (raw *rawFeature) place(f *feature.Feature) (err error) {
	switch g := &f.Geometry; {
	case raw.Circle != nil:
		g.Points = []geometry.Point{{Lon: raw.Circle.Lon, Lat: raw.Circle.Lat}}
		g.Radius = raw.Circle.Radius
	case !feature.Absent(raw.Geometry):
		if *g, _, err = feature.ParseGeoJSON(raw.Geometry); err == nil {
			err = tomtom(raw.Geometry, g)
		}
	case len(raw.Box) == 4:
		*g, err = feature.Rectangle(raw.Box[0], raw.Box[1], raw.Box[2], raw.Box[3])
	case len(raw.Box) == 6:
		*g, err = feature.Rectangle(raw.Box[0], raw.Box[1], raw.Box[3], raw.Box[4])
	}
	return err
}

// tomtom reads what TomTom adds to a geometry: its shapeType. A Circle is a Point with a radius, a
// Corridor a LineString with a radius on each side, and a Rectangle has two opposite corners.
func tomtom(data json.RawMessage, g *feature.Geometry) (err error) {
	var added struct {
		Shape  string  `json:"shapeType"`
		Radius float64 `json:"radius"`
	}
	if err := json.Unmarshal(data, &added); err != nil {
		return err
	}
	switch added.Shape {
	case "":
	case "Circle":
		g.Radius = added.Radius
	case "Corridor":
		g.Buffer = added.Radius
	case "Rectangle":
		corners := g.Points
		for _, l := range g.Lines {
			corners = append(corners, l...)
		}
		if len(g.Areas) > 0 {
			return nil // it has all corners
		}
		if len(corners) != 2 {
			return fmt.Errorf("a Rectangle of %d corners, not two", len(corners))
		}
		a, b := corners[0], corners[1]
		*g, err = feature.Rectangle(math.Min(a.Lon, b.Lon), math.Min(a.Lat, b.Lat), math.Max(a.Lon, b.Lon), math.Max(a.Lat, b.Lat))
	default:
		return fmt.Errorf("the shapeType %.40q is not read", added.Shape)
	}
	return err
}

// azure reads the properties of a geofence of Azure Maps: its geometryId is the id, a radius makes
// circles of points and corridors of lines, and the expiredTime is its end. The radius of a circle
// (subType) is read by the sink, as that of any point.
func azure(f *feature.Feature, out feature.Sink) {
	id := identifier(f.Properties.Get("geometryId"))
	if id == nil {
		return
	}
	if f.ID == nil {
		f.ID = id
	}
	if metres, err := f.Properties.Radius(); err == nil && len(f.Geometry.Lines) > 0 {
		f.Geometry.Buffer = metres
	}
	var validity struct {
		End     string            `json:"expiredTime"`
		Periods []json.RawMessage `json:"validityPeriod"`
	}
	if json.Unmarshal(f.Properties.Get("validityTime"), &validity) != nil {
		return
	}
	if len(validity.Periods) > 0 {
		out.Note(feature.Finding{Place: f.Place, Key: f.Key(), Code: feature.CodeNotCarried, Reason: "validityPeriod: the hours of a rule can say it"})
	}
	if validity.End == "" {
		return
	}
	end, err := time.Parse(time.RFC3339, validity.End)
	if err != nil {
		end, err = time.Parse("2006-01-02T15:04:05", validity.End)
	}
	if err != nil {
		out.Note(feature.Finding{Place: f.Place, Key: f.Key(), Code: feature.CodeNotCarried, Reason: fmt.Sprintf("expiredTime: %.40q is not a time", validity.End)})
		return
	}
	f.Properties.Text(geojson.SettingPrefix+"expires", end.UTC().Format(time.RFC3339))
}
