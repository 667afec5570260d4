package lookup

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"paddock/fence"
	"paddock/fence/geometry"
)

const (
	// MaxDistance bounds the distance of a request, in metres.
	MaxDistance = 100_000
	// MaxNearest bounds the number of the nearest fences of a request.
	MaxNearest = 1000
	// maxNear bounds the fences of an answer by distance alone.
	maxNear = 10_000
)

// nearFence is a fence of one of the sets.
type nearFence struct {
	set int
	fence.Near
}

// away is the distance to the fence in metres: 0 if it holds the point.
func (n nearFence) away() float64 { return max(-n.Distance, 0) }

// Near appends {"fences":[...]} to the answer, with the fences that hold the point or are at most
// so many metres away, nearest first. nearest bounds their number; 0 is no bound.
func (l *Lookup) Near(p geometry.Point, metres float64, nearest int) error {
	most := cmp.Or(nearest, maxNear+1)
	var found []nearFence
	var near []fence.Near
	for i := range l.sets {
		near = l.sets[i].snap.AppendNear(near[:0], p.Lon, p.Lat, metres, most)
		for _, n := range near {
			found = append(found, nearFence{i, n})
		}
		if nearest == 0 && len(found) > maxNear {
			return fail(TooLarge, "more than %d fences within %v m: ask for a smaller distance, one set, or the nearest ones", maxNear, metres)
		}
		if len(found) >= most {
			found = nearestOf(found)[:most]
			metres = found[most-1].away() // further ones are in no answer
		}
	}
	return l.nearFences(nearestOf(found))
}

// nearestOf sorts fences by distance. Those of one set are in their order already.
func nearestOf(found []nearFence) []nearFence {
	slices.SortStableFunc(found, func(a, b nearFence) int { return cmp.Compare(a.away(), b.away()) })
	return found
}

func (l *Lookup) nearFences(found []nearFence) error {
	l.text(`{"fences":[`)
	for i, n := range found {
		if i > 0 {
			l.text(",")
		}
		s := &l.sets[n.set]
		l.foundAt(s.name, s.snap.Fence(n.Ref), n.Distance)
		if err := l.fits(); err != nil {
			return err
		}
	}
	l.text("]}")
	return l.fits()
}

// foundAt is found with the distance to the boundary in metres. It is negative within the fence, so
// that no distance in an answer is greater than the requested one.
func (l *Lookup) foundAt(set string, f *fence.Fence, inside float64) {
	l.name(set, f)
	l.text(`,"distance":`)
	l.Answer = strconv.AppendFloat(l.Answer, 0-math.Round(inside*1000)/1000, 'f', -1, 64)
	l.properties(f)
}
