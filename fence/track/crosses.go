package track

import (
	"math"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// detectCross adds the events of fences that the path between two fixes passes through or over.
func (s *Shard) detectCross(o *object, set *TrackedSet, x *setScope, t *terms, c *cause) {
	silent := t.ttl > 0 && c.heard+t.ttl <= c.now
	if c.reason != Move || c.unseen || silent || o.time-c.fromTime > t.gap {
		o.dropPassages(set.ID)
		return
	}
	s.refs = set.Snapshot.AppendAlong(s.refs[:0], c.from, o.point)
	for _, ref := range s.refs {
		f := set.Snapshot.Fence(ref)
		t := t
		if t.own {
			own := t.of(f)
			if t = &own; o.heightIn(f, t) != fits {
				continue
			}
		}
		switch {
		case f.OnlyCrossed():
			s.passLine(o, set, x, t, ref, f, c)
		case t.ignores(o.accuracy()) || t.ignores(c.accuracy) || !s.tells(o, x, rule.Cross, f):
		case s.findMember(set.ID, ref) < 0 && o.isBeside(t, f, c):
			s.crossArea(o, set, ref, f, c)
		}
	}
	s.confirmPassages(o, set, x, t, c)
}

// isBeside reports whether both fixes are outside of a fence, by the margin of the policy.
func (o *object) isBeside(t *terms, f *fence.Fence, c *cause) bool {
	margin, _ := t.margins(o.accuracy())
	for _, p := range [...]geometry.Point{c.from, o.point} {
		if f.Geometry.Contains(p) || margin > 0 && -f.Distance(p) < margin {
			return false
		}
	}
	return true
}

func (s *Shard) crossArea(o *object, set *TrackedSet, ref fence.Ref, f *fence.Fence, c *cause) {
	first, last, ok := set.Snapshot.Passes(ref, c.from, o.point)
	if !ok {
		return
	}
	at := between(c.fromTime, o.time, first)
	s.changes = append(s.changes, change{
		kind: Cross, reason: Move, set: set, ref: ref, fence: f, at: at, since: at, member: -1,
		detail: detail{left: between(c.fromTime, o.time, last)},
	})
}

// tellsDirection reports whether a rule asks for the crossing of a line to a side.
func (s *Shard) tellsDirection(o *object, x *setScope, f *fence.Fence, d rule.Direction) bool {
	for _, r := range x.rules {
		if r.Detect.Has(rule.Cross) && (r.Direction == rule.AnyDirection || r.Direction == d) &&
			r.Fences.Select(f.Key, f.Properties) && s.holds(o, r, f) {
			return true
		}
	}
	return false
}

// between returns the time at a share of the way.
func between(from, to Millis, share float64) Millis {
	return from + Millis(math.Round(float64(share*float64(to-from))))
}
