package dryrun

import (
	"cmp"
	"strconv"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/subjects"
)

// AppendLine appends an event as a line for people: time, kind, rule, fence and object, and the
// reason unless it is a move. Names are written as in subjects of the bus. A kind that several
// rules may tell together has no rule, and - stands in its place. A count has the number of objects
// in the place of the object, and two objects that are near each other have no fence.
func AppendLine(b []byte, e *track.Event) []byte {
	b = e.At.Time().AppendFormat(b, events.TimeFormat)
	b = append(append(append(b, ' '), e.Kind.String()...), ' ')
	b = append(append(b, cmp.Or(e.Rule, "-")...), ' ')
	if e.Set != "" {
		b = append(appendPlace(b, e), ' ')
	}
	switch {
	case e.Several == nil:
		b = events.AppendObjectID(b, e.Fleet, e.ID)
	case e.Several.Other == nil:
		b = append(strconv.AppendInt(b, int64(e.Several.Count), 10), " objects"...)
	default:
		b = append(events.AppendObjectID(b, e.Fleet, e.ID), ' ')
		b = events.AppendObjectID(b, e.Several.Other.Fleet, e.Several.Other.ID)
	}
	if e.Reason != track.Move {
		b = append(append(b, ' '), e.Reason.String()...)
	}
	return append(b, '\n')
}

// appendPlace appends the set and the fence of an event.
func appendPlace(b []byte, e *track.Event) []byte {
	key := ""
	if e.Fence != nil {
		key = e.Fence.Key
	}
	return subjects.AppendToken(append(subjects.AppendToken(b, e.Set), '/'), key)
}
