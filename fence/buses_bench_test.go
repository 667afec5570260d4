package fence_test

import (
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

// busPoints is how many positions BenchmarkBuses asks for in turn: far more than a branch
// predictor learns.
const busPoints = 1 << 16

// BenchmarkBuses asks the largest real set for real positions of vehicles, each time at a
// place up to 2 m away and in no order.
func BenchmarkBuses(b *testing.B) {
	lon, lat := buses(b)
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			s := largestSet(b, kind).Snapshot()
			dst := make([]fence.Ref, 0, 64)
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + 1) % busPoints {
				dst = s.Append(dst[:0], lon[i], lat[i])
			}
		})
	}
}

// BenchmarkBusesBatch is BenchmarkBuses, many positions at once.
func BenchmarkBusesBatch(b *testing.B) {
	lon, lat := buses(b)
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			s := largestSet(b, kind).Snapshot()
			const n = 1 << 12
			var batch fence.Batch
			b.ReportAllocs()
			for i := 0; b.Loop(); i = (i + n) % busPoints {
				batch.Reset()
				s.AppendBatch(&batch, lon[i:i+n], lat[i:i+n])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/point")
		})
	}
}

// buses gives busPoints positions near those of the points in the real data.
func buses(b *testing.B) (lon, lat []float64) {
	b.Helper()
	at := realPoints(b)
	const metre = 1 / 111_195.0 // degrees of latitude
	rng := rand.New(rand.NewPCG(71, 72))
	for range busPoints {
		p := at[rng.IntN(len(at))]
		lon = append(lon, p.Lon+(rng.Float64()-0.5)*4*metre)
		lat = append(lat, p.Lat+(rng.Float64()-0.5)*4*metre)
	}
	return lon, lat
}

// realPoints gives the Point features of the real data.
func realPoints(b *testing.B) (points []geometry.Point) {
	b.Helper()
	files, _ := filepath.Glob(filepath.Join(cityDir, "*json"))
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			b.Fatal(err)
		}
		var doc struct {
			Features []struct {
				Geometry struct {
					Type        string
					Coordinates json.RawMessage
				}
			}
		}
		if err := json.Unmarshal(data, &doc); err != nil {
			b.Fatal(err)
		}
		for _, f := range doc.Features {
			var at [2]float64
			if f.Geometry.Type == "Point" && json.Unmarshal(f.Geometry.Coordinates, &at) == nil {
				points = append(points, geometry.Point{Lon: at[0], Lat: at[1]})
			}
		}
	}
	if points == nil {
		b.Skip("no points in " + cityDir)
	}
	return points
}
