package fence_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"paddock/fence"
	"paddock/fence/geometry"
)

const (
	// stallEvery is how many look-ups a reader does between two looks at the clock.
	stallEvery = 16
	// longStall is what no reader should have to wait.
	longStall = time.Millisecond
)

// BenchmarkReplace replaces one fence of the largest real set after the other, while readers
// look up positions of vehicles on all processors but the writer's: as fast as that goes, and
// a thousand in a second, between which the writer reads too. A replacement is timed from the
// new geometry to its publication; a stall is the time that a reader took for stallEvery
// look-ups.
//
// Beside it, "readers alone" has a reader in the writer's place: what it stalls is due to the
// machine and to Go's runtime.
func BenchmarkReplace(b *testing.B) {
	lon, lat := buses(b)
	b.Run("readers alone", func(b *testing.B) {
		e := newEditing(b, lon, lat)
		for b.Loop() {
			for range 1000 {
				e.reader.read()
			}
		}
		e.report(b)
	})
	b.Run("a thousand in a second", func(b *testing.B) {
		e := newEditing(b, lon, lat)
		for b.Loop() {
			due := e.reader.last.Add(time.Second / 1000)
			e.Replace(b)
			for e.reader.last.Before(due) {
				e.reader.read()
			}
		}
		e.report(b)
	})
	b.Run("without a pause", func(b *testing.B) {
		e := newEditing(b, lon, lat)
		b.ReportAllocs()
		for b.Loop() {
			e.Replace(b)
		}
		e.report(b)
	})
}

// editing is a set that is read by all, and edited by one.
type editing struct {
	set     *fence.Set
	fences  []*fence.Fence
	rng     *rand.Rand
	took    []time.Duration
	readers *readers
	reader  reader // the writer's own, between edits
}

func newEditing(b *testing.B, lon, lat []float64) *editing {
	e := newEdits(b)
	e.reader = reader{set: e.set, lon: lon, lat: lat, last: time.Now()}
	e.readers = startReaders(e.set, lon, lat)
	return e
}

// newEdits is an editing without readers.
func newEdits(b *testing.B) *editing {
	s := largestSet(b, fence.KindCellmap)
	e := &editing{set: s, rng: rand.New(rand.NewPCG(8, 13))}
	for _, f := range s.Snapshot().All() {
		e.fences = append(e.fences, f)
	}
	return e
}

// replace moves a fence by a tenth of a metre at most from where it was at first.
func (e *editing) Replace(b *testing.B) {
	f := e.fences[e.rng.IntN(len(e.fences))]
	f = &fence.Fence{Key: f.Key, Geometry: movedEast(f.Geometry, float64(e.rng.IntN(3)-1)*1e-6)}
	began := time.Now()
	if _, _, err := e.set.Put(*f); err != nil {
		b.Fatal(err)
	}
	e.took = append(e.took, time.Since(began))
}

func (e *editing) report(b *testing.B) {
	e.readers.stop(b)
	e.set.Settle()
	stats := e.set.Snapshot().Stats()
	b.ReportMetric(float64(stats.Bytes)/float64(stats.Edges), "index-bytes/edge")
	slices.Sort(e.took)
	if n := len(e.took); n > 0 {
		for name, i := range map[string]int{"p50-µs": n / 2, "p99-µs": n * 99 / 100, "p999-µs": n * 999 / 1000, "max-µs": n - 1} {
			b.ReportMetric(micros(e.took[i]), name)
		}
	}
}

// BenchmarkEditedBatch asks for many positions at once where a few fences, or all, have been
// replaced.
func BenchmarkEditedBatch(b *testing.B) {
	lon, lat := buses(b)
	for _, edits := range []int{0, 1, 20, 20_000} {
		b.Run(strconv.Itoa(edits), func(b *testing.B) {
			e := newEdits(b)
			for range edits {
				e.Replace(b)
			}
			const n = 1 << 12
			var batch fence.Batch
			s := e.set.Snapshot()
			for i := 0; b.Loop(); i = (i + n) % busPoints {
				batch.Reset()
				s.AppendBatch(&batch, lon[i:i+n], lat[i:i+n])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/point")
		})
	}
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 }

// movedEast moves a geometry.
func movedEast(mp geometry.MultiPolygon, degrees float64) geometry.MultiPolygon {
	moved := make(geometry.MultiPolygon, len(mp))
	for i, part := range mp {
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

// reader looks up one position after the other, and knows its stalls.
type reader struct {
	set      *fence.Set
	lon, lat []float64
	next     int
	refs     []fence.Ref
	last     time.Time
	longest  time.Duration
	long     int           // stalls of more than longStall
	waited   time.Duration // in these
	lookups  int
}

// read does stallEvery look-ups, each in the snapshot of its moment.
func (r *reader) read() {
	for range stallEvery {
		r.refs = r.set.Snapshot().Append(r.refs[:0], r.lon[r.next], r.lat[r.next])
		r.next = (r.next + 1) % len(r.lon)
	}
	r.lookups += stallEvery
	now := time.Now()
	if stall := now.Sub(r.last); !r.last.IsZero() {
		r.longest = max(r.longest, stall)
		if stall > longStall {
			r.long++
			r.waited += stall
		}
	}
	r.last = now
}

// readers read until they are stopped.
type readers struct {
	all   []reader
	began time.Time
	done  atomic.Bool
	group sync.WaitGroup
}

// startReaders starts one for each processor but that of the caller, and one at least.
func startReaders(s *fence.Set, lon, lat []float64) *readers {
	rs := &readers{all: make([]reader, max(1, runtime.GOMAXPROCS(0)-1)), began: time.Now()}
	for i := range rs.all {
		rs.group.Go(func() {
			r := reader{set: s, lon: lon, lat: lat, next: i * 1000 % len(lon)}
			for !rs.done.Load() {
				r.read()
			}
			rs.all[i] = r
		})
	}
	return rs
}

// stop reports the longest stall, how many were long in a second, the share of time that went
// into these, and how fast the readers were.
func (rs *readers) stop(b *testing.B) {
	took := time.Since(rs.began)
	rs.done.Store(true)
	rs.group.Wait()
	var sum reader
	for _, r := range rs.all {
		sum.longest = max(sum.longest, r.longest)
		sum.long += r.long
		sum.waited += r.waited
		sum.lookups += r.lookups
	}
	b.ReportMetric(micros(sum.longest), "stall-µs")
	b.ReportMetric(float64(sum.long)/took.Seconds(), "long-stalls/s")
	b.ReportMetric(100*sum.waited.Seconds()/took.Seconds()/float64(len(rs.all)), "stalled-%")
	b.ReportMetric(float64(took.Nanoseconds()*int64(len(rs.all)))/float64(sum.lookups), "ns/lookup")
}
