package format

import (
	"errors"
	"strings"

	"paddock/internal/platform/position"
)

// OwnTracks reads a message of the OwnTracks apps, https://owntracks.org/booklet/tech/json/: tst in
// seconds, vel in km/h, acc and alt in metres, cog in degrees. Messages of other types than
// location are ignored, encrypted ones rejected, as this program has no keys.
//
// The id of the object is user/device of topic, which is that of MQTT, or of the message's own
// topic; else it is the tracker id, tid.
func OwnTracks(body []byte, topic string) (r Result, err error) {
	if len(body) == 0 { // a friend was deleted in the app
		r.Ignored++
		return r, nil
	}
	var in struct {
		Type  string   `json:"_type"`
		Topic string   `json:"topic"`
		TID   string   `json:"tid"`
		Lat   *float64 `json:"lat"`
		Lon   *float64 `json:"lon"`
		Tst   *float64 `json:"tst"`
		Acc   *float64 `json:"acc"`
		Alt   *float64 `json:"alt"`
		Vel   *float64 `json:"vel"`
		Cog   *float64 `json:"cog"`
		Batt  *float64 `json:"batt"`
	}
	err = object(body, &in)
	p := position.Position{ID: ownTracksID(topic)}
	if p.ID == "" {
		p.ID = ownTracksID(in.Topic)
	}
	if p.ID == "" {
		p.ID = in.TID
	}
	if err != nil {
		return r, r.wrongField(p.ID, err)
	}
	switch in.Type {
	case "location":
	case "encrypted":
		r.reject(p.ID, "encrypted: turn the encryption of payloads off in the app, and use TLS")
		return r, nil
	case "":
		return r, errors.New("_type: missing: this is no message of OwnTracks")
	default:
		r.Ignored++
		return r, nil
	}
	if in.Tst != nil {
		if p.Time, err = epoch(*in.Tst); err != nil {
			r.reject(p.ID, "%v", err)
			return r, nil
		}
	}
	p.Accuracy, p.Speed, p.Heading, p.Altitude = known(in.Acc, 1), known(in.Vel, kmh), known(in.Cog, 1), height(in.Alt, 1)
	p.Props = props(map[string]any{"tid": in.TID, "battery": percent(in.Batt)})
	switch {
	case p.ID == "":
		r.reject("", "id: neither a topic nor a tid: set a tracker id in the app")
	case r.place(&p, in.Lon, in.Lat):
		r.Positions = append(r.Positions, p)
	}
	return r, nil
}

// ownTracksID returns user/device: the last two of at least three levels, as of
// owntracks/user/device.
func ownTracksID(topic string) string {
	levels := strings.Split(strings.TrimPrefix(topic, "/"), "/")
	n := len(levels)
	if n < 3 || levels[n-2] == "" || levels[n-1] == "" {
		return ""
	}
	return levels[n-2] + "/" + levels[n-1]
}
