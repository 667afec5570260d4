package fencebench

import (
	"fmt"
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// near is how close to an edge, in degrees, another program may answer otherwise: a
// metre or so. Rules for points on edges differ, and some bend edges along great
// circles.
const near = 1e-5

// judge is the kind whose answers all others are compared with.
const judge = string(fence.KindRTree)

// compared is how many points of each sort are compared: the slowest kind takes a
// second or two for them.
const compared = 1 << 11

// agree compares a contender's answers with those of the judge. Ours must be equal at
// every point; others at every point that is not near an edge of a fence in question.
func (b *Bench) agree(s *scene, contender string, x index) error {
	if contender == judge {
		return nil
	}
	reference, err := b.index(judge)
	if err != nil {
		return err
	}
	_, other := builders[contender]
	var got, want []fence.Ref
	for _, sort := range []string{buses, uniform, adversarial} {
		if other && sort == adversarial {
			continue // every one of them is on an edge
		}
		for _, p := range s.points[sort][:compared] {
			got = x.find(got[:0], p.Lon, p.Lat)
			want = reference.find(want[:0], p.Lon, p.Lat)
			slices.Sort(got)
			if slices.Equal(got, want) || other && s.excused(got, want, p) {
				continue
			}
			return fmt.Errorf("the answer for %v, one of the %s points, is %v and not %v", p, sort, got, want)
		}
	}
	return nil
}

// excused reports whether the point is near an edge of each fence that only one of
// the answers has.
func (s *scene) excused(got, want []fence.Ref, p geometry.Point) bool {
	for _, ref := range slices.Concat(got, want) {
		if slices.Contains(got, ref) == slices.Contains(want, ref) {
			continue
		}
		if s.distance(s.fences[ref], p) > near {
			return false
		}
	}
	return true
}

// distance is that of a point from the fence's edges, in degrees.
func (s *scene) distance(f *fence.Fence, p geometry.Point) float64 {
	least := math.Inf(1)
	for ring := range rings(f) {
		for i, a := range ring {
			b := ring[(i+1)%len(ring)]
			dx, dy := b.Lon-a.Lon, b.Lat-a.Lat
			t := 0.0
			if l := dx*dx + dy*dy; l > 0 {
				t = min(max(((p.Lon-a.Lon)*dx+(p.Lat-a.Lat)*dy)/l, 0), 1)
			}
			least = min(least, math.Hypot(a.Lon+t*dx-p.Lon, a.Lat+t*dy-p.Lat))
		}
	}
	return least
}
