package track

import (
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// passage is a crossing of a line that the policy has not confirmed yet. If the policy has no
// margin it is one on the way to a fix that says nothing, and waits for the next fix that does.
type passage struct {
	set       SetID
	ref       fence.Ref
	direction rule.Direction
	at        Millis // of the crossing
	fixes     int    // the last ones that counted
	path
}

// path is the two fixes between which an object crossed a line.
type path struct {
	from, to geometry.Point
	altitude Measure // of the second one
}

// maxPassages bounds the passages of an object. A crossing beyond them is told at once.
const maxPassages = 64

// passLine follows the crossings of a line: the first one begins a passage, or is told if nothing
// is to be confirmed. One in the other direction ends a passage without an event.
func (s *Shard) passLine(o *object, set *TrackedSet, x *setScope, t *terms, ref fence.Ref, f *fence.Fence, c *cause) {
	if !x.crosses(f) {
		return
	}
	s.crossings = f.Lines.AppendCrossings(s.crossings[:0], c.from, o.point)
	for _, cr := range s.crossings {
		p := passage{
			set: set.ID, ref: ref, direction: directionOf(cr), at: between(c.fromTime, o.time, cr.Share),
			path: path{c.from, o.point, o.altitude()},
		}
		i := slices.IndexFunc(o.passages, func(q passage) bool { return q.set == set.ID && q.ref == ref })
		switch {
		case i >= 0 && o.passages[i].direction != p.direction:
			o.passages = slices.Delete(o.passages, i, i+1)
		case i >= 0:
		case !t.measures() && !t.ignores(o.accuracy()), len(o.passages) == maxPassages:
			s.pass(o, set, x, f, &p)
		default:
			own := s.ownRare(o)
			own.passages = append(own.passages, p)
		}
	}
}

func directionOf(cr geometry.Crossing) rule.Direction {
	if cr.ToLeft {
		return rule.Left
	}
	return rule.Right
}

// crosses reports whether a rule asks for crossings of a fence, whatever its condition.
func (x *setScope) crosses(f *fence.Fence) bool {
	return slices.ContainsFunc(x.rules, func(r *rule.Rule) bool {
		return r.Detect.Has(rule.Cross) && r.Fences.Select(f.Key, f.Properties)
	})
}

// pass adds the event of a passage.
func (s *Shard) pass(o *object, set *TrackedSet, x *setScope, f *fence.Fence, p *passage) {
	if !s.tellsDirection(o, x, f, p.direction) {
		return
	}
	s.changes = append(s.changes, change{
		kind: Cross, reason: Move, set: set, ref: p.ref, fence: f, at: p.at, since: p.at, member: -1,
		detail: detail{left: p.at, direction: p.direction, path: p.path, passed: true},
	})
}

// confirmPassages tells the passages of a set that the last fix confirms. Where a line has a height
// and the fix has none, a passage waits for the next fix that has one. The way to that one is not
// known, so it only says on which side of the line the object is.
func (s *Shard) confirmPassages(o *object, set *TrackedSet, x *setScope, t *terms, c *cause) {
	if len(o.passages) == 0 {
		return
	}
	kept := o.passages[:0]
	for i := range o.passages {
		p := o.passages[i]
		if p.set == set.ID {
			f := set.Snapshot.Fence(p.ref)
			own := t.of(f)
			switch {
			case o.heightIn(f, &own) == unsaid:
			case own.heightIn(f, c.altitude) == unsaid && s.isBehind(&p, f, o.point):
				continue
			case !own.ignores(o.accuracy()) && p.count(o, f, &own):
				s.pass(o, set, x, f, &p)
				continue
			}
		}
		kept = append(kept, p)
	}
	o.passages = kept
}

// isBehind reports whether the straight way from a passage to a point goes back over its line.
func (s *Shard) isBehind(p *passage, f *fence.Fence, at geometry.Point) bool {
	s.crossings = f.Lines.AppendCrossings(s.crossings[:0], p.path.to, at)
	n := len(s.crossings)
	return n > 0 && directionOf(s.crossings[n-1]) != p.direction
}

// count adds a fix, and reports whether the passage is confirmed.
func (p *passage) count(o *object, f *fence.Fence, t *terms) bool {
	if !t.measures() {
		return true
	}
	margin, certain := t.margins(o.accuracy())
	fixes := max(t.Fixes, 1)
	switch away := -f.Distance(o.point); {
	case t.Sure > 0 && away >= certain:
		p.fixes = fixes
	case away >= margin:
		p.fixes++
	default:
		p.fixes = 0
	}
	return p.fixes >= fixes
}

// dropPassages forgets the passages of a set, as the path of the object is not known.
func (o *object) dropPassages(set SetID) {
	if len(o.passages) > 0 {
		o.passages = slices.DeleteFunc(o.passages, func(p passage) bool { return p.set == set })
	}
}

// keepPassages forgets the passages of lines that are not as they were for an object, whose view is
// the one before.
func (s *Shard) keepPassages(o *object) {
	if len(o.passages) == 0 {
		return
	}
	o.passages = slices.DeleteFunc(o.passages, func(p passage) bool {
		old, set := o.era.view.find(p.set), s.era.view.find(p.set)
		if set == nil || !samePolicy(old, set, p.ref) {
			return true
		}
		f := set.Snapshot.Fence(p.ref)
		return f == nil || !s.scope.of(p.set).crosses(f) || isChanged(old, set, p.ref) || !sameLines(old.Snapshot.Fence(p.ref), f)
	})
}

func sameLines(f, g *fence.Fence) bool {
	return f == g || slices.EqualFunc(f.Lines, g.Lines, func(a, b geometry.Line) bool { return slices.Equal(a, b) })
}
