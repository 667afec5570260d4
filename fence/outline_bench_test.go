package fence_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
)

// hops are places 10 m away from those of buses, in any direction.
func hops(lon, lat []float64) []geometry.Point {
	rng := rand.New(rand.NewPCG(73, 74))
	out := make([]geometry.Point, len(lon))
	for i := range lon {
		sin, cos := math.Sincos(rng.Float64() * 2 * math.Pi)
		out[i] = geometry.Point{Lon: lon[i] + 10*cos/84_300, Lat: lat[i] + 10*sin/111_000}
	}
	return out
}

// BenchmarkAlong asks the largest real set for paths of 10 m from the places of real vehicles.
func BenchmarkAlong(b *testing.B) {
	lon, lat := buses(b)
	to := hops(lon, lat)
	s := largestSet(b, fence.DefaultKind).Snapshot()
	dst := s.AppendAlong(make([]fence.Ref, 0, 64), to[0], to[0])
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % busPoints {
		dst = s.AppendAlong(dst[:0], geometry.Point{Lon: lon[i], Lat: lat[i]}, to[i])
	}
}

// BenchmarkClearance asks it how far vehicles are from boundaries, and reports the share of places
// at which that is more than 10 m.
func BenchmarkClearance(b *testing.B) {
	lon, lat := buses(b)
	s := largestSet(b, fence.DefaultKind).Snapshot()
	s.Clearance(0, 0)
	far, n := 0, 0
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % busPoints {
		if s.Clearance(lon[i], lat[i]) > 10 {
			far++
		}
		n++
	}
	b.ReportMetric(float64(far)/float64(n), "far")
}

// BenchmarkDistance measures from a vehicle to the fence that holds it.
func BenchmarkDistance(b *testing.B) {
	lon, lat := buses(b)
	s := largestSet(b, fence.DefaultKind).Snapshot()
	var at []*fence.Fence
	for i := range lon {
		refs := s.Append(nil, lon[i], lat[i])
		if len(refs) == 0 {
			refs = append(refs, 0)
		}
		at = append(at, s.Fence(refs[0]))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % busPoints {
		at[i].Distance(geometry.Point{Lon: lon[i], Lat: lat[i]})
	}
}

// BenchmarkNear looks for the five nearest fences.
func BenchmarkNear(b *testing.B) {
	lon, lat := buses(b)
	s := largestSet(b, fence.DefaultKind).Snapshot()
	dst := s.AppendNear(nil, 0, 0, 1, 1)
	b.ReportAllocs()
	for i := 0; b.Loop(); i = (i + 1) % busPoints {
		dst = s.AppendNear(dst[:0], lon[i], lat[i], math.Inf(1), 5)
	}
}

// BenchmarkOutline builds the index of boundaries.
func BenchmarkOutline(b *testing.B) {
	set := largestSet(b, fence.KindBrute)
	for b.Loop() {
		b.StopTimer()
		s := reindexedBench(b, set.Snapshot())
		b.StartTimer()
		s.Clearance(0, 0)
	}
}

// reindexedBench is a set with the same fences and no index of boundaries.
func reindexedBench(b *testing.B, s *fence.Snapshot) *fence.Snapshot {
	b.Helper()
	next, err := fence.NewSet("next", fence.Options{Kind: fence.KindBBox})
	if err != nil {
		b.Fatal(err)
	}
	for _, f := range s.All() {
		if _, _, err := next.Put(*f); err != nil {
			b.Fatal(err)
		}
	}
	return next.Snapshot()
}

// BenchmarkInradii measures all fences.
func BenchmarkInradii(b *testing.B) {
	s := largestSet(b, fence.DefaultKind).Snapshot()
	for b.Loop() {
		for _, f := range s.All() {
			f.Geometry.Inradius()
		}
	}
}

// BenchmarkOutlineEdit replaces a fence of a set whose boundaries are indexed.
func BenchmarkOutlineEdit(b *testing.B) {
	set := largestSet(b, fence.DefaultKind)
	set.Snapshot().Clearance(0, 0)
	b.ReportAllocs()
	for b.Loop() {
		snap := set.Snapshot()
		f := *snap.Fence(77)
		if _, _, err := set.Put(f); err != nil {
			b.Fatal(err)
		}
	}
	set.Settle()
}
