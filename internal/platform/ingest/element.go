package ingest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"paddock/fence/track"
	"paddock/internal/platform/events"
)

// element is a position as JSON, or a GeoJSON Feature with a Point. Unknown
// members are counted and named: see Ignored.
type element struct {
	ID       json.RawMessage `json:"id"` // string or number
	Fleet    *string         `json:"fleet"`
	Lon      *float64        `json:"lon"`
	Lat      *float64        `json:"lat"`
	T        json.RawMessage `json:"t"` // RFC 3339, or Unix milliseconds
	Accuracy *float64        `json:"accuracy"`
	Speed    *float64        `json:"speed"`
	Heading  *float64        `json:"heading"`
	Altitude *float64        `json:"altitude"`
	Props    json.RawMessage `json:"props"`

	Type       string                     `json:"type"`
	Geometry   json.RawMessage            `json:"geometry"`
	Properties map[string]json.RawMessage `json:"properties"`
}

const (
	maxIDBytes    = 256
	maxPropsBytes = 16 << 10
	// maxPropsDepth bounds the levels of objects and arrays, as package fence does for GeoJSON:
	// each level costs readers of events several times its two bytes.
	maxPropsDepth = 64
	// EarliestMillis is 1973 in milliseconds and the year 5138 in seconds: a smaller number was
	// probably meant as seconds.
	EarliestMillis = 1e11
	// coordScale is the grid of positions: 1e-7 degree, 1.1 cm. Input of up to seven decimals is
	// unchanged.
	coordScale = 1e7
)

// fields are the values of a position in any form. A nil is absent.
type fields struct {
	id, fleet                *string
	lon, lat                 *float64
	t                        *track.Millis
	accuracy, speed, heading *float64
	altitude                 *float64
	props                    json.RawMessage // of any kind
}

// build checks an element and converts it to a position.
func (d *Decoder) build(e *element) (track.Position, error) {
	f := fields{
		fleet: e.Fleet, lon: e.Lon, lat: e.Lat,
		accuracy: e.Accuracy, speed: e.Speed, heading: e.Heading,
		altitude: e.Altitude, props: e.Props,
	}
	var err error
	if f.id, err = readID(e.ID); err != nil {
		return track.Position{}, err
	}
	if f.t, err = readTime(e.T); err != nil {
		p := track.Position{}
		p.ID, _ = d.id(f.id) // for the list of rejections
		return p, err
	}
	return d.judge(&f)
}

// judge checks the fields and converts them to a position. All doors and all forms meet here.
func (d *Decoder) judge(f *fields) (track.Position, error) {
	p := track.Position{Arrived: d.Arrived}
	var err error
	if p.ID, err = d.id(f.id); err != nil {
		return p, err
	}
	if p.Fleet, err = d.fleet(f.fleet); err != nil {
		return p, err
	}
	if p.Lon, p.Lat, err = place(f.lon, f.lat); err != nil {
		return p, err
	}
	if p.Time, err = d.time(f.t); err != nil {
		return p, err
	}
	if p.Accuracy, err = measure("accuracy", f.accuracy, 1e7); err != nil {
		return p, err
	}
	if p.Speed, err = measure("speed", f.speed, 1e5); err != nil {
		return p, err
	}
	if p.Heading, err = measure("heading", f.heading, 360); err != nil {
		return p, err
	}
	if p.Altitude, err = altitude(f.altitude); err != nil {
		return p, err
	}
	p.Props, err = props(f.props)
	return p, err
}

// feature converts a Feature to the equivalent element. Its properties beyond the known fields
// describe the object.
func (d *Decoder) feature(e *element) (track.Position, error) {
	var point struct {
		Type        string     `json:"type"`
		Coordinates []*float64 `json:"coordinates"`
	}
	if err := json.Unmarshal(e.Geometry, &point); err != nil || point.Type != "Point" {
		return track.Position{}, errors.New("geometry: must be a Point")
	}
	if len(point.Coordinates) < 2 {
		return track.Position{}, errors.New("geometry: a Point has two coordinates, lon and lat")
	}
	flat := element{ID: e.ID, Lon: point.Coordinates[0], Lat: point.Coordinates[1]}
	third := len(point.Coordinates) > 2 && point.Coordinates[2] != nil
	take := func(name string) json.RawMessage {
		raw := e.Properties[name]
		delete(e.Properties, name)
		return raw
	}
	if len(flat.ID) == 0 {
		flat.ID = take(orDefault(d.IDProperty, "id"))
	}
	if isNull(flat.ID) && d.ID == "" {
		return track.Position{}, d.missingID()
	}
	flat.T = take(orDefault(d.TimeProperty, "t"))
	for _, known := range []struct { // in a fixed order, so that the first error is always the same
		name, kind string
		to         any
	}{
		{"fleet", "string", &flat.Fleet},
		{"accuracy", "float64", &flat.Accuracy},
		{"speed", "float64", &flat.Speed},
		{"heading", "float64", &flat.Heading},
		{"altitude", "float64", &flat.Altitude},
	} {
		if raw := take(known.name); raw != nil && json.Unmarshal(raw, known.to) != nil {
			return track.Position{}, fmt.Errorf("properties.%s: %s", known.name, wanted(known.kind))
		}
	}
	if third {
		flat.Altitude = point.Coordinates[2]
	}
	if len(e.Properties) > 0 {
		rest, err := events.PlainJSON(e.Properties)
		if err != nil {
			return track.Position{}, fmt.Errorf("properties: %w", err)
		}
		flat.Props = rest
	}
	return d.build(&flat)
}

// missingID returns an error that explains how to name a Feature's id.
func (d *Decoder) missingID() error {
	if d.IDProperty != "" {
		return fmt.Errorf("id: missing: neither a member id nor properties.%.64q, which id_property names", d.IDProperty)
	}
	return errors.New("id: missing: neither a member id nor properties.id; over HTTP, ?id_property=NAME takes it from properties.NAME")
}

func orDefault(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// readID reads an id. A number must be whole, so that it has one spelling: 1.0 and 1e0 would be
// other objects than 1.
func readID(raw json.RawMessage) (*string, error) {
	if isNull(raw) {
		return nil, nil
	}
	var s string
	switch {
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, errors.New("id: not a string")
		}
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		if s = string(raw); s == "-0" || strings.ContainsAny(s, ".eE") {
			return nil, fmt.Errorf("id: %.32s is not written as a whole number: use digits only, or text", s)
		}
	default:
		return nil, errors.New("id: must be a string or a number")
	}
	return &s, nil
}

func (d *Decoder) id(s *string) (string, error) {
	if s != nil {
		return *s, CheckName("id", *s)
	}
	if d.ID == "" {
		return "", errors.New("id: missing")
	}
	return d.ID, nil
}

func (d *Decoder) fleet(s *string) (string, error) {
	if s == nil {
		return orDefault(d.Fleet, events.DefaultFleet), nil
	}
	return *s, CheckName("fleet", *s)
}

// CheckName checks the id of an object or the name of a fleet: 1 to 256 bytes of UTF-8.
func CheckName(field, s string) error {
	switch {
	case s == "":
		return fmt.Errorf("%s: empty", field)
	case len(s) > maxIDBytes:
		return fmt.Errorf("%s: %d bytes, the limit is %d", field, len(s), maxIDBytes)
	case !utf8.ValidString(s):
		return fmt.Errorf("%s: not valid UTF-8", field)
	}
	return nil
}

func place(lon, lat *float64) (x, y float64, err error) {
	switch {
	case lon == nil:
		return 0, 0, errors.New("lon: missing")
	case lat == nil:
		return 0, 0, errors.New("lat: missing")
	case math.Abs(*lat) > 90 && math.Abs(*lat) <= 180 && math.Abs(*lon) <= 90:
		return 0, 0, fmt.Errorf("lat: %v is out of range -90 to 90: lon and lat swapped?", *lat)
	case !(math.Abs(*lat) <= 90):
		return 0, 0, fmt.Errorf("lat: %v is out of range -90 to 90", *lat)
	case !(math.Abs(*lon) <= 180):
		return 0, 0, fmt.Errorf("lon: %v is out of range -180 to 180", *lon)
	}
	return snap(*lon), snap(*lat), nil
}

// snap rounds to the grid of stored positions, so that an object is evaluated at its stored place.
// There is one zero, without a sign.
func snap(deg float64) float64 { return math.Round(deg*coordScale)/coordScale + 0 }

func (d *Decoder) time(t *track.Millis) (track.Millis, error) {
	if t == nil {
		return d.Arrived, nil
	}
	if ahead := *t - d.present(); ahead > d.MaxAhead {
		const century = 36525 * 24 * time.Hour // the largest Duration is three centuries
		ahead = min(ahead, track.Millis(century.Milliseconds()))
		return *t, fmt.Errorf("t: %v in the future, the limit is %v",
			time.Duration(ahead)*time.Millisecond, time.Duration(d.MaxAhead)*time.Millisecond)
	}
	return *t, nil
}

var errTime = errors.New("t: must be RFC 3339 text or Unix milliseconds")

func readTime(raw json.RawMessage) (*track.Millis, error) {
	if isNull(raw) {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return nil, errors.New("t: not a string")
		}
		return timeOf(s)
	}
	ms, err := strconv.ParseFloat(string(raw), 64)
	if err != nil {
		return nil, errTime
	}
	return millis(ms, string(raw))
}

func timeOf(text string) (*track.Millis, error) {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, fmt.Errorf("t: %.64q is not RFC 3339, as 2026-03-12T11:16:45.250Z", text)
	}
	t := track.MillisOf(at)
	if t < EarliestMillis {
		return nil, fmt.Errorf("t: %.64q is before 1973: the clock is not set", text)
	}
	return &t, nil
}

// millis checks a time that was written as a number.
func millis(ms float64, text string) (*track.Millis, error) {
	switch {
	case math.IsNaN(ms):
		return nil, errTime
	case ms < EarliestMillis:
		return nil, fmt.Errorf("t: %.32s looks like seconds: send Unix milliseconds", text)
	case ms > 253402300799999: // the end of the year 9999
		return nil, fmt.Errorf("t: %.32s is out of range", text)
	}
	t := track.Millis(ms)
	return &t, nil
}

func measure(field string, v *float64, limit float64) (track.Measure, error) {
	if v == nil {
		return track.Measure{}, nil
	}
	if !(*v >= 0 && *v <= limit) {
		return track.Measure{}, fmt.Errorf("%s: %v is out of range 0 to %v", field, *v, limit)
	}
	return track.Measured(*v), nil
}

// maxAltitude bounds altitudes, above 0 and below it, in metres.
const maxAltitude = 100_000

func altitude(v *float64) (track.Measure, error) {
	if v == nil {
		return track.Measure{}, nil
	}
	if !(math.Abs(*v) <= maxAltitude) {
		return track.Measure{}, fmt.Errorf("altitude: %v is out of range %d to %d", *v, -maxAltitude, maxAltitude)
	}
	return track.Measured(*v + 0), nil // not -0
}

func props(raw json.RawMessage) (json.RawMessage, error) {
	switch {
	case isNull(raw):
		return nil, nil
	case raw[0] != '{':
		return nil, errors.New("props: must be an object")
	case len(raw) > maxPropsBytes:
		return nil, fmt.Errorf("props: %d bytes, the limit is %d", len(raw), maxPropsBytes)
	case deeper(raw, maxPropsDepth):
		return nil, fmt.Errorf("props: nested deeper than %d", maxPropsDepth)
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		return nil, errors.New("props: malformed JSON")
	}
	return compact.Bytes(), nil
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }
