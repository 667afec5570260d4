package tracking

import (
	"context"
	"math"
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/fence/track"
)

// Flapping counts the events of parked vehicles.
type Flapping struct {
	Policy      string  `json:"policy"`
	Every       string  `json:"every"`
	VehicleDays float64 `json:"vehicle_days"`
	Events      int64   `json:"events"`
	PerDay      float64 `json:"events_per_vehicle_day"`
}

// memory is the time in seconds after which the error of a receiver has mostly changed.
const memory = 30.0

// metre is a metre in degrees of latitude.
const metre = 1 / 111_195.0

// receiver is a receiver with correlated errors: an autoregressive process of the first order.
type receiver struct {
	*rand.Rand
	noise, east, north float64 // metres
}

func newReceiver(seed uint64, noise float64) *receiver {
	r := &receiver{Rand: rand.New(rand.NewPCG(seed, 1)), noise: noise}
	r.east, r.north = noise*r.NormFloat64(), noise*r.NormFloat64()
	return r
}

// radius is the accuracy that a receiver reports over its error on one axis: of a circle that holds
// two errors of three.
const radius = 1.5

// report returns the position that a receiver reports.
func (r *receiver) report(p geometry.Point, at track.Millis) *track.Position {
	return &track.Position{
		Fleet: "f", ID: "v", Lon: p.Lon, Lat: p.Lat, Time: at, Arrived: at, Accuracy: track.Measured(radius * r.noise),
	}
}

// read returns the place that the receiver reports, some seconds after the last one.
func (r *receiver) read(at geometry.Point, seconds float64) geometry.Point {
	keep := math.Exp(-seconds / memory)
	fresh := r.noise * math.Sqrt(1-keep*keep)
	r.east, r.north = keep*r.east+fresh*r.NormFloat64(), keep*r.north+fresh*r.NormFloat64()
	return geometry.Point{Lon: at.Lon + r.east*metre/math.Cos(at.Lat*math.Pi/180), Lat: at.Lat + r.north*metre}
}

// park measures the events of vehicles that are parked on boundaries.
func (b *bench) park(ctx context.Context) error {
	places := b.boundaries(b.Vehicles)
	for _, policy := range b.Policies {
		for _, every := range b.Every {
			b.Say("%s: %d vehicles parked on boundaries, a position in %v", policy, b.Vehicles, every)
			f, err := b.parkAt(ctx, policy, every, places)
			if err != nil {
				return err
			}
			b.report.Flapping = append(b.report.Flapping, f)
		}
	}
	return nil
}

// boundaries returns places on the boundaries of fences.
func (b *bench) boundaries(n int) (places []geometry.Point) {
	random := rand.New(rand.NewPCG(uint64(n), 2))
	var rings []geometry.Ring
	for _, s := range b.sets {
		for _, f := range s.Snapshot().All() {
			for _, part := range f.Geometry {
				rings = append(rings, part...)
			}
		}
	}
	for range n {
		ring := rings[random.IntN(len(rings))]
		k, share := random.IntN(len(ring)), random.Float64()
		p, q := ring[k], ring[(k+1)%len(ring)]
		places = append(places, geometry.Point{Lon: p.Lon + share*(q.Lon-p.Lon), Lat: p.Lat + share*(q.Lat-p.Lat)})
	}
	return places
}

// parkAt counts the events after the first hour, in which a vehicle may enter small fences beside
// it.
func (b *bench) parkAt(ctx context.Context, policy string, every time.Duration, places []geometry.Point) (Flapping, error) {
	v, err := b.view(policy)
	if err != nil {
		return Flapping{}, err
	}
	var count atomic.Int64
	var next atomic.Int64
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(places)) && ctx.Err() == nil; i = next.Add(1) - 1 {
				count.Add(parked(v, places[i], newReceiver(uint64(i), b.Noise), every, b.Parked))
			}
		})
	}
	workers.Wait()
	days := float64(len(places)) * (b.Parked - time.Hour).Hours() / 24
	return Flapping{policy, every.String(), days, count.Load(), float64(count.Load()) / days}, ctx.Err()
}

// parked returns the number of events of one vehicle after the first hour.
func parked(v *track.View, place geometry.Point, r *receiver, every, total time.Duration) (count int64) {
	shard := track.NewShard(track.Options{})
	shard.SetView(v, epoch)
	var events []track.Event
	for at := time.Duration(0); at < total; at += every {
		p := r.read(place, every.Seconds())
		when := epoch + track.Millis(at.Milliseconds())
		events = apply(shard, r.report(p, when), events[:0])
		if at >= time.Hour {
			count += int64(len(events))
		}
	}
	return count
}

// Delay is how late a policy tells real crossings of a fence of 200 m, in seconds.
type Delay struct {
	Policy string  `json:"policy"`
	Every  string  `json:"every"`
	Speed  float64 `json:"speed_m_s"`
	Exit   Spread  `json:"exit_s"`
	Enter  Spread  `json:"enter_s"`
	Missed int     `json:"missed"` // crossings that were not told within the hour that the vehicle stays
}

const (
	side  = 200.0 // of the fence, in metres
	stay  = 3600.0
	tours = 20
)

// drive measures the delays of real crossings: a vehicle comes from afar, stays in the fence for an
// hour, and leaves.
func (b *bench) drive(ctx context.Context) error {
	set, err := fence.NewSet("yard", fence.Options{})
	if err == nil {
		_, _, err = set.Put(fence.Fence{Key: "yard", Geometry: geometry.MultiPolygon{{{
			{}, {Lon: side * metre}, {Lon: side * metre, Lat: side * metre}, {Lat: side * metre},
		}}}})
	}
	if err != nil {
		return err
	}
	for _, policy := range b.Policies {
		p, err := track.ParsePolicy(policy)
		if err != nil {
			return err
		}
		v := &track.View{Sets: []track.TrackedSet{{Name: "yard", Snapshot: set.Snapshot(), Policy: &p}}}
		for _, every := range b.Every {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			b.report.Delays = append(b.report.Delays, delays(v, policy, every, b.Noise))
		}
	}
	return nil
}

// delays measures some tours.
func delays(v *track.View, policy string, every time.Duration, noise float64) Delay {
	d := Delay{Policy: policy, Every: every.String(), Speed: 10}
	var enters, exits []float64
	for seed := range uint64(tours) {
		told := tour(v, newReceiver(seed, noise), every.Seconds(), d.Speed)
		late := func(k track.Kind, crossed float64, all *[]float64) {
			if at, ok := told[k]; ok {
				*all = append(*all, at-crossed)
			} else {
				d.Missed++
			}
		}
		late(track.Enter, stay, &enters)
		late(track.Exit, 2*stay+side/2/d.Speed, &exits)
	}
	if len(enters) > 0 {
		d.Enter = spread(enters)
	}
	if len(exits) > 0 {
		d.Exit = spread(exits)
	}
	return d
}

// tour returns when each kind of event was told last.
func tour(v *track.View, r *receiver, every, speed float64) map[track.Kind]float64 {
	shard := track.NewShard(track.Options{})
	shard.SetView(v, epoch)
	told := map[track.Kind]float64{}
	var events []track.Event
	for s := r.Float64() * every; s < 3*stay; s += every {
		north := min(max((s-stay)*speed, -1200*speed), side/2)
		if s > 2*stay {
			north = side/2 + (s-2*stay)*speed
		}
		p := r.read(geometry.Point{Lon: side / 2 * metre, Lat: north * metre}, every)
		at := epoch + track.Millis(1000*s)
		events = apply(shard, r.report(p, at), events[:0])
		for i := range events {
			told[events[i].Kind] = s
		}
	}
	return told
}
