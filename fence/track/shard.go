package track

import (
	"math"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// Shard holds the state of some objects and folds what happens into events.
// One goroutine at a time may use it. Only queries may run side by side: Get, LastFix, Select,
// AppendDots, Name, Len and Silent.
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
	objects *objects
	free    []uint32 // handles of removed objects that were not reused yet
	ids     texts
	fleets  fleets
	visits  memberships
	spare   []*extra    // of objects that no longer need it
	numbers uint64      // the last event of the objects that are gone had at most this Seq
	heard   arrivalList // objects that are not silent, longest unheard first
	silent  int
	timers  timers // objects that have deadlines
	told    *Told  // nil: nothing is told

	next    uint32   // handle of the next object that Step brings to view
	behind  int      // number of objects from next on, round the end, that may have an earlier view
	amended []uint32 // handles of other such objects, see amend

	// scratch, valid within one call
	refs      []fence.Ref
	members   []membership
	was       []membership // see membersOf
	kept      bool         // the object has the same members
	pending   []pending
	changes   []change
	lapsed    []dwelling
	outsides  map[fence.Ref]int // places of marks, see makeOutside
	scope     *scope            // that holds after the call
	view      *View             // of members after the call
	crossings []geometry.Crossing

	objectProps, fenceProps rule.Properties
}

// NewShard returns a shard without objects and without fences.
func NewShard(o Options) *Shard {
	all := &objects{}
	s := &Shard{era: newEra(&View{}, 0, nil), names: newNames(), objects: all, heard: arrivalList{objects: all}}
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
func (s *Shard) Len() int { return s.objects.len() - len(s.free) }

// Silent is the number of objects whose TTL has passed.
func (s *Shard) Silent() int { return s.silent }

// Advance moves the time on. The events of deadlines until then come out of Step. The time does
// not go back: a now before an earlier one changes nothing.
func (s *Shard) Advance(now Millis) { s.now = max(s.now, now) }

// Now returns the time, which Advance has moved on.
func (s *Shard) Now() Millis { return s.now }

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
	if e := newEra(v, s.now, s.era); !s.amend(e) {
		s.begins(e)
		s.replan()
	}
}

// begins makes an era begin.
func (s *Shard) begins(e *era) {
	if s.behind == 0 {
		s.next = 0 // the order of the events does not depend on earlier changes
	}
	s.era, s.behind, s.amended = e, s.objects.len(), nil
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
		case ok && due == s.era.flip && s.behind+len(s.amended) == 0:
			s.begins(newEra(s.era.view, due, s.era))
		case ok && due != s.era.flip:
			work, events = s.stepDue(due, work, events)
		case len(s.amended) > 0:
			n := 0
			n, events = s.stepAmended(events)
			work -= n
		case s.behind > 0:
			o := s.objects.at(s.next)
			work -= 1 + int(o.count)
			events = s.renew(o, events)
			work -= int(o.count)
			s.next = (s.next + 1) % uint32(s.objects.len())
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
		return work - 1 - int(o.count) - len(o.pending), s.fire(o, due, events)
	}
	o, ttl, _ := s.nextSilence()
	return work - 1 - int(o.count), s.endSilently(o, ttl, events)
}

// More reports whether Step has something to do.
func (s *Shard) More() bool {
	due, ok := s.Due()
	return s.behind+len(s.amended) > 0 || ok && due <= s.now
}

// renew brings an object of another era to the shard's.
func (s *Shard) renew(o *object, events []Event) []Event {
	if o.gone() || o.era == s.era {
		return events
	}
	s.sightEdited(o)
	next := s.era.bondOf(s.classAfter(o))
	if o.silent() && o.count == 0 || next.scope.equal(o.scope) && s.era.view.sameSets(o.era.view) {
		o.bond = next
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
	o := s.place()
	o.time, o.arrived, o.anchor = p.Time, p.Arrived, spotAt(geometry.Point{Lon: p.Lon, Lat: p.Lat})
	o.seq, o.extra = s.numbers, &noExtra
	s.name(o, p.Fleet, p.ID)
	o.bond = s.era.bondOf(s.era.classOf(p.Fleet, p.ID))
	s.addName(o)
	return o
}

// name gives an object its name.
func (s *Shard) name(o *object, fleet, id string) {
	o.fleet, o.name = s.fleets.use(fleet), s.ids.add(id)
}

// unname takes the name of an object away.
func (s *Shard) unname(o *object) {
	if o.name == noName {
		return
	}
	s.fleets.leave(o.fleet)
	full := s.ids.drop(o.name)
	if o.name = noName; full {
		s.packIDs()
	}
}

// noName is the name of an object that has none.
const noName = math.MaxUint32

// packIDs gives the memory of dropped ids back.
func (s *Shard) packIDs() {
	old := s.ids
	s.ids = texts{}
	for o := range s.objects.all() {
		if o.name != noName {
			o.name = s.ids.add(old.at(o.name))
		}
	}
}

// nameOf returns the name of an object, of which the id is part of a longer text.
func (s *Shard) nameOf(o *object) (fleet, id string) {
	if o.name == noName {
		return "", ""
	}
	return s.fleets.names[o.fleet], s.ids.at(o.name)
}
