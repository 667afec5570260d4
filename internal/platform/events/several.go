package events

import (
	"encoding/json"
	"strconv"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// appendSeveralID appends the id of an event about several objects: count, the rule, the fence and
// the number of the record with which the event came; or near, the rule, the two objects and that
// number. The objects have their fleets, both or, if both are in the default one, neither.
func appendSeveralID(b []byte, e *track.Event, number uint64) []byte {
	if other := e.Several.Other; other != nil {
		b = append(subjects.AppendToken(append(b, "near/"...), e.Rule), '/')
		for _, o := range []track.Party{{Fleet: e.Fleet, ID: e.ID}, *other} {
			if e.Fleet != DefaultFleet || other.Fleet != DefaultFleet {
				b = append(subjects.AppendToken(b, o.Fleet), '/')
			}
			b = append(subjects.AppendToken(b, o.ID), '/')
		}
	} else {
		b = append(subjects.AppendToken(append(b, "count/"...), e.Rule), '/')
		b = append(subjects.AppendToken(b, fenceKey(e)), '/')
	}
	return strconv.AppendUint(b, number, 10)
}

// appendSource appends the source of an event without its run: the set, or the rule of an event
// that is about no set.
func appendSource(b []byte, e *track.Event) []byte {
	if e.Several != nil && e.Several.Other != nil {
		return subjects.AppendToken(append(b, "/rules/"...), e.Rule)
	}
	return subjects.AppendToken(append(b, "/sets/"...), e.Set)
}

// appendSeveralData appends the data of an event about several objects.
func appendSeveralData(b []byte, e *track.Event) (out []byte, shared []part) {
	if e.Several.Other != nil {
		b, shared = appendNear(b, e)
	} else {
		b, shared = appendCount(b, e)
	}
	b = appendTime(append(b, `,"at":`...), e.At)
	b = appendTime(append(b, `,"t":`...), e.Time)
	b = appendTime(append(b, `,"since":`...), e.Since)
	b = append(b, `,"duration_ms":`...)
	b = strconv.AppendInt(b, int64(e.At-e.Since), 10)
	b = append(b, `,"visit":"`...)
	b = appendSeveralID(b, e, e.Visit)
	b = append(b, `","reason":"`...)
	b = append(b, e.Reason.String()...)
	b = appendString(append(b, `","rule":`...), e.Rule)
	return append(b, '}'), shared
}

// appendCount appends the beginning of the data of an event of a count.
func appendCount(b []byte, e *track.Event) (out []byte, shared []part) {
	b = appendString(append(b, `{"set":`...), e.Set)
	b, shared = appendFence(append(b, `,"fence":`...), e, nil)
	b = strconv.AppendInt(append(b, `,"object":null,"count":`...), int64(e.Several.Count), 10)
	return strconv.AppendInt(append(b, `,"at_least":`...), int64(e.Several.AtLeast), 10), shared
}

// appendNear appends the beginning of the data of an event of two objects.
func appendNear(b []byte, e *track.Event) (out []byte, shared []part) {
	other := e.Several.Other
	b, shared = appendParty(append(b, `{"set":null,"fence":null,"object":`...), e.Fleet, e.ID, e.Props, nil)
	b = AppendPoint(append(b, `,"point":`...), e.Point)
	b, shared = appendParty(append(b, `,"other":`...), other.Fleet, other.ID, other.Props, shared)
	b = AppendPoint(append(b, `,"other_point":`...), other.Point)
	return strconv.AppendFloat(append(b, `,"metres":`...), e.Several.Metres, 'f', 2, 64), shared
}

// appendParty appends an object that an event is about.
func appendParty(b []byte, fleet, id string, props json.RawMessage, shared []part) ([]byte, []part) {
	b = appendString(append(b, `{"id":`...), id)
	b = appendString(append(b, `,"fleet":`...), fleet)
	b, shared = appendObject(append(b, `,"properties":`...), props, shared)
	return append(b, '}'), shared
}
