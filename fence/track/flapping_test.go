package track_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/sampling"
)

// receiver is a receiver of a vehicle, with correlated errors.
type receiver struct {
	*rand.Rand
	east, north float64 // error in metres
}

const (
	receiverError  = 5.0  // metres on each axis, one standard deviation
	receiverMemory = 30.0 // seconds
)

// read returns the place that the receiver reports, this many seconds after the last one.
func (r *receiver) read(at geometry.Point, seconds float64) geometry.Point {
	keep := math.Exp(-seconds / receiverMemory)
	fresh := receiverError * math.Sqrt(1-keep*keep)
	r.east = keep*r.east + fresh*r.NormFloat64()
	r.north = keep*r.north + fresh*r.NormFloat64()
	return geometry.Point{Lon: at.Lon + r.east*metre, Lat: at.Lat + r.north*metre}
}

// street is a set of fences of one size beside each other, and one small one.
func street(t testing.TB, side float64, policy string) *track.View {
	t.Helper()
	set, err := fence.NewSet("street", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if _, _, err := set.Put(square(fmt.Sprint("lot", i), float64(i)*side*metre, 0, side*metre)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := track.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	return &track.View{Sets: []track.TrackedSet{{Name: "street", Snapshot: set.Snapshot(), Policy: &p}}}
}

// park parks vehicles on a border for some time, and returns the number of events after the first
// hour, in which a vehicle may enter small fences beside it. Some stand at the border of two
// fences, some at a corner, some at an outer border.
func park(t testing.TB, v *track.View, side float64, vehicles int, total time.Duration, every float64) int {
	places := []geometry.Point{{Lon: side, Lat: side / 2}, {Lon: side, Lat: side}, {Lon: 0, Lat: side / 2}, {Lon: 0, Lat: 0}}
	shard := track.NewShard(track.Options{})
	shard.SetView(v, 0)
	events, count := []track.Event(nil), 0
	for i := range vehicles {
		place := places[i%len(places)]
		place.Lon, place.Lat = place.Lon*metre, place.Lat*metre
		r := &receiver{Rand: rand.New(rand.NewPCG(uint64(i), 7))}
		for n := range int(total.Seconds() / every) {
			at := r.read(place, every)
			_, events = shard.Apply(atPlace(fmt.Sprint(i), float64(n)*every, at), events[:0])
			if float64(n)*every > 3600 {
				count += len(events)
			}
		}
	}
	return count
}

func atPlace(id string, seconds float64, p geometry.Point) *track.Position {
	return at(id, seconds, p.Lon, p.Lat)
}

// A vehicle that is parked on a border does not enter and leave all day under steady, whatever
// the rate of its fixes and the size of the fences. Under raw it does.
func TestParkedVehiclesDoNotFlap(t *testing.T) {
	sampling.Sequential(t)
	for _, c := range []struct {
		every    float64 // seconds
		vehicles int
		side     float64
	}{{1, 8, 200}, {1, 4, 40}, {10, 40, 200}, {30, 80, 200}, {300, 400, 200}} {
		t.Run(fmt.Sprint(c.every, " s, ", c.side, " m"), func(t *testing.T) {
			t.Parallel()
			vehicles := max(number(t, "PADDOCK_VEHICLES", c.vehicles/sampling.Slowdown), 1)
			const day = 24 * time.Hour
			if n := park(t, street(t, c.side, "steady"), c.side, vehicles, day, c.every); n >= vehicles {
				t.Errorf("%d events of %d vehicles in a day, want less than one each", n, vehicles)
			} else {
				t.Logf("steady: %d events of %d vehicles in a day", n, vehicles)
			}
			if n := park(t, street(t, c.side, "raw"), c.side, 1, day, c.every); n < 10 {
				t.Errorf("raw: %d events: the vehicles do not stand on a border", n)
			} else {
				t.Logf("raw: %d events of one vehicle in a day", n)
			}
		})
	}
}

// A vehicle that drives off at 5 m/s is told to have left within 15 s at a fix a second. At a
// lower rate a vehicle at 10 m/s is told to have entered, or left, at the first fix or the one
// after.
func TestRealCrossingsAreTold(t *testing.T) {
	const side = 200.0
	for _, c := range []struct{ every, speed, within float64 }{
		{1, 5, 15}, {10, 10, 20}, {30, 10, 60}, {300, 10, 600},
	} {
		for seed := range uint64(20) {
			shard := track.NewShard(track.Options{})
			shard.SetView(street(t, side, "steady"), 0)
			r := &receiver{Rand: rand.New(rand.NewPCG(seed, 9))}
			crossed, parked := 3600.0, 1200*c.speed/10
			drive := func(seconds float64) geometry.Point { // from the south over the border to far in the north
				y := min(max((seconds-crossed)*c.speed, -parked), side/2)
				if seconds > 2*crossed {
					y = min(side/2+(seconds-2*crossed)*c.speed, 3*side)
				}
				return geometry.Point{Lon: side / 2 * metre, Lat: y * metre}
			}
			told := map[track.Kind]float64{}
			for s := r.Float64() * c.every; s < 4*crossed; s += c.every {
				_, events := shard.Apply(atPlace("v", s, r.read(drive(s), c.every)), nil)
				for _, e := range events {
					told[e.Kind] = s
				}
			}
			left := 2*crossed + side/2/c.speed
			if late := told[track.Exit] - left; told[track.Exit] == 0 || late > c.within {
				t.Errorf("a fix in %v s: the exit is told %.1f s late", c.every, late)
			}
			if late := told[track.Enter] - crossed; told[track.Enter] == 0 || late > c.within {
				t.Errorf("a fix in %v s: the enter is told %.1f s late", c.every, late)
			}
		}
	}
}
