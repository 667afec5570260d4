package dryrun

import (
	"cmp"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/subjects"
)

// AppendLine appends an event as a line for people: time, kind, rule, fence and object, and the
// reason unless it is a move. Names are written as in subjects of the bus. A kind that several
// rules may tell together has no rule, and - stands in its place.
func AppendLine(b []byte, e *track.Event) []byte {
	b = e.At.Time().AppendFormat(b, events.TimeFormat)
	b = append(append(append(b, ' '), e.Kind.String()...), ' ')
	b = append(append(b, cmp.Or(e.Rule, "-")...), ' ')
	b = append(subjects.AppendToken(b, e.Set), '/')
	key := ""
	if e.Fence != nil {
		key = e.Fence.Key
	}
	b = append(subjects.AppendToken(b, key), ' ')
	if e.Fleet != events.DefaultFleet {
		b = append(subjects.AppendToken(b, e.Fleet), '/')
	}
	b = subjects.AppendToken(b, e.ID)
	if e.Reason != track.Move {
		b = append(append(b, ' '), e.Reason.String()...)
	}
	return append(b, '\n')
}
