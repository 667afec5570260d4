package gofence

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"reflect"
	"strings"

	"paddock/fence"
	"paddock/fence/geojson"
)

// Properties holds the properties of a query as encoding/json decodes them into a map: keys sorted,
// the last duplicate wins, numbers as float64.
type Properties map[string]any

// PointMessage is a query: a GeoJSON Feature with a Point. It is decoded from the body of a POST,
// or built from the parameters of a GET, and repeated in the answer with its members in this order.
// Other members of the body are dropped.
//
// The names of the types and of their fields belong to the interface: error texts of encoding/json
// contain them.
type PointMessage struct {
	Type       string        `json:"type"`
	Properties Properties    `json:"properties"`
	Geometry   PointGeometry `json:"geometry"`
}

// PointGeometry holds a position: longitude, latitude, and any further coordinates, such as the
// altitude.
type PointGeometry struct {
	Type        string    `json:"type"`
	Coordinates []float64 `json:"coordinates"`
}

// newPoint makes the query of a GET.
func newPoint(lon, lat float64, p Properties) *PointMessage {
	return &PointMessage{
		Type:       "Feature",
		Properties: p,
		Geometry:   PointGeometry{Type: "Point", Coordinates: []float64{lon, lat}},
	}
}

// decodePoint reads the body of a search. The client receives the text of its error after "Invalid
// query ".
func decodePoint(body []byte) (*PointMessage, error) {
	var p *PointMessage
	if err := json.Unmarshal(body, &p); err != nil {
		return nil, originalText(err)
	}
	if p == nil || p.Type != "Feature" || p.Geometry.Type != "Point" || len(p.Geometry.Coordinates) < 2 {
		return nil, badRequest("Invalid UnmarshalPoint")
	}
	return p, nil
}

// messagePackage is the import path of the types above, and originalPackage the
// name of the package that held them in the original program.
var messagePackage = reflect.TypeFor[PointMessage]().PkgPath()

const originalPackage = "geofence"

// originalText changes the names of types in an error of encoding/json to those of the original
// program: "… of type geofence.PointGeometry".
func originalText(err error) error {
	var mismatch *json.UnmarshalTypeError
	if !errors.As(err, &mismatch) || mismatch.Type.PkgPath() != messagePackage {
		return err
	}
	text, found := strings.CutSuffix(err.Error(), mismatch.Type.String())
	if !found {
		return err
	}
	return badRequest(text + originalPackage + "." + mismatch.Type.Name())
}

// featureMessage is the body of an add, decoded as the original decodes it: member names in any
// case, repeated properties merged, bbox and crs checked only for their shape.
type featureMessage struct {
	Type       string                     `json:"type"`
	ID         json.RawMessage            `json:"id"`
	Geometry   json.RawMessage            `json:"geometry"`
	Properties map[string]json.RawMessage `json:"properties"`
	Bbox       []float64                  `json:"bbox"`
	CRS        *crsMessage                `json:"crs"`
}

type crsMessage struct {
	Type       string            `json:"type"`
	Properties map[string]string `json:"properties"`
}

// canonicalFeature is the part of a featureMessage that package fence reads.
type canonicalFeature struct {
	Type       string                     `json:"type"`
	ID         json.RawMessage            `json:"id,omitempty"`
	Properties map[string]json.RawMessage `json:"properties"`
	Geometry   json.RawMessage            `json:"geometry"`
	CRS        *crsMessage                `json:"crs,omitempty"`
}

// decodeFeature reads the body of an add. Its error is for the log: the client always receives the
// same line. Of the options only Antimeridian applies.
func decodeFeature(body []byte, o geojson.ReadOptions) (fence.Fence, error) {
	var m *featureMessage
	if err := json.Unmarshal(body, &m); err != nil {
		return fence.Fence{}, err
	}
	if m == nil {
		return fence.Fence{}, errors.New("the feature is null")
	}
	text, err := json.Marshal(canonicalFeature{"Feature", m.ID, m.Properties, m.Geometry, m.CRS})
	if err != nil {
		return fence.Fence{}, err
	}
	f, _, err := geojson.ParseFeature(text, geojson.ReadOptions{Antimeridian: o.Antimeridian})
	if err != nil {
		return fence.Fence{}, err
	}
	if f.OnlyCrossed() {
		return fence.Fence{}, errors.New("a line has no area, so that no search finds it")
	}
	_, err = marshalProperties(f.Properties, f.ID)
	return f, err
}

// renderProperties returns the properties of a fence for answers: with "id" set from the Feature,
// which replaces a property of that name, or null if there are none. A number beyond float64 is
// kept as given.
func renderProperties(f *fence.Fence) []byte {
	if text, err := marshalProperties(f.Properties, f.ID); err == nil {
		return text
	}
	text, err := marshalAsGiven(f.Properties, f.ID)
	if err != nil {
		return []byte("null")
	}
	return text
}

// marshalProperties passes both through float64 and maps, as the original did.
func marshalProperties(properties, id json.RawMessage) ([]byte, error) {
	return merge(properties, id, json.Unmarshal)
}

func marshalAsGiven(properties, id json.RawMessage) ([]byte, error) {
	return merge(properties, id, func(text []byte, v any) error {
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		return d.Decode(v)
	})
}

func merge(properties, id json.RawMessage, unmarshal func([]byte, any) error) ([]byte, error) {
	if len(properties) == 0 {
		return []byte("null"), nil
	}
	var p Properties
	if err := unmarshal(properties, &p); err != nil {
		return nil, err
	}
	if p == nil {
		return []byte("null"), nil
	}
	var v any
	if len(id) > 0 {
		if err := unmarshal(id, &v); err != nil {
			return nil, err
		}
	}
	p["id"] = v
	return json.Marshal(p)
}

// Reason returns why the directory dir, as the user gave it, could not be loaded. It uses the
// original program's text where there is one.
func Reason(err error, dir string) string {
	notThere, _ := errors.AsType[*fs.PathError](err) // about the directory; errors about files have no path
	if errors.Is(err, fence.ErrNoSets) || notThere != nil && errors.Is(notThere, fs.ErrNotExist) {
		return "No valid geojson fences at " + dir
	}
	return err.Error()
}
