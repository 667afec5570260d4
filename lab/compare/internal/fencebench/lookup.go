package fencebench

import (
	"runtime"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/lab/compare/internal/harness"
	"paddock/lab/compare/internal/harness/measure"
	"paddock/load/histogram"
)

const (
	// clockEvery is how many look-ups there are between two looks at the clock.
	clockEvery = 256
	// batchPoints is how many points a batch has.
	batchPoints = 1 << 10
	// evicted is how much memory is walked through between two cold look-ups, in bytes.
	evicted = 64 << 20
	// cacheLine is the step of that walk.
	cacheLine = 64
	// fewestCold is how many cold look-ups a window has at least.
	fewestCold = 8
)

// lookUp asks for one point after the other, in one thread.
func lookUp(x index, points []geometry.Point, o measure.Options) *measure.Measurement {
	dst := make([]fence.Ref, 0, 64)
	next := 0
	run := func(d time.Duration) (ops int64, took time.Duration) {
		began := time.Now()
		for took < d {
			for range clockEvery {
				p := points[next&(scenePoints-1)]
				dst = x.find(dst[:0], p.Lon, p.Lat)
				runtime.KeepAlive(dst)
				next++
			}
			ops += clockEvery
			took = time.Since(began)
		}
		return ops, took
	}
	run(o.Warmup)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ops, took := run(o.Duration)
	runtime.ReadMemStats(&after)
	return within(ops, took, map[harness.Metric]float64{
		harness.NanosPerOp:  float64(took.Nanoseconds()) / float64(ops),
		harness.AllocsPerOp: float64(after.Mallocs-before.Mallocs) / float64(ops),
	})
}

// lookUpCold times one look-up after memory has been walked that the caches do not
// hold beside the index. The figure is the median; a reading of the clock is in it.
func lookUpCold(x index, points []geometry.Point, o measure.Options) *measure.Measurement {
	walk := make([]byte, evicted)
	dst := make([]fence.Ref, 0, 64)
	times := histogram.New()
	var took time.Duration
	for i := 0; i < fewestCold || took < o.Duration; i++ {
		began := time.Now()
		for at := 0; at < len(walk); at += cacheLine {
			walk[at]++
		}
		p := points[i&(scenePoints-1)]
		asked := time.Now()
		dst = x.find(dst[:0], p.Lon, p.Lat)
		times.Record(int64(time.Since(asked)))
		runtime.KeepAlive(dst)
		took += time.Since(began)
	}
	m := within(int64(times.Count()), took, nil)
	m.Latency = measure.LatencyOf(times)
	return m
}

// batch asks for batchPoints points at once, then for the next ones.
func batch(snap *fence.Snapshot, points []geometry.Point, o measure.Options) *measure.Measurement {
	lon, lat := make([]float64, len(points)), make([]float64, len(points))
	for i, p := range points {
		lon[i], lat[i] = p.Lon, p.Lat
	}
	var answers fence.Batch
	next := 0
	run := func(d time.Duration) (ops int64, took time.Duration) {
		began := time.Now()
		for took < d {
			answers.Reset()
			snap.AppendBatch(&answers, lon[next:next+batchPoints], lat[next:next+batchPoints])
			next = (next + batchPoints) % scenePoints
			ops += int64(answers.Len())
			took = time.Since(began)
		}
		return ops, took
	}
	run(o.Warmup)
	ops, took := run(o.Duration)
	return within(ops, took, map[harness.Metric]float64{
		harness.NanosPerOp: float64(took.Nanoseconds()) / float64(ops),
	})
}

// within is a measurement of this process alone.
func within(ops int64, took time.Duration, figures map[harness.Metric]float64) *measure.Measurement {
	m := &measure.Measurement{Ops: ops, Elapsed: took, Figures: map[string]float64{}}
	for name, value := range figures {
		m.Figures[string(name)] = value
	}
	return m
}
