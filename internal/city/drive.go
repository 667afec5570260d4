package city

import "math"

// vehicle is the state of one vehicle. Invariant: 0 <= at <= length of arc.
type vehicle struct {
	kind    Kind
	dice    dice
	cruise  float64 // how the driver sees a speed limit: a factor about 1
	gps     gps
	arc     arc     // where it is
	at      float64 // metres along the arc
	segment int32   // hint for network.place
	speed   float64 // m/s
	side    vec     // from the middle of the street, metres

	next  arc     // the arc after this one
	turn  float64 // the speed at which the junction between them can be taken, m/s
	stop  float64 // where on this arc it will stop; +Inf if it will not
	stay  float64 // seconds it still stands there
	since float64 // metres since the last stop or stay
	trip  float64 // metres of since after which it will stay; of no use to buses

	hub, other int // where it is bound for; for a bus, also the other end of its line
}

// place puts a new vehicle on the streets.
func (f *Fleet) place(kind Kind, d dice) vehicle {
	v := vehicle{kind: kind, dice: d, stop: math.Inf(1), gps: gps{sigma: gpsClear}}
	v.cruise = v.dice.between(0.85, 1.08)
	v.arc = f.n.arcs[v.dice.intn(len(f.n.arcs))]
	v.at = float64(f.n.length(v.arc) * v.dice.float())
	f.chooseHub(&v)
	if kind == Bus {
		f.chooseLine(&v)
	} else {
		v.since = float64(f.newTrip(&v) * v.dice.float())
	}
	f.chooseNext(&v)
	return v
}

// laneOffset is the distance of a vehicle from the middle of the street, to the right, by class of
// street, in metres. Many streets are borders of districts. Without the offset each error of a
// receiver would put its vehicle into another district.
var laneOffset = [...]float64{arterial: 8, street: 6, lane: 3.5}

// laneChange is the time in which a vehicle gets over to its side after a turn,
// in seconds.
const laneChange = 1.5

// steer keeps to the right.
func (v *vehicle) steer(direction vec, c class, dt float64) {
	want := direction.unit().left().scale(-laneOffset[c])
	v.side = mix(v.side, want, min(1, dt/laneChange))
}

// chooseLine picks the other end of a bus line, not too far away.
func (f *Fleet) chooseLine(v *vehicle) {
	best := int32(math.MaxInt32)
	for range 20 {
		hub := v.dice.intn(hubCount)
		if far := f.far(v.hub, hub); hub != v.hub && far < best {
			v.other, best = hub, far
			if far < longestLine {
				return
			}
		}
	}
}

// longestLine is the longest bus line, in tenths of a second of free driving.
const longestLine = 15000

// far is how far two hubs are apart, in tenths of a second.
func (f *Fleet) far(a, b int) int32 { return f.r.cost[a][f.r.hubs[b]] }

// newTrip draws the length of a trip.
func (f *Fleet) newTrip(v *vehicle) float64 {
	h := &habitsOf[v.kind]
	v.trip = v.dice.between(h.trip[0], h.trip[1])
	return v.trip
}

// chooseHub picks the nearest of three hubs, but not where the vehicle is.
func (f *Fleet) chooseHub(v *vehicle) {
	node := f.n.head(v.arc)
	best := int32(math.MaxInt32)
	for range 3 {
		hub := v.dice.intn(hubCount)
		if cost := f.r.cost[hub][node]; cost < best && cost > 300 {
			v.hub, best = hub, cost
		}
	}
}

// drive advances a vehicle by dt seconds, at most longestStep.
func (f *Fleet) drive(v *vehicle, dt float64) {
	if v.stay > 0 {
		v.stay -= dt
		return
	}
	h := &habitsOf[v.kind]
	length := f.n.length(v.arc)
	line := math.Inf(1) // where it must stand, if anywhere
	if v.stop < line {
		line = v.stop
	} else if f.red(v.arc) {
		line = max(0, length-stopLine)
	}
	limit := float64(f.n.links[v.arc.link()].speed * v.cruise)
	toEnd := length - v.at
	limit = min(limit, math.Sqrt(float64(v.turn*v.turn)+float64(2*h.brake*toEnd)))
	if line >= v.at { // not yet passed
		limit = min(limit, math.Sqrt(float64(2*h.brake*(line-v.at))))
	}
	v.speed = max(min(v.speed+float64(h.accelerate*dt), limit), min(creep, v.speed+float64(h.accelerate*dt)))
	move := float64(v.speed * dt)
	if line >= v.at && v.at+move >= line-0.5 {
		move = max(0, line-v.at)
		v.at, v.since, v.speed = max(v.at, line), v.since+move, 0
		if line == v.stop {
			f.arrive(v)
		}
		return
	}
	v.at += move
	v.since += move
	for v.at >= f.n.length(v.arc) {
		v.at -= f.n.length(v.arc)
		f.enter(v)
	}
}

const (
	creep    = 1.0 // m/s: the least speed that a brake aims at, so that each vehicle arrives
	stopLine = 4.0 // metres before the junction
)

// enter takes the vehicle into its next arc.
func (f *Fleet) enter(v *vehicle) {
	v.arc, v.segment = v.next, 0
	if v.arc.back() {
		v.segment = math.MaxInt32
	}
	v.speed = min(v.speed, v.turn)
	v.stop = math.Inf(1)
	length := f.n.length(v.arc)
	node := f.n.head(v.arc)
	switch {
	case node == f.r.hubs[v.hub]:
		v.stop = max(length-stopLine, length/2)
	case v.kind == Bus:
		if f.n.busStop(v.arc) && v.since > 220 {
			v.stop = float64(length * 0.6)
		}
	case v.since > v.trip && length > 40:
		v.stop = float64(length * v.dice.between(0.35, 0.8))
	}
	f.chooseNext(v)
}

// arrive begins a stay where the vehicle has stopped.
func (f *Fleet) arrive(v *vehicle) {
	v.stop, v.since = math.Inf(1), 0
	h := &habitsOf[v.kind]
	atHub := f.n.head(v.arc) == f.r.hubs[v.hub]
	switch {
	case v.kind == Bus && !atHub:
		v.stay = v.dice.between(8, 25)
	case v.kind == Bus:
		v.stay = v.dice.between(h.stay[0], h.stay[1])
		v.hub, v.other = v.other, v.hub
	default:
		v.stay = v.dice.between(h.stay[0], h.stay[1])
		f.chooseHub(v)
		f.newTrip(v)
	}
	f.chooseNext(v)
}

// chooseNext decides where to go at the end of the present arc: along the
// shortest way, at times elsewhere, and back only if it must be.
func (f *Fleet) chooseNext(v *vehicle) {
	node := f.n.head(v.arc)
	leaving := f.n.leaving(node)
	v.next = leaving[f.r.next[v.hub][node]]
	turnsBack := v.next == v.arc^1 && v.kind != Bus
	if len(leaving) > 1 && (turnsBack || v.dice.float() < habitsOf[v.kind].wander) {
		k := v.dice.intn(len(leaving))
		if leaving[k] == v.arc^1 {
			k = (k + 1) % len(leaving)
		}
		v.next = leaving[k]
	}
	v.turn = f.turnSpeed(v.arc, v.next)
}

// turnSpeed is how fast the junction between two arcs can be taken: as fast as
// the street after it allows when straight on, 5 m/s round a right angle.
func (f *Fleet) turnSpeed(a, b arc) float64 {
	cos := f.n.endDirection(a).unit().dot(f.n.startDirection(b).unit())
	if cos > 0.94 {
		return f.n.links[b.link()].speed
	}
	return clamp(5+float64(9*cos), 2.5, f.n.links[b.link()].speed)
}

// busStop reports whether buses stop on a street.
func (n *network) busStop(a arc) bool {
	return n.length(a) > 80 && mixBits(uint64(a.link()))%5 < 3
}

// signalCycle is the period of every traffic light in seconds: half of it for
// every second of the streets at the junction, with a pause to clear it.
const (
	signalCycle = 50
	signalPause = 4
)

// red reports whether the traffic light at the end of an arc is red. Lights depend on the time
// alone.
func (f *Fleet) red(a arc) bool {
	node := f.n.head(a)
	shift := f.n.signal[node]
	if shift < 0 {
		return false
	}
	t := f.now + float64(shift)
	t -= float64(math.Floor(t/signalCycle) * signalCycle)
	if f.n.slot(node, a^1)%2 == 1 {
		t -= signalCycle / 2
	}
	return t < 0 || t >= signalCycle/2-signalPause
}
