package track

import (
	"encoding/json"
	"math"

	"paddock/fence/geometry"
)

// The bounds of standing still, as a person sees it on a map.
const (
	dwellSpeed  = 0.5    // metres per second, below which a reported speed is standing
	dwellRadius = 15.0   // metres; within it of one place ...
	dwellAfter  = 60_000 // ... for this many milliseconds is standing
)

// State is what an object does, in one word for a map or a list.
type State uint8

const (
	// Moving: none of the others.
	Moving State = iota
	// Dwelling: slower than 0.5 m/s by its own report, or within 15 m of one
	// place for a minute.
	Dwelling
	// Silent: unheard for the longest TTL of all sets, if each has one.
	Silent
	// Unknown: it has reported no speed, and has not been seen to move or to stand yet.
	Unknown
)

var stateNames = [...]string{Moving: "moving", Dwelling: "dwelling", Silent: "silent", Unknown: "unknown"}

func (s State) String() string { return stateNames[s] }

// object is the state of one object, in 120 bytes. Its shard owns it.
type object struct {
	*bond
	*extra                  // noExtra for most objects
	props  *json.RawMessage // nil if none are known

	point   geometry.Point
	time    Millis // of the last accepted fix
	arrived Millis
	seq     uint64 // events so far

	measures [4]float32 // accuracy, speed, heading, altitude
	anchor   spot       // where it has been standing, if it has
	handle   uint32
	name     uint32 // in Shard.texts
	fleet    uint32 // in Shard.fleets

	place, count uint32 // of its memberships, ascending by set, then ref

	earlier, later link // neighbours in the arrivalList

	stood uint16 // milliseconds at the anchor at the last fix, up to mostStood
	known uint8  // of measures, as bits
	flags
}

// flags are what is true of an object.
type flags uint8

const (
	moved  flags = 1 << iota // it has left an anchor
	silent                   // see Shard.silence
	gone                     // removed; only its place in Shard.objects is left
)

func (f *flags) set(flag flags, to bool) {
	if *f &^= flag; to {
		*f |= flag
	}
}

func (f flags) moved() bool  { return f&moved != 0 }
func (f flags) silent() bool { return f&silent != 0 }
func (f flags) gone() bool   { return f&gone != 0 }

// mostStood is the longest standing that an object knows.
const mostStood = math.MaxUint16

// spot is a place in 1e-7 degrees: about a centimetre.
type spot struct{ lon, lat int32 }

const spotScale = 1e7

func spotAt(p geometry.Point) spot {
	return spot{int32(math.Round(p.Lon * spotScale)), int32(math.Round(p.Lat * spotScale))}
}

func (s spot) point() geometry.Point {
	return geometry.Point{Lon: float64(s.lon) / spotScale, Lat: float64(s.lat) / spotScale}
}

// take stores a fix.
func (o *object) take(p *Position, arrived Millis) {
	o.point = geometry.Point{Lon: p.Lon, Lat: p.Lat}
	if isBeyond(o.anchor.point(), o.point, dwellRadius) {
		o.anchor, o.stood = spotAt(o.point), 0
		o.flags |= moved
	} else {
		o.stood = uint16(min(Millis(o.stood)+p.Time-o.time, mostStood))
	}
	o.time, o.arrived = p.Time, arrived
	o.report(p.Accuracy, p.Speed, p.Heading, p.Altitude)
	if p.Props != nil {
		props := p.Props
		o.props = &props
	}
}

// report stores what the device measured.
func (o *object) report(accuracy, speed, heading, altitude Measure) {
	o.known = 0
	for i, m := range [...]Measure{accuracy, speed, heading, altitude} {
		if o.measures[i] = m.Value; m.Known {
			o.known |= 1 << i
		}
	}
}

func (o *object) measure(i int) Measure { return Measure{o.measures[i], o.known>>i&1 != 0} }
func (o *object) accuracy() Measure     { return o.measure(0) }
func (o *object) speed() Measure        { return o.measure(1) }
func (o *object) heading() Measure      { return o.measure(2) }
func (o *object) altitude() Measure     { return o.measure(3) }

// properties returns the object's properties, nil if none are known.
func (o *object) properties() json.RawMessage {
	if o.props == nil {
		return nil
	}
	return *o.props
}

func (o *object) state() State {
	switch {
	case o.silent():
		return Silent
	case o.speed().Known && o.speed().Value < dwellSpeed, o.stood >= dwellAfter:
		return Dwelling
	case o.speed().Known || o.moved():
		return Moving
	}
	return Unknown
}

// perDegree is the metres of a degree, good to a percent.
const perDegree = 111_320.0

// isBeyond reports whether the distance of two points is more than a limit, by metres.
func isBeyond(a, b geometry.Point, limit float64) bool {
	dy := math.Abs(b.Lat - a.Lat)
	switch {
	case perDegree*dy > limit:
		return true
	case perDegree*(math.Abs(b.Lon-a.Lon)+dy) < limit:
		return false
	}
	return metres(a, b) > limit
}

// metres is the distance of two near points, good to a percent: enough to tell
// standing from moving, never used for membership.
func metres(a, b geometry.Point) float64 {
	dx := math.Remainder(b.Lon-a.Lon, 360) * math.Cos(a.Lat*math.Pi/180)
	dy := b.Lat - a.Lat
	return perDegree * math.Hypot(dx, dy)
}
