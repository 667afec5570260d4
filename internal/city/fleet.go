package city

import (
	"fmt"
	"math"
	"time"
)

// Fix is one vehicle's report of where it is.
type Fix struct {
	Vehicle  int     // index in the fleet
	ID       string  // such as "bus-0012", unique in the fleet
	Lon, Lat float64 // degrees WGS84, on a grid of 1e-7, with the receiver's error
	Speed    float64 // m/s, with two digits
	Heading  float64 // degrees clockwise from north, [0, 360), with one digit
	Accuracy float64 // metres: holds the truth two times out of three
}

// Fleet is a number of vehicles on the streets of a city. It belongs to one
// goroutine. The same steps give the same fixes.
type Fleet struct {
	n        *network
	r        *routes
	now      float64 // seconds since the start, for the traffic lights
	vehicles []vehicle
	ids      []string
}

// Kind is the kind of a vehicle, and the first part of its id.
type Kind uint8

const (
	Bus Kind = iota
	Taxi
	Van
)

func (k Kind) String() string { return [...]string{"bus", "taxi", "van"}[k] }

// habits are how vehicles of a kind drive.
type habits struct {
	accelerate, brake float64    // m/s²
	trip              [2]float64 // metres between two stays
	stay              [2]float64 // seconds
	wander            float64    // chance at a junction to leave the shortest way
}

// Buses stay at the ends of their line; their stops on the way are busStop.
var habitsOf = [...]habits{
	Bus:  {accelerate: 1.0, brake: 1.6, stay: [2]float64{40, 150}},
	Taxi: {accelerate: 2.0, brake: 2.6, trip: [2]float64{1800, 7000}, stay: [2]float64{15, 75}, wander: 0.05},
	Van:  {accelerate: 1.5, brake: 2.2, trip: [2]float64{700, 3500}, stay: [2]float64{60, 240}, wander: 0.09},
}

// Fleet makes the city's vehicles, where they are at the start: spread over the
// streets and under way. A fifth are buses, half are taxis, the rest are vans.
func (c *City) Fleet() *Fleet {
	count := c.cfg.Vehicles
	f := &Fleet{n: c.streets, r: c.routes(), vehicles: make([]vehicle, count), ids: make([]string, count)}
	numbers := [3]int{}
	for i := range f.vehicles {
		kind := [...]Kind{Taxi, Van, Taxi, Bus, Taxi, Van, Taxi, Bus, Taxi, Van}[i%10]
		numbers[kind]++
		f.ids[i] = fmt.Sprintf("%s-%04d", kind, numbers[kind])
		f.vehicles[i] = f.place(kind, dice(mixBits(c.cfg.Seed^uint64(i)<<32)))
	}
	return f
}

// longestStep is the longest time, in seconds, of one step of the simulation. With longer steps,
// vehicles could not brake in time.
const longestStep = 1

// Step lets dt pass and appends one fix for each vehicle, in the order of their
// indices. It allocates nothing if dst has room. A negative dt counts as zero.
func (f *Fleet) Step(dt time.Duration, dst []Fix) []Fix {
	total := max(0, dt.Seconds())
	steps := max(1, int(math.Ceil(total/longestStep)))
	each := total / float64(steps)
	for range steps {
		f.now += each
		for i := range f.vehicles {
			f.drive(&f.vehicles[i], each)
		}
	}
	for i := range f.vehicles {
		dst = append(dst, f.fix(i, total))
	}
	return dst
}

// fix returns the report of vehicle i, dt seconds after the last one.
func (f *Fleet) fix(i int, dt float64) Fix {
	v := &f.vehicles[i]
	p, direction, segment := f.n.place(v.arc, v.at, v.segment)
	v.segment = segment
	v.steer(direction, f.n.links[v.arc.link()].class, dt)
	v.gps.step(dt, &v.dice)
	at := locate(p.add(v.side).add(v.gps.drift))
	return Fix{
		Vehicle:  i,
		ID:       f.ids[i],
		Lon:      at.Lon,
		Lat:      at.Lat,
		Speed:    math.Floor(float64(v.speed*100)+0.5) / 100,
		Heading:  math.Floor(float64(bearing(direction)*10)) / 10,
		Accuracy: v.gps.accuracy(),
	}
}
