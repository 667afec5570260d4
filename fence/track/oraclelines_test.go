package track_test

import (
	"fmt"
	"math"
	"math/big"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// oraclePassage is a crossing of a line that is not confirmed.
type oraclePassage struct {
	lineCrossing
	from, to track.Position
	fixes    []contraryFix
}

// lineCrossing is a crossing of a line by a path.
type lineCrossing struct {
	share float64
	left  bool
}

// lineCrossings returns the crossings of lines by the path from a to b, in the order of the path
// when it is moved.
func lineCrossings(lines geometry.MultiLine, a, b geometry.Point) (all []lineCrossing) {
	type meeting struct {
		lineCrossing
		moved *big.Rat
	}
	var met []meeting
	for _, l := range lines {
		for i := 1; i < len(l); i++ {
			p, q := l[i-1], l[i]
			share, moved, ok := movedMeeting(a, b, p, q)
			if !ok {
				continue
			}
			dx, dy := difference(q.Lon, p.Lon), difference(q.Lat, p.Lat)
			ex, ey := difference(b.Lon, p.Lon), difference(b.Lat, p.Lat)
			ex.Add(ex, tiny)
			ey.Add(ey, tinier)
			side := new(big.Rat).Sub(dx.Mul(dx, ey), dy.Mul(dy, ex))
			met = append(met, meeting{lineCrossing{share, side.Sign() > 0}, moved})
		}
	}
	slices.SortStableFunc(met, func(x, y meeting) int { return x.moved.Cmp(y.moved) })
	for _, m := range met {
		all = append(all, m.lineCrossing)
	}
	return all
}

// isLine reports whether a fence is a line that is no corridor.
func isLine(f *fence.Fence) bool { return len(f.Lines) > 0 && len(f.Geometry) == 0 }

// crossLine tells the crossings of a line between two fixes, if the path between them is known.
func (o *oracle) crossLine(obj *oracleObject, f oracleFence, from *track.Position, known bool) (all []happening) {
	name, policy := fenceName{f.set, f.fence.Key}, o.policyFor(f)
	if !known {
		delete(obj.passages, name)
		return nil
	}
	ignored := ignores(policy, &obj.last)
	rules := o.rulesOf(o.rules, obj.id, f.set, o.hourOf(obj))
	tell := func(c lineCrossing, from, to *track.Position) {
		direction := rule.Right
		if c.left {
			direction = rule.Left
		}
		told := slices.ContainsFunc(rules, func(r oracleRule) bool {
			return r.Detect.Has(rule.Cross) && r.names(&f.fence) && (r.Direction == rule.AnyDirection || r.Direction == direction) && r.when(obj, &f.fence)
		})
		if told {
			at := from.Time + track.Millis(math.Round(c.share*float64(to.Time-from.Time)))
			all = append(all, happening{
				kind: track.Cross, reason: track.Move, name: name, at: at, since: at, left: at, order: orderOf(f),
				direction: direction, path: []track.Position{*from, *to},
			})
		}
	}
	margins := policy.Metres > 0 || policy.AccuracyFactor > 0
	selected := slices.ContainsFunc(rules, func(r oracleRule) bool { return r.Detect.Has(rule.Cross) && r.names(&f.fence) })
	if fits, sure := o.altitudeFits(f, &obj.last); fits && sure && selected {
		for _, c := range lineCrossings(f.fence.Lines, pointOf(from), pointOf(&obj.last)) {
			passage := obj.passages[name]
			switch {
			case !margins && !ignored && passage == nil:
				tell(c, from, &obj.last)
			case passage == nil:
				obj.passages[name] = &oraclePassage{lineCrossing: c, from: *from, to: obj.last}
			case passage.left != c.left:
				delete(obj.passages, name)
			}
		}
	}
	passage := obj.passages[name]
	if _, said := o.altitudeFits(f, &obj.last); passage == nil || !said {
		return all
	}
	if _, said := o.altitudeFits(f, from); !said && isBack(passage, f.fence.Lines, &obj.last) {
		delete(obj.passages, name)
		return all
	}
	if ignored {
		return all
	}
	if !margins {
		delete(obj.passages, name)
		tell(passage.lineCrossing, &passage.from, &passage.to)
		return all
	}
	distance := lineDistance(f.fence.Lines, pointOf(&obj.last))
	margin, sure := marginsOf(policy, &obj.last)
	passage.fixes = append(passage.fixes, contraryFix{
		counts: margin == 0 || atLeast(distance, margin), sure: policy.Sure > 0 && atLeast(distance, sure),
	})
	if (&contrary{fixes: passage.fixes}).isEnough(policy) {
		delete(obj.passages, name)
		tell(passage.lineCrossing, &passage.from, &passage.to)
	}
	return all
}

// isBack reports whether an object is on the side of a line that it came from. Fixes in between say
// nothing of the line, so it is the straight way from the crossing that says so.
func isBack(p *oraclePassage, lines geometry.MultiLine, now *track.Position) bool {
	left := p.left
	for _, c := range lineCrossings(lines, pointOf(&p.to), pointOf(now)) {
		left = c.left
	}
	return left != p.left
}

// keepsPassage reports whether a change leaves a line, and its rules, as they are for an object.
func (o *oracle) keepsPassage(obj *oracleObject, name fenceName, before change0, at track.Millis) bool {
	i := slices.IndexFunc(before.fences, func(f oracleFence) bool { return f.set == name.set && f.fence.Key == name.key })
	if i < 0 || !isSamePolicy(before.policies[name.set], o.policies[name.set]) || !o.isAsBefore(name, before.fences) {
		return false
	}
	there, same := o.sameAs(before.fences[i], o.fences)
	return there && same && slices.ContainsFunc(o.rulesOf(o.rules, obj.id, name.set, at), func(r oracleRule) bool {
		f := o.named(name)
		return r.Detect.Has(rule.Cross) && r.names(&f.fence)
	})
}

// lineDistance is the distance from a point to the nearest place of lines.
func lineDistance(lines geometry.MultiLine, p geometry.Point) float64 {
	plane, nearest := planeAt(p), math.Inf(1)
	for _, l := range lines {
		for i := 1; i < len(l); i++ {
			nearest = min(nearest, plane.toEdge(l[i-1], l[i]))
		}
	}
	return nearest
}

// isAlong reports whether a place so many metres along lines is one of those nearest to a point.
func isAlong(lines geometry.MultiLine, p geometry.Point, metres float64) bool {
	plane, nearest, length := planeAt(p), lineDistance(lines, p), 0.0
	for _, l := range lines {
		for i := 1; i < len(l); i++ {
			ax, ay := plane.of(l[i-1])
			bx, by := plane.of(l[i])
			long := math.Hypot(bx-ax, by-ay)
			u := min(max((metres-length)/long, 0), 1)
			if d := math.Hypot(ax+u*(bx-ax), ay+u*(by-ay)); d < nearest+0.01 && math.Abs(length+u*long-metres) < 0.01 {
				return true
			}
			length += long
		}
	}
	return false
}

// bufferOf returns the buffer of a corridor, 0 for other fences.
func bufferOf(f *fence.Fence) float64 {
	metres, _ := settingsOf(f)["paddock:buffer"].(float64)
	return metres
}

// distanceTo is the distance from a point to the boundary of a fence. For a corridor it is measured
// from the line.
func distanceTo(f *fence.Fence, p geometry.Point) float64 {
	switch buffer := bufferOf(f); {
	case buffer == 0:
		return boundaryDistance(f.Geometry, p)
	case holds(f.Geometry, p):
		return max(buffer-lineDistance(f.Lines, p), 0)
	default:
		return max(lineDistance(f.Lines, p)-buffer, 0)
	}
}

// inradiusOf is the radius of the circle in a square, or the buffer of a corridor.
func inradiusOf(f *fence.Fence) float64 {
	if buffer := bufferOf(f); buffer > 0 {
		return buffer
	}
	return squareInradius(f.Geometry)
}

// line draws a line, lines, or a corridor of a fence. The vertices are on the places of objects,
// except those of corridors: no place is exactly as far from one as its buffer.
func (h *history) line(f *fence.Fence) {
	side := 1.25 * h.unit
	vertex := func() geometry.Point {
		return geometry.Point{Lon: float64(h.IntN(9)) / 2 * side, Lat: float64(h.IntN(9)) / 2 * side}
	}
	draw := func(edges int) geometry.Line {
		l := geometry.Line{vertex()}
		for len(l) <= edges {
			if next := vertex(); next != l[len(l)-1] {
				l = append(l, next)
			}
		}
		return l
	}
	f.Geometry = nil
	if h.IntN(3) == 0 {
		f.Lines = geometry.MultiLine{draw(1)}
		return
	}
	if f.Lines = (geometry.MultiLine{draw(1 + h.IntN(3))}); h.IntN(3) == 0 {
		f.Lines = append(f.Lines, draw(2))
	}
	if h.IntN(2) > 0 {
		return
	}
	for _, l := range f.Lines {
		for i := range l {
			l[i].Lon += 0.137 * side
			l[i].Lat += 0.137 * side
		}
	}
	f.Properties = fmt.Appendf(nil, `{"kind":%q,"paddock:buffer":41.37}`, kindOf(f))
}
