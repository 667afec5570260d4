package history

import (
	"context"
	"testing"
	"time"

	"paddock/fence/track"
	"paddock/internal/city"
	"paddock/internal/platform/journal"
)

// fixesOf returns some hours of the fixes of a city's vehicles, one a second, as they would arrive.
func fixesOf(hours, vehicles int) [][]Fix {
	fleet := city.New(city.Config{Seed: 4, Districts: 200, Vehicles: vehicles}).Fleet()
	all := make([][]Fix, vehicles)
	var step []city.Fix
	begin := track.Millis(20_000) * day
	for n := range 3600 * hours {
		step = fleet.Step(time.Second, step[:0])
		for i := range step {
			f := &step[i]
			at := begin + track.Millis(n)*1000
			all[i] = append(all[i], Fix{
				Time: at, Arrived: at + 40 + track.Millis((n*7919+i*104729)%97), Lon: f.Lon, Lat: f.Lat,
				Speed: track.Measured(f.Speed), Heading: track.Measured(f.Heading), Accuracy: track.Measured(f.Accuracy),
			})
		}
	}
	return all
}

// BenchmarkBytes reports the bytes of a fix: of its time, place and arrival, and of all columns. It
// reports the time to write a block and to read it.
func BenchmarkBytes(b *testing.B) {
	all := fixesOf(1, 100)
	whole, four, fixes := 0, 0, 0
	for _, list := range all {
		whole += len(appendBlock(nil, list))
		bare := make([]Fix, len(list))
		for i, f := range list {
			bare[i] = Fix{Time: f.Time, Arrived: f.Arrived, Lon: f.Lon, Lat: f.Lat}
		}
		four += len(appendBlock(nil, bare))
		fixes += len(list)
	}
	block := appendBlock(nil, all[0])
	var into []byte
	var list []Fix
	for b.Loop() {
		into = appendBlock(into[:0], all[0])
		list, _ = appendFixes(list[:0], block)
	}
	b.ReportMetric(float64(four)/float64(fixes), "B/fix")
	b.ReportMetric(float64(whole)/float64(fixes), "allB/fix")
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(all[0])), "ns/fix")
}

// BenchmarkDay reads one vehicle's day out of three days of 1,000 vehicles: the blocks are those of
// one vehicle, written once for each.
func BenchmarkDay(b *testing.B) {
	const vehicles, days = 1000, 3
	hours := fixesOf(1, 1)[0]
	j, err := journal.Open(journal.Options{Dir: b.TempDir()})
	ok(b, err)
	defer j.Close()
	begin := track.Millis(20_000) * day
	objects := make([]Object, vehicles)
	for i := range objects {
		objects[i] = Object{fleetName, "vehicle-" + string(rune('a'+i%26)) + string(rune('a'+i/26%26)) + string(rune('a'+i/676))}
	}
	for n := range 24 * days {
		moved := make([]Fix, len(hours))
		for i, f := range hours {
			f.Time, f.Arrived = f.Time+track.Millis(n)*hour, f.Arrived+track.Millis(n)*hour
			moved[i] = f
		}
		block := appendBlock(nil, moved)
		var batch []journal.Value
		for _, o := range objects {
			batch = append(batch, journal.Value{Name: slotOf(o.name(), moved[0].Time).block(), Bytes: block})
			if len(batch) == 100 {
				ok(b, j.Change(nil, batch...))
				batch = batch[:0]
			}
		}
	}
	h, err := Open(Options{Journal: j})
	ok(b, err)
	i, fixes := 0, 0
	for b.Loop() {
		i, fixes = (i+389)%vehicles, 0
		ok(b, h.Track(context.Background(), objects[i], begin+day, begin+2*day, func(part []Fix) bool {
			fixes += len(part)
			return true
		}))
		if fixes != 86_400 {
			b.Fatal(fixes)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "ms/day")
}
