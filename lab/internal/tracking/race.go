package tracking

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"time"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/lab/process"
)

// Throughput is the positions that a shard takes a second, on one processor, of vehicles that move
// 10 m between two of them. Events are counted, and dropped.
type Throughput struct {
	Policy    string `json:"policy"`
	PerSecond Spread `json:"positions_per_second"`
	// Processor is positions a second of processor time, which others on the machine change less;
	// nil: unknown.
	Processor *Spread `json:"positions_per_processor_second,omitempty"`
	Events    float64 `json:"positions_per_event"`
}

// Ratio compares two policies round by round, by processor time if it is known.
type Ratio struct {
	Policy string `json:"policy"`
	Base   string `json:"base"`
	Ratio  Spread `json:"ratio"`
}

// stride is the way of a vehicle between two positions, in metres.
const stride = 10

// contender is a policy in the race.
type contender struct {
	policy string
	shard  *track.Shard
	fleet  *fleet
	events []track.Event

	rates, used  []float64
	fixes, count int
}

// race measures the policies in turns.
func (b *bench) race(ctx context.Context) error {
	var all []*contender
	for _, policy := range b.Policies {
		v, err := b.view(policy)
		if err != nil {
			return err
		}
		c := &contender{policy: policy, shard: track.NewShard(track.Options{}), fleet: b.fleet()}
		c.shard.SetView(v, epoch)
		c.run(ctx, 10*b.Objects, 0) // vehicles have their visits, and fences are measured
		all = append(all, c)
	}
	for round := range b.Rounds {
		b.Say("throughput: round %d of %d", round+1, b.Rounds)
		for i := range all {
			c := all[(round+i)%len(all)]
			c.measure(ctx, b.Duration)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	for _, c := range all {
		t := Throughput{Policy: c.policy, PerSecond: spread(c.rates), Events: float64(c.fixes) / float64(max(c.count, 1))}
		if len(c.used) > 0 {
			used := spread(c.used)
			t.Processor = &used
		}
		b.report.Throughput = append(b.report.Throughput, t)
	}
	for _, c := range all[1:] {
		own, base := c.rates, all[0].rates
		if len(c.used) == len(own) && len(all[0].used) == len(base) {
			own, base = c.used, all[0].used
		}
		ratios := make([]float64, len(own))
		for i := range ratios {
			ratios[i] = own[i] / base[i]
		}
		b.report.Ratios = append(b.report.Ratios, Ratio{c.policy, all[0].policy, spread(ratios)})
	}
	return nil
}

// measure applies positions for a turn.
func (c *contender) measure(ctx context.Context, d time.Duration) {
	use, err := process.Read(os.Getpid())
	begun, fixes := time.Now(), c.fixes
	c.run(ctx, math.MaxInt, d)
	n := float64(c.fixes - fixes)
	c.rates = append(c.rates, n/time.Since(begun).Seconds())
	after, err2 := process.Read(os.Getpid())
	if used := after.CPU - use.CPU; err == nil && err2 == nil && used > 0 {
		c.used = append(c.used, n/used.Seconds())
	}
}

// run applies positions: at most so many, and if there is a duration, until it has passed.
func (c *contender) run(ctx context.Context, most int, d time.Duration) {
	begun := time.Now()
	for n := range most {
		if n%4096 == 0 && (ctx.Err() != nil || d > 0 && time.Since(begun) >= d) {
			return
		}
		_, c.events = c.shard.Apply(c.fleet.next(), c.events[:0])
		c.fixes++
		c.count += len(c.events)
	}
}

// fleet is vehicles that move.
type fleet struct {
	at       []track.Position
	lon, lat []float64 // of the next step, in degrees
	vehicle  int
	now      track.Millis
}

// fleet returns vehicles in fences: the same ones at each call.
func (b *bench) fleet() *fleet {
	random := rand.New(rand.NewPCG(uint64(b.Objects), 3))
	var areas []geometry.Box
	for _, s := range b.sets {
		for _, f := range s.Snapshot().All() {
			areas = append(areas, f.Geometry.Bounds())
		}
	}
	f := &fleet{now: epoch}
	for i := range b.Objects {
		area := areas[random.IntN(len(areas))]
		p := track.Position{Fleet: "vehicles", ID: fmt.Sprintf("vehicle-%d", i)}
		p.Lon = area.MinLon + random.Float64()*(area.MaxLon-area.MinLon)
		p.Lat = area.MinLat + random.Float64()*(area.MaxLat-area.MinLat)
		sin, cos := math.Sincos(2 * math.Pi * random.Float64())
		f.at = append(f.at, p)
		f.lat = append(f.lat, stride*metre*sin)
		f.lon = append(f.lon, stride*metre*cos/math.Cos(p.Lat*math.Pi/180))
	}
	return f
}

// legs is the number of steps after which vehicles turn round.
const legs = 200

// next moves the next vehicle.
func (f *fleet) next() *track.Position {
	i := f.vehicle
	if f.vehicle++; f.vehicle == len(f.at) {
		f.vehicle = 0
		if f.now += 1000; int64(f.now-epoch)/1000%legs == 0 {
			for k := range f.lat {
				f.lat[k], f.lon[k] = -f.lat[k], -f.lon[k]
			}
		}
	}
	p := &f.at[i]
	p.Lon, p.Lat = p.Lon+f.lon[i], p.Lat+f.lat[i]
	p.Time, p.Arrived = f.now, f.now
	return p
}
