// Package forecast names the boundaries that an object will cross if it keeps its speed and its
// heading.
//
// The path is walked in steps of at most a kilometre through the index of boundaries of each set. A
// step is straight in longitude and latitude, as edges are, so that it is decided exactly what it
// crosses. The path itself keeps its heading (a rhumb line on WGS84): between 80 degrees south and
// north its end errs by less than a metre in 1,000 km, and a step by less than 0.3 m from the line
// between its ends.
package forecast

import (
	"cmp"
	"math"
	"slices"

	"paddock/fence"
	"paddock/fence/geometry"
)

const (
	// MaxMetres bounds the length of a path.
	MaxMetres = 1_000_000
	// MaxLat is where a path ends: nearer to a pole a heading means little.
	MaxLat = 89.0

	step = 1000 // metres
)

// Kind is what an object does at a boundary.
type Kind uint8

const (
	// Enter: it comes into an area.
	Enter Kind = iota
	// Exit: it leaves an area.
	Exit
	// Cross: it crosses a line.
	Cross
)

var kindNames = [...]string{Enter: "enter", Exit: "exit", Cross: "cross"}

func (k Kind) String() string { return kindNames[k] }

// Motion is how an object moves.
type Motion struct {
	From    geometry.Point
	Heading float64 // degrees clockwise from north
}

// Between returns the motion from one place to another, and their distance in metres.
func Between(a, b geometry.Point) (m Motion, metres float64) {
	middle := geometry.MetricAt(geometry.Point{Lon: a.Lon, Lat: (a.Lat + b.Lat) / 2})
	lon, lat := middle.Degree()
	heading := math.Atan2(math.Remainder(b.Lon-a.Lon, 360)*lon, (b.Lat-a.Lat)*lat) * 180 / math.Pi
	from := geometry.MetricAt(a)
	return Motion{b, math.Mod(heading+360, 360)}, from.To(b)
}

// Set is a set of fences under its name.
type Set struct {
	Name     string
	Snapshot *fence.Snapshot
}

// Crossing is a place at which an object will cross a boundary.
type Crossing struct {
	Kind   Kind
	Set    string
	Fence  *fence.Fence
	ToLeft bool // of Cross: to the left side of the line
	Point  geometry.Point
	Metres float64 // along the path
}

// Append appends the first crossings of a path of so many metres, at most most of them, in their
// order on the path, and at one place in the order of the sets and their fences. more reports that
// the path has further ones. A path that begins in an area has no enter of it first.
func Append(dst []Crossing, sets []Set, m Motion, metres float64, most int) (out []Crossing, more bool) {
	w := walk{sets: sets, clear: make([]float64, len(sets))}
	sin, cos := math.Sincos(m.Heading * math.Pi / 180)
	end := min(metres, MaxMetres)
	most += len(dst)
	for at, a := 0.0, m.From; at < end && math.Abs(a.Lat) < MaxLat; at += step {
		length := min(step, end-at)
		b := moved(a, length*sin, length*cos)
		from := len(dst)
		dst = w.step(dst, at, length, a, b)
		slices.SortStableFunc(dst[from:], func(x, y Crossing) int { return cmp.Compare(x.Metres, y.Metres) })
		if len(dst) > most {
			return dst[:most], true
		}
		a = b
	}
	return dst, false
}

// moved returns the place so many metres to the east and to the north of a, for at most a step.
func moved(a geometry.Point, east, north float64) geometry.Point {
	m := geometry.MetricAt(a)
	_, lat := m.Degree()
	middle := geometry.MetricAt(geometry.Point{Lon: a.Lon, Lat: a.Lat + north/lat/2})
	lon, lat := middle.Degree()
	return at(a.Lon+east/lon, a.Lat+north/lat)
}

// at returns a place with a longitude from -180 to 180.
func at(lon, lat float64) geometry.Point {
	return geometry.Point{Lon: math.Remainder(lon, 360), Lat: lat}
}

// walk is the state of Append.
type walk struct {
	sets  []Set
	clear []float64 // by set: up to here on the path there is no boundary

	refs  []fence.Ref
	turns []geometry.Turn
	lines []geometry.Crossing
}

// step appends the crossings of one step, which begins at so many metres, by set.
func (w *walk) step(dst []Crossing, begin, length float64, a, b geometry.Point) []Crossing {
	for i := range w.sets {
		s := &w.sets[i]
		if w.clear[i] <= begin+length {
			w.clear[i] = begin + s.Snapshot.Clearance(a.Lon, a.Lat)
		}
		if w.clear[i] > begin+length {
			continue
		}
		w.refs = s.Snapshot.AppendAlong(w.refs[:0], a, b)
		for _, ref := range w.refs {
			dst = w.fence(dst, s, s.Snapshot.Fence(ref), begin, length, a, b)
		}
	}
	return dst
}

// fence appends the crossings of one fence in a step.
func (w *walk) fence(dst []Crossing, s *Set, f *fence.Fence, begin, length float64, a, b geometry.Point) []Crossing {
	place := func(share float64) Crossing {
		dlon := math.Remainder(b.Lon-a.Lon, 360)
		return Crossing{
			Set: s.Name, Fence: f, Metres: begin + share*length,
			Point: at(a.Lon+share*dlon, a.Lat+share*(b.Lat-a.Lat)),
		}
	}
	if f.OnlyCrossed() {
		w.lines = f.Lines.AppendCrossings(w.lines[:0], a, b)
		for _, c := range w.lines {
			crossing := place(c.Share)
			crossing.Kind, crossing.ToLeft = Cross, c.ToLeft
			dst = append(dst, crossing)
		}
		return dst
	}
	w.turns = f.Geometry.AppendTurns(w.turns[:0], a, b)
	for _, t := range w.turns {
		crossing := place(t.Share)
		if !t.In {
			crossing.Kind = Exit
		}
		dst = append(dst, crossing)
	}
	return dst
}
