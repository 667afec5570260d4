package events

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// encode returns the event as one CloudEvents 1.0 JSON object, without a newline.
//
// The attribute id is the object's id and its event count, as "v42/17", preceded by the fleet
// unless that is the default one. Each part is written as a bus token, so that ids of two objects
// never coincide. For events about several objects see appendSeveralID. The attribute source is the
// set, and the run if there is one. The attributes traceparent and tracestate, of CloudEvents'
// extension for distributed tracing, are those of the request that caused the event.
func encode(e *track.Event, run string) Text {
	var room [1024]byte
	var shared []part
	b := append(room[:0], `{"specversion":"1.0","id":"`...)
	b = appendEventID(b, e, e.Seq)
	b = appendSource(append(b, `","source":"`...), e)
	if run != "" {
		b = append(append(b, "?run="...), run...)
	}
	b = append(b, `","type":"paddock.fence.`...)
	b = append(b, e.Kind.String()...)
	b = append(b, `","subject":`...)
	b = appendString(b, subjectOf(e))
	b = append(b, `,"time":`...)
	b = appendTime(b, e.At)
	b = appendTrace(b, e.Trace)
	b = append(append(b, dataFollows...), `"application/json","data":`...)
	if e.Several != nil {
		b, shared = appendSeveralData(b, e)
	} else {
		b, shared = appendData(b, e)
	}
	return Text{own: bytes.Clone(append(b, '}')), shared: shared}
}

// subjectOf returns the attribute subject: the object, or the fence if the event is about several.
func subjectOf(e *track.Event) string {
	if e.ID == "" {
		return fenceKey(e)
	}
	return e.ID
}

func appendData(b []byte, e *track.Event) (out []byte, shared []part) {
	b = append(b, `{"set":`...)
	b = appendString(b, e.Set)
	b, shared = appendFence(append(b, `,"fence":`...), e, shared)
	b, shared = appendParty(append(b, `,"object":`...), e.Fleet, e.ID, e.Props, shared)
	b = append(b, `,"point":`...)
	b = AppendPoint(b, e.Point)
	if e.HasPrev {
		b = append(b, `,"prev":`...)
		b = AppendPoint(b, e.Prev)
	}
	b = append(b, `,"at":`...)
	b = appendTime(b, e.At)
	b = append(b, `,"t":`...)
	b = appendTime(b, e.Time)
	b = append(b, `,"since":`...)
	b = appendTime(b, e.Since)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendInt(b, int64(e.At-e.Since), 10)
	b = append(b, `,"seq":`...)
	b = strconv.AppendUint(b, e.Seq, 10)
	b = append(b, `,"visit":"`...)
	b = appendEventID(b, e, e.Visit)
	b = append(b, `","reason":"`...)
	b = append(b, e.Reason.String()...)
	return append(appendDetails(append(b, '"'), e), '}'), shared
}

func appendFence(b []byte, e *track.Event, shared []part) ([]byte, []part) {
	if e.Fence == nil {
		return append(b, "null"...), shared
	}
	b = appendString(append(b, `{"id":`...), e.Fence.Key)
	b = append(b, `,"properties":`...)
	b, shared = appendObject(b, e.Fence.Properties, shared)
	return append(b, '}'), shared
}

// appendDetails appends the members that some events have.
func appendDetails(b []byte, e *track.Event) []byte {
	if e.Rule != "" {
		b = appendString(append(b, `,"rule":`...), e.Rule)
	}
	if e.Kind == track.Cross && e.Left != 0 {
		b = appendTime(append(b, `,"left":`...), e.Left)
	}
	if e.Direction != 0 {
		b = append(append(b, `,"direction":"`...), e.Direction.String()...)
		b = append(b, '"')
	}
	if e.Altitude.Known {
		b = strconv.AppendFloat(append(b, `,"altitude":`...), float64(e.Altitude.Value), 'f', -1, 32)
	}
	if e.Progress.Known {
		b = strconv.AppendFloat(append(b, `,"progress":`...), float64(e.Progress.Value), 'f', 1, 32)
	}
	return b
}

// fenceKey returns the key of the event's fence, or "" if the event is about all of the set.
func fenceKey(e *track.Event) string {
	if e.Fence == nil {
		return ""
	}
	return e.Fence.Key
}

// DefaultFleet is the fleet of an object that names none.
const DefaultFleet = "default"

// VisitID returns the id of a visit in events: the id of the event that began it, with a count of 0
// if no event did.
func VisitID(fleet, id string, visit uint64) string {
	return string(appendEventID(nil, &track.Event{Fleet: fleet, ID: id}, visit))
}

func appendEventID(b []byte, e *track.Event, seq uint64) []byte {
	if e.Several != nil {
		return appendSeveralID(b, e, seq)
	}
	return strconv.AppendUint(append(AppendObjectID(b, e.Fleet, e.ID), '/'), seq, 10)
}

// AppendObjectID appends the tokens of an object, without the fleet if it is the default one.
func AppendObjectID(b []byte, fleet, id string) []byte {
	if fleet != DefaultFleet {
		b = append(subjects.AppendToken(b, fleet), '/')
	}
	return subjects.AppendToken(b, id)
}

// AppendPoint appends a GeoJSON Point.
func AppendPoint(b []byte, p geometry.Point) []byte {
	b = append(b, `{"type":"Point","coordinates":[`...)
	b = AppendFloat(b, p.Lon)
	b = append(b, ',')
	b = AppendFloat(b, p.Lat)
	return append(b, `]}`...)
}

// AppendFloat appends the shortest decimal that reads back as f. Coordinates are never so small or
// large that an exponent would be shorter.
func AppendFloat(b []byte, f float64) []byte {
	return strconv.AppendFloat(b, f, 'f', -1, 64)
}

// appendTime appends an instant as RFC 3339 in UTC, to the millisecond.
func appendTime(b []byte, m track.Millis) []byte {
	b = append(b, '"')
	b = m.Time().AppendFormat(b, TimeFormat)
	return append(b, '"')
}

// TimeFormat is RFC 3339 to the millisecond, for times in UTC.
const TimeFormat = "2006-01-02T15:04:05.000Z07:00"

// FormatTime formats an instant as events do.
func FormatTime(t time.Time) string { return t.UTC().Format(TimeFormat) }

// appendObject appends properties, or records their place if they are long.
func appendObject(b []byte, raw json.RawMessage, shared []part) ([]byte, []part) {
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return append(b, '{', '}'), shared
	case len(raw) >= sharedFrom:
		return b, append(shared, part{at: len(b), json: raw})
	}
	return append(b, raw...), shared
}

// appendString appends s as a JSON string. Most ids need no escapes; the others go through
// encoding/json.
func appendString(b []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return appendEscaped(b, s)
		}
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

func appendEscaped(b []byte, s string) []byte {
	text, _ := PlainJSON(s) // a string always encodes
	return append(b, text...)
}

// Subject returns the bus subject of an event: fence.<set>.<fence>.<event>.<fleet>.<object>. The
// fence is _ if the event is about all of the set, and fleet and object are if it is about several.
func Subject(e *track.Event) string {
	b := make([]byte, 0, 96)
	b = append(b, "fence."...)
	b = append(subjects.AppendToken(b, e.Set), '.')
	b = append(subjects.AppendToken(b, fenceKey(e)), '.')
	b = append(append(b, e.Kind.String()...), '.')
	b = append(subjects.AppendToken(b, e.Fleet), '.')
	return string(subjects.AppendToken(b, e.ID))
}
