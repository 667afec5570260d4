package track

import (
	"fmt"
	"strings"
	"time"

	"paddock/fence/internal/setting"
)

// Policy says how much it takes to change a membership in the fences of one set. The zero value
// is the preset raw: the fence holds the object's last fix, or it does not.
//
// A fix is contrary to a fence if it is in the fence and the object is not a member, or the other
// way round. A contrary fix counts if it is at least a margin away from the boundary: Metres, or
// AccuracyFactor times the accuracy of the fix if that is more. To enter, the margin is at most a
// quarter of the inradius of the fence, so that small fences can be entered. This limit does not
// hold where Metres is 0: the accuracy alone decides then.
//
// The membership changes when the last Fixes fixes were contrary and counted, and the contrary
// state has lasted for EnterAfter or ExitAfter: by the time of the fixes since the first contrary
// one, or by the clock since that one arrived. A contrary fix that does not count begins the
// number of fixes again. A fix that is not contrary ends all of it, and leaves nothing.
//
// A fence with a floor or a ceiling holds a fix if it does so in the plan and the altitude is from
// the floor on and below the ceiling. Metres, Sure and the accuracy count in the plan alone: a fix
// that is contrary by its altitude alone counts wherever it is, and is not sure. The change is then
// dated at the fix, and not between two fixes.
//
// A line has no inside. Under a policy with Metres or AccuracyFactor, a crossing of a line counts
// when the object has got away from the line by the margin without crossing it back: at the last
// Fixes fixes, or at one that is sure. A crossing back before that ends it, and leaves nothing. The
// event has the time and the two positions of the crossing. Other policies tell every crossing.
// A crossing on the way to a fix beyond MaxAccuracy waits for the next fix that is better.
//
// The settings of a fence, geojson.Settings, take the place of fields of the policy for that fence.
type Policy struct {
	// Fixes is the number of consecutive contrary fixes. 0 is 1.
	Fixes int
	// Metres is the margin, see above.
	Metres float64
	// Sure is the distance beyond the boundary at which one contrary fix stands for all of Fixes;
	// three times the accuracy of the fix if that is more. To enter, it is limited as the margin
	// is. 0: none does.
	Sure float64
	// AccuracyFactor is the share of the accuracy of a fix that is part of the margin.
	AccuracyFactor float64
	// MaxAccuracy is the accuracy in metres beyond which a fix moves the object and says nothing
	// about its memberships. The ways to it and from it pass through no area. 0: no limit.
	MaxAccuracy float64
	// EnterAfter and ExitAfter are the durations of the contrary state.
	EnterAfter, ExitAfter time.Duration
	// Altitude says what a fix without an altitude means for a fence with a floor or a ceiling.
	Altitude AltitudeMode
	// MaxSpeed in metres per second: a fix that would take a higher one is an outlier, and is
	// dropped. The third outlier in a row is believed if each of them fits the one before. A time
	// of less than a second between two fixes counts as one. 0: no limit.
	MaxSpeed float64
	// MaxGap is the longest time between two fixes over which the path between them is taken for
	// a straight line. Beyond it crossings are dated at the fix. 0 is 10 minutes.
	MaxGap time.Duration
	// TTL is the silence, counted from arrival, after which an object leaves the fences of the
	// set. 0: never.
	TTL time.Duration
	// Late says what happens to a fix that is older than the last one of its object.
	Late LateMode
	// Reorder is how long each fix waits for older ones, if Late is LateReorder.
	Reorder time.Duration
	// Initial says what the first observation of an object causes.
	Initial Initial
}

// AltitudeMode says what a fix without an altitude means for a fence with a floor or a ceiling.
type AltitudeMode uint8

const (
	// AltitudeIgnore: the fix says nothing about the membership, which stays as it is.
	AltitudeIgnore AltitudeMode = iota
	// AltitudeInside: the fix is between floor and ceiling.
	AltitudeInside
)

var altitudeNames = [...]string{AltitudeIgnore: "ignore", AltitudeInside: "inside"}

func (m AltitudeMode) String() string { return altitudeNames[m] }

// LateMode says what happens to a fix that is not newer than the last one of its object. An
// object has one last fix for all sets. So where the sets of a View differ, LateReorder with the
// longest wait holds for all of them, and LateHistory goes before LateDrop. In the same way a fix
// is an outlier only if it is one for the highest MaxSpeed, and there is none if a set has no
// MaxSpeed.
type LateMode uint8

const (
	// LateDrop drops the fix: the outcome is [Late].
	LateDrop LateMode = iota
	// LateReorder keeps each fix for Policy.Reorder, and applies those of an object by their
	// time. The first one of an object does not wait: the shard knows no object without a place.
	LateReorder
	// LateHistory tells the caller to keep the fix as a past position: the outcome is [Past].
	LateHistory
)

// Presets lists the names of the presets, and the form of dwell.
func Presets() []string { return []string{"raw", "steady", "accuracy", "dwell:DURATION"} }

// The margin of steady is five times the error of a good receiver. Errors last for half a minute,
// so that three fixes in a row share one: at twice the error a vehicle that is parked at a
// boundary would cross it a hundred times a day.
var (
	raw    = Policy{}
	steady = Policy{
		Fixes: 3, Metres: 25, Sure: 100, AccuracyFactor: 1, MaxAccuracy: 100,
		MaxSpeed: 100, TTL: 15 * time.Minute, Initial: InitialEnter,
	}
	accuracy = Policy{Fixes: 1, AccuracyFactor: 1, TTL: 15 * time.Minute, Initial: InitialEnter}
)

// ParsePolicy returns the preset with this name: raw, steady, accuracy, or dwell:5m with any
// duration.
func ParsePolicy(name string) (Policy, error) {
	switch name {
	case "raw":
		return raw, nil
	case "steady":
		return steady, nil
	case "accuracy":
		return accuracy, nil
	}
	text, isDwell := strings.CutPrefix(name, "dwell:")
	if !isDwell {
		return Policy{}, fmt.Errorf("unknown preset %q: use one of %s", name, strings.Join(Presets(), ", "))
	}
	after, err := setting.Duration(text, setting.MaxAfter)
	if err != nil {
		return Policy{}, fmt.Errorf("preset %q: %w", name, err)
	}
	return Policy{EnterAfter: after, ExitAfter: after, TTL: 15 * time.Minute, Initial: InitialEnter}, nil
}

// immediate reports whether every contrary fix changes the membership.
func (p *Policy) immediate() bool {
	return p.Fixes <= 1 && p.EnterAfter == 0 && p.ExitAfter == 0 && p.MaxAccuracy == 0 && !p.measures()
}

// measures reports whether the distance of a contrary fix from the boundary matters.
func (p *Policy) measures() bool { return p.Metres > 0 || p.AccuracyFactor > 0 }

// after returns how long a contrary state lasts before it is confirmed.
func (p *Policy) after(w turn) Millis {
	if w == entering {
		return Millis(p.EnterAfter.Milliseconds())
	}
	return Millis(p.ExitAfter.Milliseconds())
}

// ignores reports whether a fix of this accuracy says nothing about memberships.
func (p *Policy) ignores(accuracy Measure) bool {
	return p.MaxAccuracy > 0 && accuracy.Known && float64(accuracy.Value) > p.MaxAccuracy
}

// sureAccuracies is the number of accuracies that a fix is away from a boundary to be sure.
const sureAccuracies = 3

// margins returns the distances from the boundary at which a contrary fix counts, and at which it
// is sure. A sure of 0 is none.
func (p *Policy) margins(accuracy Measure) (counts, sure float64) {
	error := 0.0
	if accuracy.Known {
		error = float64(accuracy.Value)
	}
	counts = max(p.Metres, p.AccuracyFactor*error)
	if p.Sure > 0 {
		sure = max(p.Sure, sureAccuracies*error)
	}
	return counts, sure
}
