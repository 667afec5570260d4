package track

import (
	"math"

	"paddock/fence"
	"paddock/fence/geojson"
)

// of returns the terms for a fence of the set, with the settings that take their place.
func (t *terms) of(f *fence.Fence) terms {
	own := *t
	if f == nil {
		return own
	}
	s := f.Settings()
	if s == nil || !s.Has(geojson.GivenPolicy) {
		return own
	}
	put(&own.Fixes, s.Fixes, s.Has(geojson.GivenFixes))
	put(&own.Metres, s.Metres, s.Has(geojson.GivenMetres))
	put(&own.Sure, s.Sure, s.Has(geojson.GivenSure))
	put(&own.AccuracyFactor, s.AccuracyFactor, s.Has(geojson.GivenAccuracyFactor))
	put(&own.MaxAccuracy, s.MaxAccuracy, s.Has(geojson.GivenMaxAccuracy))
	put(&own.EnterAfter, s.EnterAfter, s.Has(geojson.GivenEnterAfter))
	put(&own.ExitAfter, s.ExitAfter, s.Has(geojson.GivenExitAfter))
	if s.Has(geojson.GivenAltitude) {
		if own.Altitude = AltitudeIgnore; s.AltitudeInside {
			own.Altitude = AltitudeInside
		}
	}
	own.atOnce = own.immediate()
	return own
}

func put[T any](dst *T, v T, given bool) {
	if given {
		*dst = v
	}
}

// height is where an object is, given the floor and the ceiling of a fence.
type height uint8

const (
	fits   height = iota // between them, or the fence has neither
	aloft                // above or below
	unsaid               // the object has no altitude, and its policy ignores that
)

// heightIn returns where the object is by its altitude.
func (o *object) heightIn(f *fence.Fence, t *terms) height { return t.heightIn(f, o.altitude()) }

// heightIn returns where an altitude is.
func (t *terms) heightIn(f *fence.Fence, altitude Measure) height {
	s := f.Settings()
	switch {
	case s == nil || !s.Bounded():
		return fits
	case !altitude.Known && t.Altitude == AltitudeInside:
		return fits
	case !altitude.Known:
		return unsaid
	case s.Between(float64(altitude.Value)):
		return fits
	}
	return aloft
}

// passesOver reports whether the last fix says nothing about the membership in a fence.
func (o *object) passesOver(f *fence.Fence, t *terms) bool {
	return t.ignores(o.accuracy()) || o.heightIn(f, t) == unsaid
}

// settleFence is settleSet for one fence of a set in which fences have settings. m is the
// membership before, nil if there is none. The fence holds the object in the plan if held says so.
func (s *Shard) settleFence(o *object, set *TrackedSet, t *terms, ref fence.Ref, m *membership, held bool, c *cause) {
	f, w := set.Snapshot.Fence(ref), leaving
	own := t.of(f)
	stays := false
	if f != nil && !f.OnlyCrossed() { // a line holds nothing at any height
		switch o.heightIn(f, &own) {
		case unsaid:
			stays = true
		case aloft:
			if held {
				held, w = false, leavingAloft
			}
		case fits:
		}
		stays = stays || !c.edited && own.ignores(o.accuracy())
	}
	switch {
	case stays || held == (m != nil):
		if m != nil {
			s.members = append(s.members, *m)
		}
	case held:
		if at, confirmed := s.judge(o, set, &own, ref, entering, c); confirmed {
			s.enter(o, set, ref, own.Initial, at, *c)
		}
	default:
		if at, confirmed := s.judge(o, set, &own, ref, w, c); confirmed {
			s.leave(o, m, at, *c)
		} else {
			s.members = append(s.members, *m)
		}
	}
}

// keepPassedOver keeps the pending changes for fences of a set about which a fix says nothing.
func (s *Shard) keepPassedOver(o *object, set *TrackedSet, t *terms) {
	for i := range o.pending {
		if p := &o.pending[i]; p.set == set.ID {
			f := set.Snapshot.Fence(p.ref)
			if own := t.of(f); o.passesOver(f, &own) {
				s.pending = append(s.pending, *p)
				s.pending[len(s.pending)-1].reach = math.Inf(1)
			}
		}
	}
}
