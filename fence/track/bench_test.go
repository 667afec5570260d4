package track_test

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/fence/track"
	"paddock/fence/track/rule"
)

// cityDir has the fences and the vehicles of a real city.
const cityDir = "../../../shared/data/nyc"

// BenchmarkBuses moves vehicles from the places of real buses by 10 m a fix, in all directions,
// through three real sets.
func BenchmarkBuses(b *testing.B) {
	for _, name := range []string{"raw", "steady"} {
		b.Run(name, func(b *testing.B) { benchmarkBuses(b, cityView(b, name), 20_000) })
	}
}

func benchmarkBuses(b *testing.B, v *track.View, objects int) {
	shard := track.NewShard(track.Options{})
	shard.SetView(v, 0)
	fleet := newFleet(b, objects)
	events := make([]track.Event, 0, 64)
	now, total := track.Millis(1_700_000_000_000), 0
	for range 10 * objects { // vehicles have their visits
		p := fleet.next()
		now += 20
		p.Time, p.Arrived = now, now
		_, events = shard.Apply(p, events[:0])
	}
	b.ReportAllocs()
	b.ResetTimer()
	begun := processorTime()
	for i := 0; i < b.N; i++ {
		p := fleet.next()
		if i%objects == 0 {
			now += 1000
		}
		p.Time, p.Arrived = now, now
		_, events = shard.Apply(p, events[:0])
		total += len(events)
	}
	b.ReportMetric(float64(total)/float64(b.N), "events/fix")
	// The time of the processor says more than that of the clock on a machine that is busy.
	b.ReportMetric(float64(b.N)/(processorTime()-begun).Seconds()/1e6, "M/s-of-one-core")
}

// BenchmarkOutside moves an object that is outside of the fences of a list, of which it has visited
// some. A fix takes the same time for each fence, however many there are.
func BenchmarkOutside(b *testing.B) {
	for _, fences := range []int{100, 1000, 10_000} {
		for _, visited := range []int{0, 50} {
			b.Run(fmt.Sprintf("fences=%d/visited=%d", fences, visited), func(b *testing.B) {
				shard, place := outsider(b, fences, visited)
				p := at("o", 1e6, -5, -5)
				events := make([]track.Event, 0, 16)
				b.ReportAllocs()
				b.ResetTimer()
				for range b.N {
					p.Time++
					_, events = shard.Apply(p, events[:0])
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(place)), "ns/fence")
			})
		}
	}
}

// outsider returns a shard with the object "o", which is outside of listed fences and has been in
// some of them, and the keys of all.
func outsider(t testing.TB, fences, visited int) (*track.Shard, []string) {
	set, err := fence.NewSet("s", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	keys := make([]string, fences)
	load := make([]fence.Fence, fences)
	for i := range fences {
		keys[i] = fmt.Sprintf("f%05d", i)
		load[i] = square(keys[i], float64(i%100), float64(i/100)/2, 0.25)
	}
	if _, err := set.Replace(&geojson.Collection{Fences: load}); err != nil {
		t.Fatal(err)
	}
	list, _ := json.Marshal(keys)
	r, err := rule.Parse(fmt.Appendf(nil, `{"id":"r","set":"s","fences":%s,"detect":["outside"],"outside":{"every":"1000h"}}`, list))
	if err != nil {
		t.Fatal(err)
	}
	rules, err := rule.NewTable([]*rule.Rule{r})
	if err != nil {
		t.Fatal(err)
	}
	shard := track.NewShard(track.Options{})
	shard.SetView(&track.View{Sets: []track.TrackedSet{{ID: 1, Name: "s", Snapshot: set.Snapshot()}}, Rules: rules}, 0)
	settled(shard, nil)
	_, _ = shard.Apply(at("o", 1, -5, -5), nil)
	for i := range visited { // in another order than that of the list
		k := (visited - i) * 7 % fences
		_, _ = shard.Apply(at("o", float64(2+2*i), float64(k%100)+0.1, float64(k/100)/2+0.1), nil)
		_, _ = shard.Apply(at("o", float64(3+2*i), -5, -5), nil)
	}
	return shard, keys
}

// processorTime is the time that this process has had a processor.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// cityView returns a view of the sets of fences of the city.
func cityView(b testing.TB, policy string) *track.View {
	v := &track.View{}
	p, err := track.ParsePolicy(policy)
	if err != nil {
		b.Fatal(err)
	}
	catalog, _, err := fence.LoadDir(os.DirFS(cityDir), fence.Options{})
	if err != nil {
		b.Skip(err)
	}
	for s := range catalog.All() {
		for _, f := range s.Snapshot().All() {
			f.Inradius() // a fence is measured once
		}
		if s.Snapshot().Len() > 0 {
			v.Sets = append(v.Sets, track.TrackedSet{ID: track.SetID(len(v.Sets)), Name: s.Name(), Snapshot: s.Snapshot(), Policy: &p})
		}
	}
	if len(v.Sets) == 0 {
		b.Skip("no fences in " + cityDir)
	}
	return v
}

// fleet moves vehicles.
type fleet struct {
	*rand.Rand
	at       []track.Position
	course   []float64
	vehicle  int
	lat, lon float64 // degrees of 10 m
}

func newFleet(b testing.TB, n int) *fleet {
	f := &fleet{Rand: rand.New(rand.NewPCG(1, 2)), lat: 10 / 111_195.0}
	places := busPlaces(b)
	f.lon = f.lat / math.Cos(places[0].Lat*math.Pi/180)
	for i := range n {
		p := places[f.IntN(len(places))]
		f.at = append(f.at, track.Position{Fleet: "buses", ID: fmt.Sprint("MTA NYCT_", 100_000+i), Lon: p.Lon, Lat: p.Lat})
		f.course = append(f.course, f.Float64()*2*math.Pi)
	}
	f.Shuffle(n, func(i, j int) { f.at[i], f.at[j] = f.at[j], f.at[i] })
	return f
}

// next moves the next vehicle by 10 m, and returns its place.
func (f *fleet) next() *track.Position {
	i := f.vehicle
	if f.vehicle++; f.vehicle == len(f.at) {
		f.vehicle = 0
	}
	sin, cos := math.Sincos(f.course[i])
	p := &f.at[i]
	p.Lon += f.lon * cos
	p.Lat += f.lat * sin
	return p
}

// busPlaces returns the places of real buses.
func busPlaces(b testing.TB) (places []geometry.Point) {
	data, err := os.ReadFile(filepath.Join(cityDir, "nyc_mta_buses.geojson"))
	if err != nil {
		b.Skip(err)
	}
	var doc struct {
		Features []struct {
			Geometry struct{ Coordinates [2]float64 }
		}
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		b.Fatal(err)
	}
	for _, f := range doc.Features {
		places = append(places, geometry.Point{Lon: f.Geometry.Coordinates[0], Lat: f.Geometry.Coordinates[1]})
	}
	return places
}

// BenchmarkRuleChange changes one of 50,000 rules and brings it to all vehicles: the time is that
// of one object. The rule is for one vehicle, as the others are, or for a tenth of them.
func BenchmarkRuleChange(b *testing.B) {
	b.Run("of-one", func(b *testing.B) { benchmarkRuleChange(b, "") })
	b.Run("of-a-tenth", func(b *testing.B) { benchmarkRuleChange(b, "*7") })
}

func benchmarkRuleChange(b *testing.B, pattern string) {
	const objects = 50_000
	v := cityView(b, "steady")
	vehicles := newFleet(b, objects)
	var rules []*rule.Rule
	for i := range objects {
		rules = append(rules, &rule.Rule{
			ID: fmt.Sprint("r", i), Set: v.Sets[i%len(v.Sets)].Name, Objects: vehicles.at[i].ID, Detect: rule.Enter | rule.Exit,
		})
	}
	if pattern != "" {
		rules[0].Objects = pattern
	}
	table, err := rule.NewTable(rules)
	if err != nil {
		b.Fatal(err)
	}
	shard := track.NewShard(track.Options{})
	shard.SetView(&track.View{Sets: v.Sets, Rules: table}, 0)
	for range objects {
		p := vehicles.next()
		p.Time, p.Arrived = 1000, 1000
		shard.Apply(p, nil)
	}
	n := 0
	b.ResetTimer()
	for i := 0; i < b.N; i += objects {
		changed := *rules[0]
		n++
		changed.Detect = rule.Enter << (n % 2)
		if table, err = table.Put(&changed); err != nil {
			b.Fatal(err)
		}
		shard.SetView(&track.View{Sets: v.Sets, Rules: table}, 2000)
		settled(shard, nil)
	}
}

// BenchmarkState reports the memory of an object: of a million vehicles at the places of real
// buses, after three fixes each.
func BenchmarkState(b *testing.B) {
	const objects = 1_000_000
	v := cityView(b, "steady")
	vehicles := newFleet(b, objects)
	before := heap()
	shard := track.NewShard(track.Options{})
	shard.SetView(v, 0)
	var events []track.Event
	for i := range 3 * objects {
		p := vehicles.next()
		p.Time = 1_700_000_000_000 + track.Millis(i/objects)*1000
		p.Arrived = p.Time + 50
		_, events = shard.Apply(p, events[:0])
	}
	for b.Loop() { // the memory does not depend on time
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(heap()-before)/objects, "B/object")
	runtime.KeepAlive(vehicles)
	runtime.KeepAlive(shard)
}

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
