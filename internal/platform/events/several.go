package events

import (
	"strconv"

	"paddock/fence/track"
	"paddock/internal/platform/subjects"
)

// appendSeveralID appends the id of an event about several objects: count, the rule, the fence and
// the number of the record with which the event came.
func appendSeveralID(b []byte, e *track.Event, number uint64) []byte {
	b = append(b, "count/"...)
	b = append(subjects.AppendToken(b, e.Rule), '/')
	b = append(subjects.AppendToken(b, fenceKey(e)), '/')
	return strconv.AppendUint(b, number, 10)
}

// appendSeveralData appends the data of an event about several objects.
func appendSeveralData(b []byte, e *track.Event) (out []byte, shared []part) {
	b = append(b, `{"set":`...)
	b = appendString(b, e.Set)
	b, shared = appendFence(append(b, `,"fence":`...), e, shared)
	b = append(b, `,"object":null,"count":`...)
	b = strconv.AppendInt(b, int64(e.Several.Count), 10)
	b = append(b, `,"at_least":`...)
	b = strconv.AppendInt(b, int64(e.Several.AtLeast), 10)
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
