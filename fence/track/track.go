// Package track follows moving objects through sets of fences and says what changed: an object
// entered a fence, left one, passed through one, stays in one.
//
// The model is a fold. A [Shard] holds the state of some objects; a
// [Position], a new [View] of the fences or the passing of time goes in, and
// [Event] values come out. Nothing here reads a clock, opens a socket or starts
// a goroutine: the caller says what time it is and owns the shard. For one order
// of inputs per object the events are the same, however the objects are spread
// over shards.
// [Shard.Export] and [Shard.Import] move the state of a shard, such as to disk
// and back, at any point of its history.
//
// An object is known by (fleet, id). It is in a fence when the fence holds its last accepted
// position by the rule of package fence, so neighbours that share an edge never both hold it, and
// its altitude is between the floor and the ceiling of the fence, if it has them. A
// [Policy] of the set may ask for more before a membership changes: several fixes, a distance
// from the boundary, some time. Until then the change is pending, and if it is reverted it leaves
// nothing. Memberships change by fixes or by the time since them (reason move), by a change of
// the fences (fence_added, fence_changed, fence_removed), by silence (ttl), or as the object is
// removed (object_removed).
//
// Without rules every set is tracked for every object, and enter and exit are told. Rules of
// package rule select objects, fences and kinds of events, some by the hour: rule_added,
// rule_removed, schedule and expired are the reasons where they show a visit or no longer do.
// They do not change memberships. Rules about several objects are carried out by a fold over what
// shards tell beside their events, see [Told].
package track

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track/rule"
)

// Millis is an instant in milliseconds since the Unix epoch, or a length of
// time in milliseconds where the name says so.
type Millis int64

// MillisOf returns the instant of t, cut to the millisecond.
func MillisOf(t time.Time) Millis { return Millis(t.UnixMilli()) }

// Time returns the instant in UTC.
func (m Millis) Time() time.Time { return time.UnixMilli(int64(m)).UTC() }

// Position is one fix of one object.
//
// Props is kept by the shard after Apply, so it must not be overwritten by the
// caller.
type Position struct {
	Fleet, ID string
	Lon, Lat  float64 // degrees WGS84, finite
	Time      Millis  // when the fix was taken, by the device's clock
	Arrived   Millis  // when it reached this process
	Accuracy  Measure // metres
	Speed     Measure // metres per second
	Heading   Measure // degrees clockwise from north, 0 to 360
	Altitude  Measure // metres

	Props json.RawMessage // JSON object that describes the object, nil to keep what is known
	Trace *Trace          // of the request that it came with, for the events that it causes; nil: none
}

// Measure is a quantity that a device may not report.
type Measure struct {
	Value float32
	Known bool
}

// Measured returns a known quantity.
func Measured(v float64) Measure { return Measure{Value: float32(v), Known: true} }

// Outcome says what Apply did with a position.
type Outcome uint8

const (
	// Accepted: the object moved; events may have come out.
	Accepted Outcome = iota
	// Late: not newer than the object's last accepted fix, so dropped. A
	// retransmission ends here, which makes sending twice harmless.
	Late
	// Full: a new object beyond Options.MaxObjects. Known objects go on.
	Full
	// Outlier: the object would have to be faster than Policy.MaxSpeed, so the fix is dropped.
	Outlier
	// Held: the fix waits for older ones for Policy.Reorder. Its events come out of Step, or of a
	// later Apply.
	Held
	// Past: not newer than the object's last accepted fix. It changes nothing here, and is to be
	// kept as a past position.
	Past
)

var outcomeNames = [...]string{
	Accepted: "accepted", Late: "late", Full: "full", Outlier: "outlier", Held: "held", Past: "past",
}

func (o Outcome) String() string { return outcomeNames[o] }

// Initial says what the first observation of an object tells about the fences
// that it is found in. Its memberships are recorded in every case, so leaving
// gives an exit. An object that is heard again after a silence of Policy.TTL is
// no first observation: it was told to be outside, so what it is found in, it
// enters, at the time of that fix.
type Initial uint8

const (
	// InitialNone: no event.
	InitialNone Initial = iota
	// InitialInside: an inside event for each fence, a statement of state.
	InitialInside
	// InitialEnter: an enter event for each fence, reason initial.
	InitialEnter
)

var initialNames = [...]string{InitialNone: "none", InitialInside: "inside", InitialEnter: "enter"}

func (i Initial) String() string { return initialNames[i] }

// ParseInitial reads none, inside or enter.
func ParseInitial(s string) (Initial, error) {
	for i, name := range initialNames {
		if s == name {
			return Initial(i), nil
		}
	}
	return 0, fmt.Errorf("unknown initial %q: use none, inside or enter", s)
}

// Kind is what happened.
type Kind uint8

const (
	// Exit: the object was in the fence and no longer is.
	Exit Kind = iota
	// Enter: the object was not in the fence and now is.
	Enter
	// Inside: the object is in the fence.
	Inside
	// Cross: the object passed through the fence between two fixes, or over a line.
	Cross
	// Outside: the object is not in the fence, or in none of the set.
	Outside
	// Dwell: the object has been in the fence for the time that a rule names.
	Dwell
	// ConditionBegin: the condition of a rule begins to hold for an object in the fence.
	ConditionBegin
	// ConditionEnd: it does not hold any more.
	ConditionEnd
	// CountBegin: as many objects as a rule names are in the fence. A shard has no such events, see
	// Told.
	CountBegin
	// CountEnd: they are fewer again.
	CountEnd
	// NearBegin: two objects come as near to each other as a rule says. A shard has no such events.
	NearBegin
	// NearEnd: they part.
	NearEnd
)

var kindNames = [...]string{
	Exit: "exit", Enter: "enter", Inside: "inside", Cross: "cross", Outside: "outside", Dwell: "dwell",
	ConditionBegin: "condition_begin", ConditionEnd: "condition_end",
	CountBegin: "count_begin", CountEnd: "count_end", NearBegin: "near_begin", NearEnd: "near_end",
}

func (k Kind) String() string { return kindNames[k] }

// KindNames lists the names of the kinds.
func KindNames() []string { return slices.Clone(kindNames[:]) }

// ParseKind reads the name of a kind.
func ParseKind(s string) (Kind, error) {
	for k, name := range kindNames {
		if s == name {
			return Kind(k), nil
		}
	}
	return 0, fmt.Errorf("unknown event %q: use %s", s, strings.Join(kindNames[:], ", "))
}

// Reason is why it happened.
type Reason uint8

const (
	// Move: the object moved across the boundary.
	Move Reason = iota
	// FirstSeen: the first observation of the object.
	FirstSeen
	// FenceAdded: a fence was added around the object.
	FenceAdded
	// FenceChanged: the fence's geometry was replaced.
	FenceChanged
	// FenceRemoved: the fence, or its set, was deleted.
	FenceRemoved
	// TTL: the object was silent for Policy.TTL.
	TTL
	// ObjectRemoved: the object was removed.
	ObjectRemoved
	// RuleAdded: a rule was added that tells of the visit.
	RuleAdded
	// RuleRemoved: the rules that told of the visit were removed.
	RuleRemoved
	// Schedule: the schedule of a rule opened, or closed.
	Schedule
	// Expired: the last time of a rule's schedule ended.
	Expired
)

var reasonNames = [...]string{
	Move: "move", FirstSeen: "initial", FenceAdded: "fence_added",
	FenceChanged: "fence_changed", FenceRemoved: "fence_removed", TTL: "ttl",
	ObjectRemoved: "object_removed", RuleAdded: "rule_added", RuleRemoved: "rule_removed",
	Schedule: "schedule", Expired: "expired",
}

func (r Reason) String() string { return reasonNames[r] }

// Event is one change of one object's membership in one fence.
type Event struct {
	Kind   Kind
	Reason Reason

	Set   string
	Fence *fence.Fence // immutable; nil for outside of all fences of a set

	Fleet, ID string
	Props     json.RawMessage // the object's, nil if none are known

	Point   geometry.Point // where the object is now; of the cross of a line: behind it
	Prev    geometry.Point // where it was before, if HasPrev
	HasPrev bool

	Altitude Measure // at Point, in metres

	At      Millis // when the boundary was crossed, between the two fixes
	Time    Millis // of the fix that told; of the change for other reasons
	Since   Millis // when the object entered; of enter and exit: when a rule began to show the visit
	Arrived Millis // when the input that caused it reached the process
	Seq     uint64 // counts the object's events from 1; see Shard.Remove
	Visit   uint64 // Seq of the enter event; 0 if the visit began without one

	Rule      string         // of inside, outside, dwell and conditions: the rule that asks for it
	Left      Millis         // of cross: when the object left the fence again
	Direction rule.Direction // of the cross of a line
	Progress  Measure        // metres along the middle of a corridor

	Several *Several // of events about several objects; nil for others

	Trace *Trace // of the position that caused the event; nil: none, or the time did
}

// Trace is the context of a request in the form of W3C Trace Context: the headers traceparent, and
// tracestate or "".
type Trace struct{ Parent, State string }

// Several is the part of an event of a rule about several objects. Seq is the number of the record
// with which the event came, and Visit that of the event that began what it ends: both are unique
// for the rule and the fence, or for the rule and the two objects.
type Several struct {
	// Of count_begin and count_end, which have no object: the objects in the fence, and the number
	// that the rule asks for.
	Count, AtLeast int

	// Of near_begin and near_end, which have no fence: the object that is near, and its distance.
	Other  *Party
	Metres float64
}

// Party is an object that an event is about beside the first one.
type Party struct {
	Fleet, ID string
	Props     json.RawMessage
	Point     geometry.Point
}

// Options of a shard. The zero value sets no limit and leaves all to the policies of the sets.
type Options struct {
	// Initial, unless it is InitialNone, takes the place of that of every policy.
	Initial Initial
	// NoInitial makes InitialNone take the place of the Initial of every policy.
	NoInitial bool
	// TTL, unless it is 0, takes the place of that of every policy.
	TTL time.Duration
	// MaxGap, unless it is 0, takes the place of that of every policy.
	MaxGap time.Duration
	// MaxObjects bounds the objects of this shard. 0: no bound.
	MaxObjects int
}
