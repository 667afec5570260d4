package track_test

import (
	"encoding/json"
	"math"
	"sync"
	"time"

	"paddock/fence"
	"paddock/fence/track"
)

// knownSettings has the settings that were read before, by their text.
var knownSettings sync.Map

// settingsOf reads the settings of a fence.
func settingsOf(f *fence.Fence) map[string]any {
	if known, ok := knownSettings.Load(string(f.Properties)); ok {
		return known.(map[string]any)
	}
	all := map[string]any{}
	_ = json.Unmarshal(f.Properties, &all)
	knownSettings.Store(string(f.Properties), all)
	return all
}

// policyFor is the policy for a fence: that of its set, with the settings of the fence.
func (o *oracle) policyFor(f oracleFence) track.Policy {
	p, own := o.policy(f.set), settingsOf(&f.fence)
	number := func(name string, into *float64) {
		if v, given := own["paddock:"+name].(float64); given {
			*into = v
		}
	}
	after := func(name string, into *time.Duration) {
		if v, given := own["paddock:"+name].(string); given {
			*into, _ = time.ParseDuration(v)
		}
	}
	fixes := float64(p.Fixes)
	number("fixes", &fixes)
	p.Fixes = int(fixes)
	number("metres", &p.Metres)
	number("sure", &p.Sure)
	number("accuracy_factor", &p.AccuracyFactor)
	number("max_accuracy", &p.MaxAccuracy)
	after("enter_after", &p.EnterAfter)
	after("exit_after", &p.ExitAfter)
	switch own["paddock:altitude"] {
	case "ignore":
		p.Altitude = track.AltitudeIgnore
	case "inside":
		p.Altitude = track.AltitudeInside
	}
	return p
}

// heights returns the floor and the ceiling of a fence; bounded reports whether it has one.
func heights(f *fence.Fence) (floor, ceiling float64, bounded bool) {
	own := settingsOf(f)
	floor, ceiling = math.Inf(-1), math.Inf(1)
	if v, given := own["paddock:floor"].(float64); given {
		floor, bounded = v, true
	}
	if v, given := own["paddock:ceiling"].(float64); given {
		ceiling, bounded = v, true
	}
	return floor, ceiling, bounded
}

func sameHeights(f, g *fence.Fence) bool {
	a, b, _ := heights(f)
	c, d, _ := heights(g)
	return a == c && b == d
}

// altitudeFits reports whether a fix is between the floor and the ceiling of a fence. known is
// false if the fix does not say.
func (o *oracle) altitudeFits(f oracleFence, p *track.Position) (fits, known bool) {
	floor, ceiling, bounded := heights(&f.fence)
	switch v := float64(p.Altitude.Value); {
	case !bounded:
		return true, true
	case !p.Altitude.Known:
		return true, o.policyFor(f).Altitude == track.AltitudeInside
	default:
		return v >= floor && v < ceiling, true
	}
}

// isIn reports whether a fence holds a fix, in the plan and by its altitude.
func (o *oracle) isIn(f oracleFence, p *track.Position) bool {
	fits, known := o.altitudeFits(f, p)
	return holds(f.fence.Geometry, pointOf(p)) && fits && known
}

// isAlike reports whether two states of a fence are judged by the same policy.
func isAlike(f, g *fence.Fence) bool {
	a, b := settingsOf(f), settingsOf(g)
	for _, name := range []string{"fixes", "metres", "sure", "accuracy_factor", "max_accuracy", "enter_after", "exit_after", "altitude"} {
		if a["paddock:"+name] != b["paddock:"+name] {
			return false
		}
	}
	return true
}

// settings draws the settings of a fence, as members of its properties.
func (h *history) settings() string {
	text := ""
	for _, s := range []string{
		`"paddock:fixes":1`, `"paddock:fixes":2`, `"paddock:metres":0`, `"paddock:metres":12.7`, `"paddock:sure":31.7`,
		`"paddock:accuracy_factor":0`, `"paddock:max_accuracy":1000`, `"paddock:max_accuracy":10`,
		`"paddock:enter_after":"3s"`, `"paddock:exit_after":"0s"`,
		`"paddock:altitude":"inside"`, `"paddock:floor":50`, `"paddock:floor":-20`, `"paddock:ceiling":100`, `"paddock:ceiling":50.5`,
	} {
		if h.IntN(7) == 0 {
			text += "," + s
		}
	}
	return text
}
