package events

import (
	"bytes"
	"encoding/json"
	"time"

	"paddock/fence/track"
)

// tile38Time is the form of times in Tile38's notifications: RFC 3339 with the digits of the second
// that are needed.
const tile38Time = time.RFC3339Nano

// AppendTile38 appends an event as a notification of a Tile38 geofence, for programs that read
// these. It is made of the event's JSON, as that is what the journal keeps.
//
// The members and their order are those of Tile38's documentation. The set stands for the key, the
// object's properties for its fields, and the visit for the group. The hook is the rule of an event
// that has one. Tile38 has a hook for each fence; here meta names the fence, and the fleet. A kind
// that Tile38 does not have is given as detect under our name.
func AppendTile38(dst []byte, r *Record) []byte {
	var e tile38Event
	if json.Unmarshal(r.JSON.Bytes(), &e) != nil {
		return r.JSON.Append(dst) // it is no event of ours
	}
	d := &e.Data
	command := "set"
	if r.Visit.Reason == track.ObjectRemoved {
		command = "del"
	}
	dst = append(append(dst, `{"command":"`...), command...)
	dst = appendString(append(dst, `","group":`...), d.Visit)
	dst = append(append(dst, `,"detect":"`...), r.Kind.String()...)
	dst = append(dst, '"')
	if d.Rule != "" {
		dst = appendString(append(dst, `,"hook":`...), d.Rule)
	}
	dst = append(dst, `,"meta":{`...)
	if r.Fence != "" {
		dst = append(appendString(append(dst, `"fence":`...), r.Fence), ',')
	}
	dst = appendString(append(dst, `"fleet":`...), r.Fleet)
	dst = appendString(append(dst, `},"key":`...), r.Set)
	dst = append(dst, `,"time":"`...)
	dst = r.Visit.At.Time().AppendFormat(dst, tile38Time)
	dst = appendString(append(dst, `","id":`...), r.Object)
	if len(d.Point) > 0 {
		dst = append(append(dst, `,"object":`...), d.Point...)
	}
	if p := d.Object.Properties; len(p) > 0 && !bytes.Equal(p, []byte("{}")) {
		dst = append(append(dst, `,"fields":`...), p...)
	}
	return append(dst, '}')
}

// tile38Event is what a notification needs of an event beside its record.
type tile38Event struct {
	Data struct {
		Object struct {
			Properties json.RawMessage `json:"properties"`
		} `json:"object"`
		Point json.RawMessage `json:"point"`
		Visit string          `json:"visit"`
		Rule  string          `json:"rule"`
	} `json:"data"`
}
