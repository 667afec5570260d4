package track

import (
	"paddock/fence"
	"paddock/fence/geometry"
)

// crossingTime dates the change of membership between two fixes: the last
// crossing of the straight path a -> b with the fence's boundary, interpolated
// between their times. From that instant on the new state holds without
// interruption, and at a border that two fences share, leaving one and entering
// the other get the same instant.
//
// Where the path does not cross the boundary (the fix before was on the same side, and not
// believed), or after a silence longer than maxGap, it is the second fix's time.
func crossingTime(s *fence.Snapshot, ref fence.Ref, a, b geometry.Point, from, to, maxGap Millis) Millis {
	if to-from > maxGap {
		return to
	}
	_, last, ok := s.Passes(ref, a, b)
	if !ok {
		return to
	}
	return between(from, to, last)
}
