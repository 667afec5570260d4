// Package format reads what devices and services say about positions, in their own formats: the
// requests of OsmAnd and the Traccar Client, what Traccar forwards, OwnTracks, HFP, JSON with given
// paths, GTFS-realtime, BaseStation lines, NMEA 0183 and AIS.
//
// Each reader is a function of its bytes, or of its lines so far: no clock, no network. Units are
// converted to those of package position. The rules for values, such as the range of a latitude,
// are in package ingest. A time of 0 means that the device sent none.
package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"paddock/internal/platform/events"
	"paddock/internal/platform/position"
)

// Result holds the positions of one input. What is not a position, such as a heartbeat, is ignored
// and counted.
type Result struct {
	Positions []position.Position
	Rejected  []Rejection
	Ignored   int
}

// Rejection is a position that can never be accepted. Reason begins with a field and a colon.
type Rejection struct {
	Object string // "": unknown
	Reason string
}

func (r *Result) reject(object, format string, args ...any) {
	r.Rejected = append(r.Rejected, Rejection{Object: object, Reason: fmt.Sprintf(format, args...)})
}

// IgnoreUntimed ignores positions without a time. It is for messages that a broker has retained:
// they are as old as their last publication, not as their arrival.
func (r *Result) IgnoreUntimed() {
	timed := slices.DeleteFunc(r.Positions, func(p position.Position) bool { return p.Time == 0 })
	r.Ignored += len(r.Positions) - len(timed)
	r.Positions = timed
}

// Factors to metres and metres per second.
const (
	knot = 1852.0 / 3600
	kmh  = 1 / 3.6
	foot = 0.3048
)

// speedUnits holds the names of units of speed, with their factors to metres per second.
var speedUnits = map[string]float64{"kn": knot, "kmh": kmh, "ms": 1, "mph": 0.44704}

// SpeedUnit reports whether s names a unit of speed: kn, kmh, ms or mph.
func SpeedUnit(s string) error {
	if _, ok := speedUnits[s]; !ok {
		return fmt.Errorf("%.32q is none of kn, kmh, ms, mph", s)
	}
	return nil
}

// earliestMillis is 1973 in milliseconds and the year 5138 in seconds: smaller numbers are seconds.
const earliestMillis = 1e11

// epoch returns the time of a number of seconds or milliseconds since 1970, in milliseconds.
func epoch(v float64) (int64, error) {
	if math.Abs(v) < earliestMillis {
		v *= 1000
	}
	if !(math.Abs(v) < 1e15) {
		return 0, fmt.Errorf("t: %v is out of range", v)
	}
	if v == 0 {
		return 0, errors.New("t: 0: the clock of the device is not set")
	}
	return int64(math.Round(v)), nil
}

// timeText returns the time of a text: seconds or milliseconds since 1970, RFC 3339, or the same
// with a space and without a zone, which is UTC.
func timeText(s string) (int64, error) {
	if v, err := strconv.ParseFloat(s, 64); err == nil {
		return epoch(v)
	}
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999Z0700", "2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999"} {
		if at, err := time.Parse(layout, s); err == nil {
			return at.UnixMilli(), nil
		}
	}
	return 0, fmt.Errorf("t: %.64q is neither a number of seconds or milliseconds nor as 2026-03-12T11:16:45Z", s)
}

// known returns a quantity times a factor. Devices write -1 for an unknown one, so negative ones
// are unknown.
func known(v *float64, factor float64) position.Measure {
	if v == nil || !(*v >= 0) || *v*factor > math.MaxFloat32 {
		return position.Measure{}
	}
	return position.Known(float32(*v * factor))
}

// height returns an altitude times a factor.
func height(v *float64, factor float64) position.Measure {
	if v == nil || !(math.Abs(*v*factor) <= math.MaxFloat32) {
		return position.Measure{}
	}
	return position.Known(float32(*v * factor))
}

// place sets longitude and latitude, or rejects the position because one of them is missing.
func (r *Result) place(p *position.Position, lon, lat *float64) bool {
	switch {
	case lat == nil:
		r.reject(p.ID, "lat: missing")
	case lon == nil:
		r.reject(p.ID, "lon: missing")
	default:
		p.Lon, p.Lat = *lon, *lat
		return true
	}
	return false
}

// props encodes what is known of an object, of any length. It leaves out empty texts and nil.
func props(values map[string]any) []byte {
	for name, v := range values {
		if v == nil || v == "" {
			delete(values, name)
		}
	}
	if len(values) == 0 {
		return nil
	}
	text, _ := events.PlainJSON(values) // values of JSON, and texts, always encode
	return text
}

// percent returns a level of a battery for props, or nil if it is unknown.
func percent(v *float64) any {
	if v == nil || !(*v >= 0 && *v <= 100) {
		return nil
	}
	return math.Round(*v)
}

// Name is an id that is written as text or as a whole number.
type Name string

// UnmarshalJSON takes a text, a whole number, or null.
func (n *Name) UnmarshalJSON(raw []byte) error {
	switch {
	case string(raw) == "null":
		return nil
	case raw[0] == '"':
		return json.Unmarshal(raw, (*string)(n))
	case strings.Trim(string(raw), "-0123456789") == "":
		*n = Name(raw)
		return nil
	}
	return errors.New("an id is a text or a whole number")
}

// object decodes a JSON object. The error begins with a field, or with body.
func object(body []byte, to any) error {
	err := json.Unmarshal(body, to)
	if te, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		field := te.Field
		if field == "" {
			field = "body"
		}
		return &fieldError{fmt.Sprintf("%.64s: not %.32s", field, te.Value)}
	}
	if err != nil {
		return fmt.Errorf("body: malformed JSON: %w", err)
	}
	return nil
}

// fieldError is an error about a value in a body that is well formed.
type fieldError struct{ reason string }

func (e *fieldError) Error() string { return e.reason }

// wrongField rejects a body for the value of a field, and passes other errors on.
func (r *Result) wrongField(object string, err error) error {
	if fe, ok := errors.AsType[*fieldError](err); ok && !strings.HasPrefix(fe.reason, "body:") {
		r.reject(object, "%s", fe.reason)
		return nil
	}
	return err
}
