package track

import (
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

// pending is a change of membership that the policy of its set has not confirmed yet. It enters a
// fence if the object is not a member, and leaves it otherwise.
type pending struct {
	set    SetID
	ref    fence.Ref
	at     Millis  // when the first contrary fix crossed the boundary
	first  Millis  // time of the first contrary fix
	reach  float64 // metres that the boundary is away at most; not part of the state
	due    Millis  // when the state has lasted long enough by the clock; 0: its length does not matter
	fixes  int32   // the last contrary ones that counted, up to Policy.Fixes
	enough bool    // there are Policy.Fixes of them
}

// timed reports whether nothing but time is missing.
func (p *pending) timed() bool { return p.enough && p.due != 0 }

// turn is a change of a membership that a fix asks for.
type turn uint8

const (
	entering turn = iota
	leaving
	leavingAloft // by the altitude alone
)

// weigh adds a contrary fix of an object to the pending change, and reports whether that confirms
// it, and when the boundary was crossed.
func (s *Shard) weigh(o *object, t *terms, set *TrackedSet, ref fence.Ref, w turn, c *cause) (at Millis, confirmed bool) {
	p, after := pending{set: set.ID, ref: ref, reach: math.Inf(1)}, t.after(w)
	if i := o.findPending(set.ID, ref); i >= 0 {
		p = o.pending[i]
		p.reach += farthest(c.from, o.point)
	} else {
		p.at, p.first = s.crossing(o, t, set, ref, w, c), o.time
		// The path crosses the boundary. That of a corridor is not measured by its polygon.
		if f := set.Snapshot.Fence(ref); p.at < o.time && len(f.Geometry) == 1 && len(f.Lines) == 0 {
			p.reach = farthest(c.from, o.point)
		}
		if after > 0 {
			p.due = c.now + after
		}
	}
	p.count(t, p.beyond(o, t, set, w))
	if p.enough && (after == 0 || o.time-p.first >= after || p.due <= c.now) {
		return p.at, true
	}
	s.pending = append(s.pending, p)
	return 0, false
}

// certainty is how far beyond a boundary a contrary fix is.
type certainty uint8

const (
	shallow certainty = iota // within the margin, so it does not count
	counts
	sure // stands for all fixes
)

// count adds a contrary fix.
func (p *pending) count(t *terms, c certainty) {
	asked := int32(max(t.Fixes, 1))
	switch c {
	case shallow:
		p.fixes = 0
	case counts:
		p.fixes = min(p.fixes+1, asked)
	case sure:
		p.fixes = asked
	}
	p.enough = p.fixes >= asked
}

// smallShare is the share of its inradius that a margin is limited to for an object that enters.
const smallShare = 0.25

// beyond says how far beyond the boundary of a fence a contrary fix is. It measures only where
// the last measure and the way since do not tell.
func (p *pending) beyond(o *object, t *terms, set *TrackedSet, w turn) certainty {
	margin, certain := t.margins(o.accuracy())
	if w == leavingAloft || margin == 0 && certain == 0 {
		return counts
	}
	if w == entering && t.Metres > 0 {
		limit := float64(smallShare * set.Snapshot.Fence(p.ref).InradiusUpTo(max(margin, certain)/smallShare))
		margin, certain = min(margin, limit), min(certain, limit)
	}
	if p.reach < margin && (t.Sure == 0 || p.reach < certain) {
		return shallow
	}
	most := margin
	if t.Sure > 0 && p.reach >= certain {
		most = max(margin, certain)
	}
	distance := set.Snapshot.Within(p.ref, o.point.Lon, o.point.Lat, most)
	if distance < most {
		p.reach = distance
	}
	switch {
	case t.Sure > 0 && p.reach >= certain && distance >= certain:
		return sure
	case distance >= margin:
		return counts
	}
	return shallow
}

// degreeMetres is more than the metres of a degree anywhere.
const degreeMetres = 111_700

// farthest returns a distance in metres that two points are not further apart. It may differ
// between processors.
func farthest(a, b geometry.Point) float64 {
	const more = 1.001
	dx := (b.Lon - a.Lon) * math.Cos(min(math.Abs(a.Lat), math.Abs(b.Lat))*math.Pi/180)
	return degreeMetres * more * math.Hypot(dx, b.Lat-a.Lat)
}

// findPending returns the index of the pending change for a fence, -1 if there is none.
func (o *object) findPending(set SetID, ref fence.Ref) int {
	return slices.IndexFunc(o.pending, func(p pending) bool { return p.set == set && p.ref == ref })
}
