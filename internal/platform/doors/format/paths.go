package format

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"paddock/internal/platform/position"
)

// Paths says where a JSON message has what. A path is the names of members with dots between them,
// and numbers, from 0, for elements of lists, as in items.0.gps.lat. For the id it may also be
// topic:N, which is level N of the topic, from 1. "" is a value that the message does not have.
type Paths struct {
	ID, Fleet, Lat, Lon, Time                 string
	Accuracy, Speed, Heading, Altitude, Props string
	SpeedUnit                                 string // kn, kmh, ms or mph; "" is ms
}

const topicLevel = "topic:"

// Check returns an error about the first path that cannot be.
func (p *Paths) Check() error {
	if p.ID == "" || p.Lat == "" || p.Lon == "" {
		return errors.New("fields: id, lat and lon are needed")
	}
	if level, ok := strings.CutPrefix(p.ID, topicLevel); ok {
		if n, err := strconv.Atoi(level); err != nil || n < 1 {
			return fmt.Errorf("id: %.64q: a level of the topic is a number from 1", p.ID)
		}
	}
	if p.SpeedUnit != "" {
		if err := SpeedUnit(p.SpeedUnit); err != nil {
			return fmt.Errorf("speed_unit: %w", err)
		}
	}
	return nil
}

// Decode reads a message: an object with one position, or a list of such objects.
func (p *Paths) Decode(body []byte, topic string) (r Result, err error) {
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return r, fmt.Errorf("body: malformed JSON: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return r, errors.New("body: something follows the JSON: put positions into a list")
	}
	if list, ok := v.([]any); ok {
		for _, one := range list {
			p.one(&r, one, topic)
		}
		return r, nil
	}
	p.one(&r, v, topic)
	return r, nil
}

func (p *Paths) one(r *Result, v any, topic string) {
	f := found{v: v}
	out := position.Position{Fleet: f.text("fleet", p.Fleet)}
	if level, ok := strings.CutPrefix(p.ID, topicLevel); ok {
		n, _ := strconv.Atoi(level) // see Check
		if levels := strings.Split(strings.TrimPrefix(topic, "/"), "/"); n <= len(levels) {
			out.ID = levels[n-1]
		}
	} else {
		out.ID = f.text("id", p.ID)
	}
	lon, lat := f.number("lon", p.Lon), f.number("lat", p.Lat)
	out.Accuracy, out.Speed = known(f.number("accuracy", p.Accuracy), 1), known(f.number("speed", p.Speed), speedUnits[cmp.Or(p.SpeedUnit, "ms")])
	out.Heading, out.Altitude = known(f.number("heading", p.Heading), 1), height(f.number("altitude", p.Altitude), 1)
	if text := f.text("t", p.Time); text != "" {
		var err error
		if out.Time, err = timeText(text); err != nil {
			f.err = cmp.Or(f.err, err)
		}
	}
	if m, ok := f.at(p.Props).(map[string]any); ok {
		out.Props = props(m)
	}
	switch {
	case f.err != nil:
		r.reject(out.ID, "%v", f.err)
	case out.ID == "":
		r.reject("", "id: nothing at %.64q", p.ID)
	case r.place(&out, lon, lat):
		r.Positions = append(r.Positions, out)
	}
}

// found looks values up in a message, and keeps the first error.
type found struct {
	v   any
	err error
}

// at returns the value at a path, or nil.
func (f *found) at(path string) any {
	if path == "" {
		return nil
	}
	v := f.v
	for name := range strings.SplitSeq(path, ".") {
		switch in := v.(type) {
		case map[string]any:
			v = in[name]
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(in) {
				return nil
			}
			v = in[i]
		default:
			return nil
		}
	}
	return v
}

// text returns a text, or a number as it is written.
func (f *found) text(field, path string) string {
	switch v := f.at(path).(type) {
	case nil:
	case string:
		return v
	case json.Number:
		return v.String()
	default:
		f.err = cmp.Or(f.err, fmt.Errorf("%s: neither a text nor a number at %.64q", field, path))
	}
	return ""
}

// number returns a number, or a text that is one.
func (f *found) number(field, path string) *float64 {
	text := f.text(field, path)
	if text == "" {
		return nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		f.err = cmp.Or(f.err, fmt.Errorf("%s: %.32q is not a number", field, text))
		return nil
	}
	return &v
}
