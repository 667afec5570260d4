package track_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/internal/sampling"
)

// TestDayOfBuses drives buses over the places of real ones, through three real sets of fences.
// Under raw the events are the differences of the memberships at one fix and the next, by brute
// force. Under the other presets they are the events of the slow tracker.
//
// Without the environment a few buses drive for some hours. PADDOCK_NYC_TRACK is the number of
// buses that drive for a whole day.
func TestDayOfBuses(t *testing.T) {
	sampling.Sequential(t)
	if _, err := os.Stat(cityDir); err != nil {
		t.Skipf("the NYC data is absent: %v", err)
	}
	d := &day{hours: 3, every: 30, buses: 24 / sampling.Slowdown}
	if os.Getenv("PADDOCK_NYC_TRACK") != "" {
		d = &day{hours: 24, every: 10, buses: number(t, "PADDOCK_NYC_TRACK", 0)}
	}
	d.streets = newStreets(busPlaces(t))
	v := cityView(t, "raw")
	defer func(names []string) { sets = names }(sets)
	sets = nil
	for _, s := range v.Sets {
		sets = append(sets, s.Name)
	}
	fences := fencesOf(v)
	for _, name := range []string{"raw", "steady", "accuracy", "dwell:2m"} {
		t.Run(name, func(t *testing.T) { d.compare(t, name, v, fences) })
	}
}

// day is the day of some buses.
type day struct {
	hours, every, buses int // a fix in so many seconds
	streets             *streets
}

// atOnce is the number of buses whose events are in memory at a time.
const atOnce = 24

// compare plays the day to shards under a policy, and compares the events of each bus.
func (d *day) compare(t *testing.T, name string, raw *track.View, fences []oracleFence) {
	policy, err := track.ParsePolicy(name)
	if err != nil {
		t.Fatal(err)
	}
	v := &track.View{Sets: slices.Clone(raw.Sets)}
	for i := range v.Sets {
		v.Sets[i].Policy = &policy
	}
	fixes, events := 0, 0
	var omitted atomic.Int64
	for from := 0; from < d.buses; from += atOnce {
		var buses [][]track.Position
		for i := from; i < min(from+atOnce, d.buses); i++ {
			buses = append(buses, d.drive(i))
			fixes += len(buses[len(buses)-1])
		}
		told := d.play(t, v, buses)
		var working sync.WaitGroup
		slots := make(chan struct{}, runtime.GOMAXPROCS(0))
		for _, inputs := range buses {
			got := told[inputs[0].ID]
			events += len(got)
			working.Go(func() {
				slots <- struct{}{}
				defer func() {
					if undecided := recover(); undecided != nil { // the slow tracker measures with rounding
						omitted.Add(1)
						t.Logf("%s is left out: %v", inputs[0].ID, undecided)
					}
					<-slots
				}()
				want := d.differences(near(fences, inputs), inputs)
				if name != "raw" {
					want = d.slowly(policy, near(fences, inputs), inputs)
				}
				differ(t, inputs[0].ID, got, want)
			})
		}
		working.Wait()
		if t.Failed() {
			return
		}
	}
	if events < d.buses {
		t.Errorf("%d events of %d buses: they do not drive through fences", events, d.buses)
	}
	if n := int(omitted.Load()); n*20 > d.buses {
		t.Errorf("%d of %d buses are left out", n, d.buses)
	}
	t.Logf("%d buses, %d fixes, %d events: all as expected", d.buses, fixes, events)
}

// differ reports the first event that differs.
func differ(t *testing.T, bus string, got, want []string) {
	for i := range max(len(got), len(want)) {
		a, b := "none", "none"
		if i < len(got) {
			a = got[i]
		}
		if i < len(want) {
			b = want[i]
		}
		if a != b {
			t.Errorf("%s, event %d of %d:\n got %s\nwant %s", bus, i, len(want), a, b)
			return
		}
	}
}

// play gives the positions to shards in the order of their arrival, and returns the events of each
// bus. Now and then a shard is replaced by one that imports its state.
func (d *day) play(t *testing.T, v *track.View, buses [][]track.Position) map[string][]string {
	told, random := map[string][]string{}, rand.New(rand.NewPCG(uint64(len(buses)), 11))
	tell := func(events []track.Event) {
		for i := range events {
			e := &events[i]
			told[e.ID] = append(told[e.ID], describe(e, fenceName{e.Set, e.Fence.Key}))
		}
	}
	shards := make([]*track.Shard, 3)
	for i := range shards {
		shards[i] = track.NewShard(track.Options{})
		shards[i].SetView(v, dawn)
	}
	var events []track.Event
	next := make([]int, len(buses))
	for now := dawn; now <= d.end(); now += d.tick() {
		for i, shard := range shards {
			shard.Advance(now)
			tell(settled(shard, events[:0]))
			if random.IntN(500) == 0 {
				shards[i] = moved(t, shard, v)
			}
		}
		for i, inputs := range buses {
			for ; next[i] < len(inputs) && inputs[next[i]].Arrived == now; next[i]++ {
				_, events = shards[i%len(shards)].Apply(&inputs[next[i]], events[:0])
				tell(events)
			}
		}
	}
	return told
}

// moved returns a shard with the state of another one.
func moved(t *testing.T, from *track.Shard, v *track.View) *track.Shard {
	state, err := from.Export(nil)
	to := track.NewShard(track.Options{})
	if err == nil {
		err = to.Import(state, v)
	}
	if err != nil {
		t.Fatal(err)
	}
	return to
}

// slowly returns the events of the slow tracker.
func (d *day) slowly(p track.Policy, fences []oracleFence, inputs []track.Position) (lines []string) {
	o := newOracle(track.Options{}, func(string) int { return 0 })
	o.fences = fences
	for _, set := range sets {
		o.policies[set] = p
	}
	for now := dawn; now <= d.end(); now += d.tick() {
		lines = append(lines, o.advance(now)...)
		for ; len(inputs) > 0 && inputs[0].Arrived == now; inputs = inputs[1:] {
			_, more := o.apply(&inputs[0])
			lines = append(lines, more...)
		}
	}
	return lines
}

// differences returns the events of raw: of each fix the exits, then the enters, each by its time
// and in load order.
func (d *day) differences(fences []oracleFence, inputs []track.Position) (lines []string) {
	var last *track.Position
	in := map[fenceName]*track.Event{} // the enter
	seq := uint64(0)
	for i := range inputs {
		p := &inputs[i]
		if last != nil && p.Time <= last.Time {
			continue // late
		}
		var all []crossed
		for k := range fences {
			f := &fences[k]
			name := fenceName{f.set, f.fence.Key}
			before, was := in[name]
			if is := holds(f.fence.Geometry, pointOf(p)); is == was {
				continue
			}
			e := &track.Event{ID: p.ID, Kind: track.Enter, Point: pointOf(p), Time: p.Time, Arrived: p.Arrived, At: p.Time, HasPrev: last != nil}
			if last != nil {
				e.Prev = pointOf(last)
				e.At = crossing(f.fence.Geometry, e.Prev, e.Point, last.Time, p.Time, maxGap(track.Policy{}))
			}
			e.Since = e.At
			if was {
				e.Kind, e.Since, e.Visit = track.Exit, before.Since, before.Visit
				e.At = max(e.At, e.Since)
			}
			all = append(all, crossed{e, name, k})
		}
		slices.SortFunc(all, func(a, b crossed) int {
			return cmp.Or(rankOf(a.Kind)-rankOf(b.Kind), cmp.Compare(a.At, b.At), a.order-b.order)
		})
		for _, c := range all {
			delete(in, c.name)
			if c.Kind == track.Enter {
				in[c.name] = c.Event
			}
			if last == nil {
				continue // a first position tells nothing
			}
			seq++
			if c.Seq = seq; c.Kind == track.Enter {
				c.Visit = seq
			}
			lines = append(lines, describe(c.Event, c.name))
		}
		last = p
	}
	return lines
}

// crossed is an event with the order of its fence.
type crossed struct {
	*track.Event
	name  fenceName
	order int
}

// fencesOf returns the fences of a view for the slow tracker. The inradius is that of the fence, as
// its definition leaves a tenth open.
func fencesOf(v *track.View) (all []oracleFence) {
	for _, s := range v.Sets {
		for _, f := range s.Snapshot.All() {
			one := oracleFence{set: s.Name, order: len(all), fence: *f, measured: f.Inradius()}
			one.fence.Geometry = withoutRepeats(f.Geometry)
			all = append(all, one)
		}
	}
	return all
}

// withoutRepeats removes vertices that are the same as the one before: edges without a length.
func withoutRepeats(area geometry.MultiPolygon) (out geometry.MultiPolygon) {
	for _, polygon := range area {
		var rings geometry.Polygon
		for _, ring := range polygon {
			ring = slices.Compact(slices.Clone(ring))
			if last := len(ring) - 1; last > 0 && ring[0] == ring[last] {
				ring = ring[:last]
			}
			rings = append(rings, ring)
		}
		out = append(out, rings)
	}
	return out
}

// near returns the fences whose box has one of the positions. The others have none of them inside,
// so no event is about them.
func near(all []oracleFence, inputs []track.Position) (some []oracleFence) {
	for _, f := range all {
		box := f.fence.Geometry.Bounds()
		if slices.ContainsFunc(inputs, func(p track.Position) bool {
			return p.Lon >= box.MinLon && p.Lon <= box.MaxLon && p.Lat >= box.MinLat && p.Lat <= box.MaxLat
		}) {
			some = append(some, f)
		}
	}
	return some
}

// dawn is the time at which the day begins.
const dawn track.Millis = 1_700_000_000_000

func (d *day) tick() track.Millis { return track.Millis(d.every) * 1000 }

func (d *day) end() track.Millis { return dawn + track.Millis(d.hours)*3_600_000 }

// streets joins the places of buses to others nearby.
type streets struct {
	at   []geometry.Point
	near [][]int
}

// Blocks are the nearest places at this distance in metres, so that a bus drives.
const (
	shortestBlock = 60
	blocks        = 5
)

func newStreets(places []geometry.Point) *streets {
	s := &streets{at: places, near: make([][]int, len(places))}
	for i, p := range places {
		type block struct {
			to     int
			length float64
		}
		var all []block
		for k, q := range places {
			if length := span(p, q); length >= shortestBlock {
				all = append(all, block{k, length})
			}
		}
		slices.SortFunc(all, func(a, b block) int { return cmp.Or(cmp.Compare(a.length, b.length), a.to-b.to) })
		for _, b := range all[:min(blocks, len(all))] {
			s.near[i] = append(s.near[i], b.to)
		}
	}
	return s
}

// bus drives from place to place.
type bus struct {
	*rand.Rand
	receiver
	streets          *streets
	before, from, to int
	done, speed      float64 // share of the block; metres a second
	pause            float64 // seconds for which it stands
	silent           float64 // seconds for which it reports nothing
	poor             float64 // seconds for which high buildings stand around
}

// drive returns the positions that a bus reports, by their arrival.
func (d *day) drive(number int) (all []track.Position) {
	random := rand.New(rand.NewPCG(uint64(number), 5))
	b := &bus{Rand: random, receiver: receiver{Rand: random}, streets: d.streets}
	b.from = random.IntN(len(d.streets.at))
	b.before, b.to = b.from, d.streets.near[b.from][0]
	b.speed = 8
	for now := dawn; now <= d.end(); now += d.tick() {
		for range d.every {
			b.step()
		}
		if b.silent > 0 {
			continue
		}
		p := b.report(float64(d.every))
		p.ID = fmt.Sprintf("MTA NYCT_%d", 1000+number)
		p.Arrived, p.Time = now, now-track.Millis(random.IntN(3000))
		if all = append(all, p); random.IntN(200) == 0 {
			all = append(all, p) // sent again
		}
	}
	return all
}

// step drives for a second.
func (b *bus) step() {
	b.silent, b.poor = max(b.silent-1, 0), max(b.poor-1, 0)
	if b.IntN(900) == 0 {
		b.poor = 15 + 45*b.Float64()
	}
	if b.pause > 0 {
		b.pause--
		return
	}
	b.done += b.speed / span(b.streets.at[b.from], b.streets.at[b.to])
	if b.done < 1 {
		return
	}
	next := b.streets.near[b.to]
	b.before, b.from, b.done = b.from, b.to, 0
	if b.to = next[b.IntN(len(next))]; b.to == b.before {
		b.to = next[b.IntN(len(next))] // it turns round at times
	}
	b.speed = 4 + 9*b.Float64()
	switch n := b.IntN(400); {
	case n < 200:
		b.pause = 8 + 17*b.Float64() // passengers, lights
	case n < 210:
		b.pause = 60 * (2 + 18*b.Float64()) // the end of the line
	case n < 212:
		b.silent = 60 * (1 + 12*b.Float64()) // a tunnel
	case n < 213:
		b.pause = 60 * (20 + 40*b.Float64())
		b.silent = b.pause // no duty
	}
}

// report returns the position that the receiver reads, on the grid of stored ones.
func (b *bus) report(seconds float64) track.Position {
	from, to := b.streets.at[b.from], b.streets.at[b.to]
	place := geometry.Point{Lon: from.Lon + b.done*(to.Lon-from.Lon), Lat: from.Lat + b.done*(to.Lat-from.Lat)}
	read, accuracy := b.read(place, seconds), 7.5
	if b.poor > 0 {
		read = geometry.Point{Lon: read.Lon + 3*b.east*metre, Lat: read.Lat + 3*b.north*metre}
		accuracy = 30
	}
	if b.IntN(2000) == 0 { // far off
		read.Lon, read.Lat = read.Lon+0.2*b.NormFloat64(), read.Lat+0.2*b.NormFloat64()
	}
	p := track.Position{Fleet: "f", Lon: math.Round(read.Lon*1e7) / 1e7, Lat: math.Round(read.Lat*1e7) / 1e7}
	if b.IntN(10) > 0 {
		p.Accuracy = track.Measured(accuracy)
	}
	return p
}
