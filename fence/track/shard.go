package track

import (
	"strings"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
)

// defaultMaxGap is the silence beyond which a straight line between two fixes
// says nothing about when the object crossed.
const defaultMaxGap = 10 * time.Minute

// key names an object.
type key struct{ fleet, id string }

// Shard holds the state of some objects and folds what happens into events.
// One goroutine at a time may use it.
//
// Invariant: every membership of every object refers to a fence of that object's
// view that holds the object's stored position. An object's view is the shard's,
// or an earlier one that Step has not replaced yet.
type Shard struct {
	opts   Options
	maxGap Millis
	ttl    Millis

	view    *View
	edited  Millis // when view took the place of the one before
	now     Millis
	objects map[key]*object
	order   []*object   // by handle; removed objects keep their places until these are reused
	free    []uint32    // these places
	numbers uint64      // the last event of the objects that are gone had at most this Seq
	heard   arrivalList // objects that are not silent, longest unheard first
	silent  int

	next   int // index in order of the next object that Step brings to view
	behind int // number of objects from next on, round the end, that may have an earlier view

	// scratch, valid within one call
	refs    []fence.Ref
	members []membership
	changes []change
}

// NewShard returns a shard without objects and without fences.
func NewShard(o Options) *Shard {
	s := &Shard{view: &View{}, objects: make(map[key]*object)}
	s.SetOptions(o)
	return s
}

// SetOptions puts other options in place of those of NewShard. They hold for later inputs: objects
// beyond a lower bound stay, and a shorter TTL makes objects silent at the next Step.
func (s *Shard) SetOptions(o Options) {
	gap := o.MaxGap
	if gap == 0 {
		gap = defaultMaxGap
	}
	s.opts, s.maxGap, s.ttl = o, Millis(gap.Milliseconds()), Millis(o.TTL.Milliseconds())
}

// Len is the number of objects known.
func (s *Shard) Len() int { return len(s.order) - len(s.free) }

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
	s.Advance(p.Arrived)
	if s.overdue(o) {
		events = s.expire(o, events)
	}
	events = s.renew(o, events)
	c := cause{reason: Move, at: p.Time, time: p.Time, arrived: p.Arrived, from: o.point, fromTime: o.time}
	if !known {
		c.reason = FirstSeen
	}
	if o.silent { // its exits were reported; its way back was not observed
		o.silent, c.unseen = false, true
		s.silent--
	}
	o.take(p, s.now)
	s.heard.touch(o)
	return Accepted, s.settle(o, c, events)
}

// Advance moves the time on. The exits of objects that have been silent for Options.TTL come out of
// Step. The time does not go back: a now before an earlier one changes nothing.
func (s *Shard) Advance(now Millis) { s.now = max(s.now, now) }

// Due returns the time at which Advance makes the next object silent. ok is false if there is none.
func (s *Shard) Due() (at Millis, ok bool) {
	if o := s.heard.first; o != nil && s.ttl > 0 {
		return o.arrived + s.ttl, true
	}
	return 0, false
}

// SetView puts new fences in place of the old ones. What that changes for the
// objects where they stand comes out of Step: exits with reason fence_removed or
// fence_changed, enters with reason fence_added or fence_changed. A fence that was
// replaced by the same geometry changes nothing. A fix that comes before Step has
// reached its object meets the new fences all the same; views that follow each
// other before Step has reached an object are one change for it.
func (s *Shard) SetView(v *View, now Millis) {
	s.Advance(now)
	if s.behind == 0 {
		s.next = 0 // the order of the events does not depend on earlier changes
	}
	s.view, s.edited, s.behind = v, s.now, len(s.order)
}

// stepWork is how many objects and memberships one Step looks at.
const stepWork = 1024

// Step does a part of what SetView and Advance have made due, and appends the
// events of it: exits of silent objects, then the changes that new fences bring.
// It reports whether more is due. A part appends most events, and those of its
// last object beyond them, and takes less than a millisecond beside their making.
func (s *Shard) Step(events []Event, most int) (out []Event, more bool) {
	most += len(events)
	for work := stepWork; work > 0 && len(events) < most; {
		o := s.heard.first
		switch {
		case o != nil && s.overdue(o):
			work -= 1 + len(o.members)
			events = s.expire(o, events)
		case s.behind > 0:
			o = s.order[s.next]
			work -= 1 + len(o.members)
			events = s.renew(o, events)
			work -= len(o.members)
			s.next = (s.next + 1) % len(s.order)
			s.behind--
		default:
			return events, false
		}
	}
	return events, s.More()
}

// More reports whether Step has something to do.
func (s *Shard) More() bool {
	o := s.heard.first
	return s.behind > 0 || o != nil && s.overdue(o)
}

// renew settles an object whose view is not the shard's.
func (s *Shard) renew(o *object, events []Event) []Event {
	switch {
	case o.view == s.view:
	case o.silent: // it is in no fence
		o.view = s.view
	default:
		events = s.settle(o, cause{edited: true, at: s.edited, time: s.edited, arrived: s.edited}, events)
	}
	return events
}

// overdue reports whether the object's silence has lasted for the TTL. Apply asks
// as well: what a fix means does not depend on whether Step came before it.
func (s *Shard) overdue(o *object) bool {
	return s.ttl > 0 && !o.silent && o.arrived+s.ttl <= s.now
}

func (s *Shard) expire(o *object, events []Event) []Event {
	s.heard.remove(o)
	o.silent = true
	s.silent++
	at := o.arrived + s.ttl
	return s.leaveAll(o, cause{reason: TTL, at: at, time: at, arrived: s.now}, events)
}

func (s *Shard) hasRoom() bool {
	return s.opts.MaxObjects <= 0 || s.Len() < s.opts.MaxObjects
}

// add makes the object of a first fix. Its names are copied: they may be part of
// a text that is longer than they are, and they stay for good.
func (s *Shard) add(p *Position) *object {
	o := &object{
		fleet: strings.Clone(p.Fleet), id: strings.Clone(p.ID),
		arrived: p.Arrived, view: s.view, seq: s.numbers,
		anchor: geometry.Point{Lon: p.Lon, Lat: p.Lat}, anchorSince: p.Time,
	}
	s.place(o)
	s.objects[key{o.fleet, o.id}] = o
	return o
}
