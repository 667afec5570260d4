package format

import (
	"bytes"
	"encoding/json"
	"errors"

	"paddock/internal/platform/position"
)

// Traccar reads the JSON of the Traccar Client from version 9, with location and device_id, and
// what Traccar sends with forward.type=json, with position and device. The client gives its speed
// in metres per second, Traccar in knots. The client's format is at
// https://www.traccar.org/osmand/, the one that is forwarded at https://www.traccar.org/forward/.
func Traccar(body []byte) (r Result, err error) {
	var in struct {
		DeviceID Name            `json:"device_id"`
		Location json.RawMessage `json:"location"`
		Position json.RawMessage `json:"position"`
		Device   struct {
			Name     string `json:"name"`
			UniqueID Name   `json:"uniqueId"`
		} `json:"device"`
	}
	if err := object(body, &in); err != nil {
		return r, r.wrongField(string(in.DeviceID), err)
	}
	switch {
	case !empty(in.Position):
		if in.Device.UniqueID == "" {
			return r, errors.New("device.uniqueId: missing")
		}
		r.forwarded(string(in.Device.UniqueID), in.Device.Name, in.Position)
	case !empty(in.Location):
		if in.DeviceID == "" {
			return r, errors.New("device_id: missing")
		}
		r.locations(string(in.DeviceID), in.Location)
	case in.DeviceID != "" || in.Device.UniqueID != "":
		r.Ignored++
	default:
		return r, errors.New("body: neither location with device_id, as of the Traccar Client, nor position with device, as Traccar forwards")
	}
	return r, nil
}

func empty(raw json.RawMessage) bool { return len(raw) == 0 || raw[0] == 'n' }

// locations reads the location of the Traccar Client, or a list of them.
func (r *Result) locations(id string, raw json.RawMessage) {
	list := []json.RawMessage{raw}
	if bytes.HasPrefix(bytes.TrimSpace(raw), []byte("[")) {
		if err := json.Unmarshal(raw, &list); err != nil {
			r.reject(id, "location: malformed")
			return
		}
	}
	for _, one := range list {
		r.location(id, one)
	}
}

func (r *Result) location(id string, raw json.RawMessage) {
	var in struct {
		Timestamp json.RawMessage `json:"timestamp"`
		Coords    *struct {
			Latitude  *float64 `json:"latitude"`
			Longitude *float64 `json:"longitude"`
			Accuracy  *float64 `json:"accuracy"`
			Speed     *float64 `json:"speed"`
			Heading   *float64 `json:"heading"`
			Altitude  *float64 `json:"altitude"`
		} `json:"coords"`
		Battery struct {
			Level *float64 `json:"level"`
		} `json:"battery"`
	}
	if err := object(raw, &in); err != nil {
		r.reject(id, "%v", err)
		return
	}
	if in.Coords == nil {
		r.Ignored++
		return
	}
	c := in.Coords
	p := position.Position{
		ID: id, Accuracy: known(c.Accuracy, 1), Speed: known(c.Speed, 1), Heading: known(c.Heading, 1), Altitude: height(c.Altitude, 1),
	}
	if level := in.Battery.Level; level != nil {
		full := *level * 100
		p.Props = props(map[string]any{"battery": percent(&full)})
	}
	if r.at(&p, in.Timestamp) && r.place(&p, c.Longitude, c.Latitude) {
		r.Positions = append(r.Positions, p)
	}
}

// at sets the time of a position, or rejects the position.
func (r *Result) at(p *position.Position, raw json.RawMessage) bool {
	if empty(raw) {
		return true
	}
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			r.reject(p.ID, "t: malformed")
			return false
		}
	}
	var err error
	if p.Time, err = timeText(text); err != nil {
		r.reject(p.ID, "%v", err)
		return false
	}
	return true
}

// forwarded reads a position that Traccar forwards. Traccar sends 0 for an unknown accuracy.
func (r *Result) forwarded(id, name string, raw json.RawMessage) {
	var in struct {
		Latitude   *float64        `json:"latitude"`
		Longitude  *float64        `json:"longitude"`
		FixTime    json.RawMessage `json:"fixTime"`
		Valid      *bool           `json:"valid"`
		Outdated   bool            `json:"outdated"`
		Accuracy   *float64        `json:"accuracy"`
		Speed      *float64        `json:"speed"`
		Course     *float64        `json:"course"`
		Altitude   *float64        `json:"altitude"`
		Attributes struct {
			BatteryLevel *float64 `json:"batteryLevel"`
		} `json:"attributes"`
	}
	if err := object(raw, &in); err != nil {
		r.reject(id, "%v", err)
		return
	}
	if in.Outdated { // a message without a place: Traccar repeats the last one
		r.Ignored++
		return
	}
	if in.Accuracy != nil && *in.Accuracy == 0 {
		in.Accuracy = nil
	}
	p := position.Position{
		ID: id, Accuracy: known(in.Accuracy, 1), Speed: known(in.Speed, knot), Heading: known(in.Course, 1), Altitude: height(in.Altitude, 1),
		Props: props(map[string]any{"name": name, "battery": percent(in.Attributes.BatteryLevel)}),
	}
	switch {
	case in.Valid != nil && !*in.Valid:
		r.reject(id, "valid: false: the device has no fix")
	case r.at(&p, in.FixTime) && r.place(&p, in.Longitude, in.Latitude):
		r.Positions = append(r.Positions, p)
	}
}
