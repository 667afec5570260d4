package track

import (
	"math"
	"slices"

	"paddock/fence/geometry"
)

// extra is the part of an object's state that few objects have: those near a boundary, and those
// with a deadline.
type extra struct {
	*rare             // noRare for most of them
	pending []pending // in the order of the memberships
	due     Millis    // earliest deadline, if slot is not 0
	slot    int       // place in Shard.timers, from 1
}

// rare is the part that fewer objects have.
type rare struct {
	held     []held // by time of the fix
	outliers outliers
	marks    []mark // of rules
	passages []passage
}

// noRare and noExtra are those of an object that has none of it. They are not changed.
var (
	noRare  rare
	noExtra = extra{rare: &noRare}
)

// maxSpare bounds the extras that a shard keeps for other objects.
const maxSpare = 256

// held is a fix that waits for older ones.
type held struct {
	Position
	until Millis
}

// outliers is a row of fixes that are too far from the last accepted one, each of which fits the
// one before.
type outliers struct {
	count int
	point geometry.Point // of the last
	time  Millis
}

const (
	// believed is the number of outliers in a row that are no outliers.
	believed = 3
	// minStep is the least time between two fixes that a speed is computed of.
	minStep = 1000
	// maxHeld bounds the fixes of an object that wait for older ones.
	maxHeld = 64
)

// Apply folds one fix and appends the events that it causes, after those of deadlines of its
// object that have passed. The order of the kinds is exit, cross, enter, inside, outside, dwell,
// conditions; events of a kind go by time of crossing, then load order, then rule. The dwell of a
// visit that the fix ends comes first.
func (s *Shard) Apply(p *Position, events []Event) (Outcome, []Event) {
	o, known := s.find(p.Fleet, p.ID)
	switch {
	case !known && !s.hasRoom():
		return Full, events
	case !known:
		s.meet(p.Arrived)
		return s.accept(s.add(p), p, cause{reason: FirstSeen, unseen: true, now: s.now}, events)
	case s.plan.hold > 0 || o.isHolding():
		s.meet(p.Arrived)
		return s.hold(o, p, s.catchUp(o, events))
	case p.Time <= o.time:
		return s.late(), events
	case s.plan.maxSpeed == 0:
		s.meet(p.Arrived)
		return s.accept(o, p, cause{reason: Move, now: s.now}, s.catchUp(o, events))
	}
	outlier, trusted := s.isOutlier(o, p)
	if outlier {
		return Outlier, events
	}
	s.meet(p.Arrived)
	return s.accept(o, p, cause{reason: Move, unseen: trusted, now: s.now}, s.catchUp(o, events))
}

// admit is Apply for a fix of a known object that has waited until a time.
func (s *Shard) admit(o *object, p *Position, until Millis, events []Event) []Event {
	if p.Time <= o.time {
		return events
	}
	outlier, trusted := s.isOutlier(o, p)
	if outlier {
		if s.told != nil {
			s.told.Outliers++
		}
		return events
	}
	_, events = s.accept(o, p, cause{reason: Move, unseen: trusted, now: until}, events)
	return events
}

// accept moves an object to a fix.
func (s *Shard) accept(o *object, p *Position, c cause, events []Event) (Outcome, []Event) {
	events = s.renew(o, events)
	c.at, c.time, c.arrived, c.fix, c.trace = p.Time, p.Time, p.Arrived, true, p.Trace
	c.from, c.fromTime, c.heard = o.point, o.time, o.arrived
	c.accuracy, c.altitude = o.accuracy(), o.altitude()
	if o.silent() { // its exits were reported; its way back was not observed
		o.set(silent, false)
		c.unseen = true
		s.silent--
	}
	if o.outliers.count > 0 {
		o.outliers = outliers{}
	}
	if o.scope != nil && o.scope.dwells {
		s.lapse(o, p.Time)
	}
	o.take(p, c.now)
	s.heard.touch(o)
	if s.told != nil && len(s.era.near) > 0 {
		s.sight(o, &c)
	}
	return Accepted, s.settle(o, o.bond, c, events)
}

// late is the outcome of a fix that is not newer than the last one.
func (s *Shard) late() Outcome {
	if s.plan.late == LateHistory {
		return Past
	}
	return Late
}

func (x *extra) isEmpty() bool {
	return len(x.pending)+x.slot == 0 && x.rare.isEmpty()
}

func (r *rare) isEmpty() bool { return len(r.held)+len(r.marks)+len(r.passages)+r.outliers.count == 0 }

func (o *object) isHolding() bool { return len(o.held) > 0 }

// own returns the state that few objects have, for a change.
func (s *Shard) own(o *object) *extra {
	if o.extra != &noExtra {
		return o.extra
	}
	if n := len(s.spare); n > 0 {
		o.extra, s.spare = s.spare[n-1], s.spare[:n-1]
	} else {
		o.extra = &extra{rare: &noRare}
	}
	return o.extra
}

// ownRare returns the state that fewer objects have, for a change.
func (s *Shard) ownRare(o *object) *rare {
	x := s.own(o)
	if x.rare == &noRare {
		x.rare = &rare{}
	}
	return x.rare
}

// tidy takes the extra state of an object away if there is nothing in it.
func (s *Shard) tidy(o *object) {
	x := o.extra
	if x == &noExtra {
		return
	}
	if x.rare.isEmpty() {
		x.rare = &noRare
	}
	if !x.isEmpty() {
		return
	}
	if o.extra = &noExtra; len(s.spare) < maxSpare && cap(x.pending) <= keptRoom {
		*x = extra{rare: &noRare, pending: x.pending[:0]}
		s.spare = append(s.spare, x)
	}
}

// hold keeps a fix until no older ones are expected.
func (s *Shard) hold(o *object, p *Position, events []Event) (Outcome, []Event) {
	x := s.ownRare(o)
	at, twice := slices.BinarySearchFunc(x.held, p.Time, func(h held, t Millis) int { return int(h.Time - t) })
	if twice || p.Time <= o.time {
		return s.late(), events
	}
	x.held = slices.Insert(x.held, at, held{*p, s.now + s.plan.hold})
	x.held[at].Fleet, x.held[at].ID = "", "" // those of the object
	if len(x.held) > maxHeld {
		events = s.releaseFirst(o, 1, s.now, events)
	}
	s.arm(o)
	return Held, s.fire(o, s.now, events)
}

// release applies the fixes of an object that have waited long enough, and older ones.
func (s *Shard) release(o *object, due Millis, events []Event) []Event {
	if !o.isHolding() {
		return events
	}
	n := len(o.held)
	for n > 0 && o.held[n-1].until > due {
		n--
	}
	return s.releaseFirst(o, n, due, events)
}

// releaseFirst applies the first fixes that wait, until a time.
func (s *Shard) releaseFirst(o *object, n int, until Millis, events []Event) []Event {
	ready := o.held[:n]
	for i := range ready {
		events = s.admit(o, &ready[i].Position, until, events)
	}
	o.held = slices.Delete(o.held, 0, n)
	if len(o.held) == 0 {
		o.held = nil
	}
	return events
}

// isOutlier reports whether an object would have to be too fast for a fix. trusted reports that
// it would be, and that the fixes before say the same.
func (s *Shard) isOutlier(o *object, p *Position) (outlier, trusted bool) {
	limit, at := s.plan.maxSpeed, geometry.Point{Lon: p.Lon, Lat: p.Lat}
	if limit == 0 || isReachable(o.point, at, p.Time-o.time, limit) {
		return false, false
	}
	row := &s.ownRare(o).outliers
	if row.count > 0 && p.Time > row.time && isReachable(row.point, at, p.Time-row.time, limit) {
		row.count++
	} else {
		row.count = 1
	}
	row.point, row.time = at, p.Time
	return row.count < believed, row.count == believed
}

// isReachable reports whether an object gets from a to b at this speed.
func isReachable(a, b geometry.Point, took Millis, speed float64) bool {
	reach := float64(max(took, minStep)) * speed / 1000
	if degreeMetres*(math.Abs(b.Lon-a.Lon)+math.Abs(b.Lat-a.Lat)) <= reach { // by far
		return true
	}
	m := geometry.MetricAt(a)
	return m.To(b) <= reach
}
