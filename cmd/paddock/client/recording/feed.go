package recording

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"paddock/internal/platform/doors/format"
	"paddock/internal/platform/position"
)

// maxFeed bounds a feed of GTFS-realtime, in bytes: a message of protobuf is read whole.
const maxFeed = 32 << 20

// feed yields the vehicles of a feed of GTFS-realtime by their times.
func (s *source) feed() Positions {
	return func(yield func(Fix, error) bool) {
		body, err := io.ReadAll(io.LimitReader(s.in, maxFeed+1))
		if err == nil && len(body) > maxFeed {
			err = fmt.Errorf("a feed has at most %d bytes", maxFeed)
		}
		if err != nil {
			yield(Fix{}, s.fatal(err))
			return
		}
		found, err := format.GTFS(body)
		if err != nil {
			yield(Fix{}, s.fatal(err))
			return
		}
		at := Place{File: s.name}
		for _, r := range found.Rejected {
			if !yield(Fix{}, &Rejected{at, r.Object + ": " + r.Reason}) {
				return
			}
		}
		slices.SortStableFunc(found.Positions, func(a, b position.Position) int { return cmp.Compare(a.Time, b.Time) })
		for _, p := range found.Positions {
			if !s.yield(p, at, func(f Fix, err error) bool {
				f.Due = found.Positions[len(found.Positions)-1].Time
				return yield(f, err)
			}) {
				return
			}
		}
	}
}
