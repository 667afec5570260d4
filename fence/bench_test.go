package fence_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

// largest gives the largest file of the real data.
func largest(tb testing.TB) []byte {
	tb.Helper()
	files, _ := filepath.Glob(filepath.Join(cityDir, "*json"))
	var most []byte
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			tb.Fatal(err)
		}
		if len(data) > len(most) {
			most = data
		}
	}
	if most == nil {
		tb.Skip("no data in " + cityDir)
	}
	return most
}

// largestSet is the largest of the real sets.
func largestSet(b *testing.B, kind fence.Kind) *fence.Set {
	b.Helper()
	s, err := fence.NewSet("largest", fence.Options{Kind: kind})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Replace(readLargest(b, largest(b))); err != nil {
		b.Fatal(err)
	}
	return s
}

// BenchmarkAppend asks for points of a made-up tessellation, and beside the borders of real
// fences where there is data: streets are the borders, so that is where vehicles are.
func BenchmarkAppend(b *testing.B) {
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			b.Run("made-up", func(b *testing.B) {
				rng := rand.New(rand.NewPCG(29, 30))
				benchmarkAppend(b, newSet(b, kind, tessellation(rng, 32)...).Snapshot())
			})
			b.Run("real", func(b *testing.B) {
				benchmarkAppend(b, largestSet(b, kind).Snapshot())
			})
		})
	}
}

func benchmarkAppend(b *testing.B, s *fence.Snapshot) {
	rng := rand.New(rand.NewPCG(31, 32))
	at := cityPoints(rng, s, 1<<12)
	for i := range at {
		at[i].Lon += (rng.Float64() - 0.5) / 1e4
		at[i].Lat += (rng.Float64() - 0.5) / 1e4
	}
	dst := make([]fence.Ref, 0, 64)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		p := at[i%len(at)]
		dst = s.Append(dst[:0], p.Lon, p.Lat)
		i++
	}
}

// BenchmarkAppendBatch asks for many points at once, as jobs and positions that came
// together do.
func BenchmarkAppendBatch(b *testing.B) {
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(35, 36))
			s := newSet(b, kind, tessellation(rng, 32)...).Snapshot()
			var lon, lat []float64
			for _, p := range cityPoints(rng, s, 1<<12) {
				lon, lat = append(lon, p.Lon), append(lat, p.Lat)
			}
			var batch fence.Batch
			b.ReportAllocs()
			for b.Loop() {
				batch.Reset()
				s.AppendBatch(&batch, lon, lat)
			}
			b.ReportMetric(float64(b.N*len(lon))/b.Elapsed().Seconds(), "points/s")
		})
	}
}

// BenchmarkIndex indexes a collection that has been read.
func BenchmarkIndex(b *testing.B) {
	data := largest(b)
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				b.StopTimer()
				c := readLargest(b, data)
				s, err := fence.NewSet("largest", fence.Options{Kind: kind})
				if err != nil {
					b.Fatal(err)
				}
				b.StartTimer()
				if _, err := s.Replace(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPut replaces one fence of a thousand and publishes.
func BenchmarkPut(b *testing.B) {
	for _, kind := range fence.Kinds() {
		b.Run(string(kind), func(b *testing.B) {
			s := newSet(b, kind, tessellation(rand.New(rand.NewPCG(33, 34)), 22)...)
			moved := geometry.MultiPolygon{{square(-73.5, 40.5, 0.01)}}
			b.ReportAllocs()
			for b.Loop() {
				if _, _, err := s.Put(fence.Fence{Key: "77", Geometry: moved}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
