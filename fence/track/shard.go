package track

import (
	"strings"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// Shard holds the state of some objects and folds what happens into events.
// One goroutine at a time may use it.
//
// An object is a member of a fence of its view: one that holds its stored position, or one that
// the policy has not confirmed that it left. An object's view is the shard's, or an earlier one
// that Step has not replaced yet.
type Shard struct {
	opts Options
	plan plan // of opts and view

	era     *era
	now     Millis
	names   names
	fleets  map[string]*string // one text for all objects of a fleet
	order   []*object          // by handle; removed objects keep their places until these are reused
	free    []uint32           // these places
	spare   []*extra           // of objects that no longer need it
	numbers uint64             // the last event of the objects that are gone had at most this Seq
	heard   arrivalList        // objects that are not silent, longest unheard first
	silent  int
	timers  timers // objects that have deadlines
	told    *Told  // nil: nothing is told

	next   int // index in order of the next object that Step brings to view
	behind int // number of objects from next on, round the end, that may have an earlier view

	// scratch, valid within one call
	refs      []fence.Ref
	members   []membership
	pending   []pending
	changes   []change
	scope     *scope // that holds after the call
	view      *View  // of members after the call
	crossings []geometry.Crossing

	objectProps, fenceProps rule.Properties
}

// NewShard returns a shard without objects and without fences.
func NewShard(o Options) *Shard {
	s := &Shard{era: newEra(&View{}, 0, nil), names: newNames(), fleets: map[string]*string{}}
	s.SetOptions(o)
	return s
}

// SetOptions puts other options in place of those of NewShard. They hold for later inputs:
// objects beyond a lower bound stay, and a shorter TTL makes objects silent at the next Step.
func (s *Shard) SetOptions(o Options) {
	s.opts = o
	s.replan()
}

// replan derives the plan again. With other TTLs it begins again to look for silent objects.
func (s *Shard) replan() {
	old := s.plan
	if s.plan = newPlan(s.era.view, &s.opts); !s.plan.sameSilence(&old) {
		s.heard.reset(len(s.plan.ttls))
	}
}

// Len is the number of objects known.
func (s *Shard) Len() int { return len(s.order) - len(s.free) }

// Silent is the number of objects whose TTL has passed.
func (s *Shard) Silent() int { return s.silent }

// Advance moves the time on. The events of deadlines until then come out of Step. The time does
// not go back: a now before an earlier one changes nothing.
func (s *Shard) Advance(now Millis) { s.now = max(s.now, now) }

// Due returns the time of the next deadline: of silence, of a pending change, of a fix that waits
// for older ones, of dwelling, or of a schedule. Step does the work from then on. ok is false if
// there is none.
func (s *Shard) Due() (at Millis, ok bool) {
	at, ok = s.era.flip, s.era.flip != 0
	if len(s.timers) > 0 && (!ok || s.timers[0].due < at) {
		at, ok = s.timers[0].due, true
	}
	if o, _, silent := s.nextSilence(); o != nil && (!ok || silent < at) {
		at, ok = silent, true
	}
	return at, ok
}

// SetView puts new fences in place of the old ones. What that changes for the
// objects where they stand comes out of Step: exits with reason fence_removed or
// fence_changed, enters with reason fence_added or fence_changed. A fence that was
// replaced by the same geometry changes nothing. A fix that comes before Step has
// reached its object meets the new fences all the same; views that follow each
// other before Step has reached an object are one change for it.
func (s *Shard) SetView(v *View, now Millis) {
	s.Advance(now)
	s.begins(newEra(v, s.now, s.era))
	s.replan()
}

// begins makes an era begin.
func (s *Shard) begins(e *era) {
	if s.behind == 0 {
		s.next = 0 // the order of the events does not depend on earlier changes
	}
	s.era, s.behind = e, len(s.order)
}

// meet moves the time on for the input of an object. Schedules that open or close by then are one
// change for it.
func (s *Shard) meet(now Millis) {
	s.Advance(now)
	for s.era.flip != 0 && s.era.flip <= s.now {
		s.begins(newEra(s.era.view, s.era.flip, s.era))
	}
}

// stepWork is how many objects and memberships one Step looks at.
const stepWork = 1024

// Step does a part of what SetView and Advance have made due, and appends the
// events of it: what deadlines ask for, in the order of time, then the changes that new fences
// bring. It reports whether more is due. A part appends most events, and those of its
// last object beyond them, and takes less than a millisecond beside their making.
func (s *Shard) Step(events []Event, most int) (out []Event, more bool) {
	most += len(events)
	for work := stepWork; work > 0 && len(events) < most; {
		due, ok := s.Due()
		switch ok = ok && due <= s.now; {
		case ok && due == s.era.flip && s.behind == 0:
			s.begins(newEra(s.era.view, due, s.era))
		case ok && due != s.era.flip:
			work, events = s.stepDue(due, work, events)
		case s.behind > 0:
			o := s.order[s.next]
			work -= 1 + len(o.members)
			events = s.renew(o, events)
			work -= len(o.members)
			s.next = (s.next + 1) % len(s.order)
			if s.behind--; s.behind == 0 {
				s.era.before = nil
			}
		default:
			return events, false
		}
	}
	return events, s.More()
}

// stepDue does what a deadline asks for. Of two at the same time the timer goes before the
// silence.
func (s *Shard) stepDue(due Millis, work int, events []Event) (int, []Event) {
	if len(s.timers) > 0 && s.timers[0].due == due {
		o := s.timers[0]
		return work - 1 - len(o.members) - len(o.pending), s.fire(o, due, events)
	}
	o, ttl, _ := s.nextSilence()
	return work - 1 - len(o.members), s.endSilently(o, ttl, events)
}

// More reports whether Step has something to do.
func (s *Shard) More() bool {
	due, ok := s.Due()
	return s.behind > 0 || ok && due <= s.now
}

// renew brings an object of another era to the shard's.
func (s *Shard) renew(o *object, events []Event) []Event {
	if o.gone || o.era == s.era {
		return events
	}
	s.sightEdited(o)
	if !s.era.concerns(o) {
		o.era = s.era
		return events
	}
	next := s.era.bondOf(s.era.classAfter(o))
	if o.silent && len(o.members) == 0 || next.scope.equal(o.scope) && s.era.view.sameSets(o.era.view) {
		o.bond, o.era = next, s.era
		return events
	}
	c := cause{edited: true, at: s.era.at, time: s.era.at, arrived: s.era.at}
	return s.settle(o, next, c, events)
}

func (s *Shard) hasRoom() bool {
	return s.opts.MaxObjects <= 0 || s.Len() < s.opts.MaxObjects
}

// add makes the object of a first fix. Its names are copied: they may be part of
// a text that is longer than they are, and they stay for good.
func (s *Shard) add(p *Position) *object {
	o := &object{
		fleet: s.fleetOf(p.Fleet), id: strings.Clone(p.ID),
		arrived: p.Arrived, extra: &noExtra, era: s.era, seq: s.numbers,
		anchor: geometry.Point{Lon: p.Lon, Lat: p.Lat}, anchorSince: p.Time,
	}
	o.bond = s.era.bondOf(s.era.classOf(*o.fleet, o.id))
	s.place(o)
	s.names.add(o)
	return o
}

// maxFleets bounds the names of fleets that new objects share.
const maxFleets = 4096

// fleetOf returns the one text of a fleet's name.
func (s *Shard) fleetOf(name string) *string {
	known, ok := s.fleets[name]
	if !ok {
		if len(s.fleets) == maxFleets {
			clear(s.fleets) // the objects keep theirs
		}
		text := strings.Clone(name)
		known = &text
		s.fleets[text] = known
	}
	return known
}
