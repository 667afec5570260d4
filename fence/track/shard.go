package track

import (
	"strings"
	"time"

	"paddock/fence"
)

// defaultMaxGap is the silence beyond which a straight line between two fixes
// says nothing about when the object crossed.
const defaultMaxGap = 10 * time.Minute

// key names an object.
type key struct{ fleet, id string }

// Shard holds the state of some objects and folds what happens into events.
// One goroutine at a time may use it.
//
// Invariant: every membership of every object refers to a fence of the present
// view that holds the object's stored position.
type Shard struct {
	opts   Options
	maxGap Millis
	ttl    Millis

	view    *View
	now     Millis // the latest instant seen; time never steps back
	objects map[key]*object
	order   []*object   // by handle
	heard   arrivalList // objects that are not silent, longest unheard first
	silent  int

	// scratch, valid within one call
	refs    []fence.Ref
	members []membership
	changes []change
}

// NewShard returns a shard without objects and without fences.
func NewShard(o Options) *Shard {
	gap := o.MaxGap
	if gap == 0 {
		gap = defaultMaxGap
	}
	return &Shard{
		opts:    o,
		maxGap:  Millis(gap.Milliseconds()),
		ttl:     Millis(o.TTL.Milliseconds()),
		view:    &View{},
		objects: make(map[key]*object),
	}
}

// Len is the number of objects known.
func (s *Shard) Len() int { return len(s.order) }

// Silent is the number of objects whose TTL has passed.
func (s *Shard) Silent() int { return s.silent }

// Apply folds one fix and appends the events that it causes: exits, then
// enters, each by time of crossing, then load order.
func (s *Shard) Apply(p *Position, events []Event) (Outcome, []Event) {
	o, known := s.objects[key{p.Fleet, p.ID}]
	if known && p.Time <= o.time {
		return Late, events
	}
	if !known {
		if !s.hasRoom() {
			return Full, events
		}
		o = s.add(p)
	}
	s.now = max(s.now, p.Arrived)
	if s.overdue(o, p.Arrived) {
		events = s.expire(o, events)
	}
	c := cause{reason: Move, at: p.Time, time: p.Time, arrived: p.Arrived, from: o.point, fromTime: o.time}
	if !known {
		c.reason = FirstSeen
	}
	if o.silent { // it was told to be outside of everything; how it came here nobody saw
		o.silent, c.unseen = false, true
		s.silent--
	}
	o.take(p, s.now)
	s.heard.touch(o)
	return Accepted, s.settle(o, c, events)
}

// Advance tells the shard that it is now, and appends an exit for each fence of
// each object that has been silent for Options.TTL. A now before an earlier one
// is ignored.
func (s *Shard) Advance(now Millis, events []Event) []Event {
	s.now = max(s.now, now)
	for o := s.heard.first; o != nil && s.overdue(o, s.now); o = s.heard.first {
		events = s.expire(o, events)
	}
	return events
}

// overdue says whether the object's silence has lasted for the TTL. Whoever
// applies a fix asks as well: that Advance has not been called yet must not
// change what the fix means.
func (s *Shard) overdue(o *object, now Millis) bool {
	return s.ttl > 0 && !o.silent && o.arrived+s.ttl <= now
}

func (s *Shard) expire(o *object, events []Event) []Event {
	s.heard.remove(o)
	o.silent = true
	s.silent++
	at := o.arrived + s.ttl
	return s.leaveAll(o, cause{reason: TTL, at: at, time: at, arrived: s.now}, events)
}

// SetView puts new fences in place of the old ones and appends what that
// changes for the objects where they stand: exits with reason fence_removed or
// fence_changed, enters with reason fence_added or fence_changed. A fence that
// was replaced by the same geometry changes nothing.
func (s *Shard) SetView(v *View, now Millis, events []Event) []Event {
	s.now = max(s.now, now)
	old := s.view
	s.view = v
	for _, o := range s.order {
		if !o.silent {
			events = s.settle(o, cause{edited: old, at: s.now, time: s.now, arrived: s.now}, events)
		}
	}
	return events
}

func (s *Shard) hasRoom() bool {
	return (s.opts.MaxObjects <= 0 || len(s.order) < s.opts.MaxObjects) && (s.opts.Admit == nil || s.opts.Admit())
}

// add makes the object of a first fix. Its names are copied: they may be part of
// a text that is longer than they are, and they stay for good.
func (s *Shard) add(p *Position) *object {
	o := &object{
		fleet: strings.Clone(p.Fleet), id: strings.Clone(p.ID), handle: uint32(len(s.order)),
		arrived: p.Arrived,
		anchor:  fence.Point{Lon: p.Lon, Lat: p.Lat}, anchorSince: p.Time,
	}
	s.order = append(s.order, o)
	s.objects[key{o.fleet, o.id}] = o
	return o
}
