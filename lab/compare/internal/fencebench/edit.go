package fencebench

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/load/histogram"
)

// stallEvery is how many look-ups a reader does between two looks at the clock.
const stallEvery = 16

// edit replaces one fence after another while readers look up, or lets the readers
// run alone. The latencies are those of the replacements; stalls are the times that
// readers took for stallEvery look-ups.
func (s *scene) edit(ctx context.Context, kind string, alone bool, o measure.Options) (*measure.Measurement, error) {
	set, err := s.newSet(kind)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, o.Warmup+o.Duration)
	defer cancel()
	var readers sync.WaitGroup
	stalls := make([]*histogram.Histogram, max(1, runtime.GOMAXPROCS(0)-1)) // a processor is left for the writer
	counted := time.Now().Add(o.Warmup)
	for i := range stalls {
		stalls[i] = histogram.New()
		readers.Go(func() { s.readOn(ctx, set, counted, stalls[i]) })
	}
	times := histogram.New()
	if alone {
		<-ctx.Done()
	} else if err = s.replaceEach(ctx, set, counted, times); err != nil {
		cancel()
	}
	readers.Wait()
	if err != nil {
		return nil, err
	}
	stalled := measure.LatencyOf(stalls...)
	m := within(max(1, int64(times.Count())), o.Duration, map[harness.Metric]float64{
		harness.Stall:      float64(stalled.Max.Nanoseconds()) / 1e3,
		harness.StallP999:  float64(stalled.P999.Nanoseconds()) / 1e3,
		harness.NanosPerOp: float64(stalled.Mean.Nanoseconds()) / stallEvery,
	})
	if times.Count() > 0 {
		m.Latency = measure.LatencyOf(times)
	}
	return m, nil
}

// readOn looks up until ctx ends, and records its stalls.
func (s *scene) readOn(ctx context.Context, set *fence.Set, counted time.Time, stalls *histogram.Histogram) {
	points := s.points[buses]
	dst := make([]fence.Ref, 0, 64)
	before := time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		for j := range stallEvery {
			p := points[(i*stallEvery+j)&(scenePoints-1)]
			dst = set.Snapshot().Append(dst[:0], p.Lon, p.Lat)
		}
		now := time.Now()
		if now.After(counted) {
			stalls.Record(int64(now.Sub(before)))
		}
		before = now
	}
}

// replaceEach replaces fences until ctx ends: each gets its own geometry back, moved
// by a millionth of a degree to and fro.
func (s *scene) replaceEach(ctx context.Context, set *fence.Set, counted time.Time, times *histogram.Histogram) error {
	rng := rand.New(rand.NewPCG(8, 13))
	for ctx.Err() == nil {
		f := s.fences[rng.IntN(len(s.fences))]
		snap := set.Snapshot()
		ref, ok := snap.Lookup(f.Key)
		if !ok {
			continue
		}
		moved := fence.Fence{Key: f.Key, Geometry: movedBy(snap.Fence(ref).Geometry, float64(rng.IntN(3)-1)*1e-6)}
		began := time.Now()
		if _, _, err := set.Put(moved); err != nil {
			return err
		}
		if took := time.Since(began); began.After(counted) {
			times.Record(int64(took))
		}
	}
	return nil
}

func movedBy(area geometry.MultiPolygon, degrees float64) geometry.MultiPolygon {
	moved := make(geometry.MultiPolygon, len(area))
	for i, part := range area {
		for _, ring := range part {
			ring = slices.Clone(ring)
			for k := range ring {
				ring[k].Lon += degrees
			}
			moved[i] = append(moved[i], ring)
		}
	}
	return moved
}
