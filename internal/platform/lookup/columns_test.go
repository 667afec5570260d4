package lookup

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// grid returns a catalog with one set, "grid", of side x side squares of one degree from (0,0), in
// the order of rows.
func grid(t testing.TB, side int) *fence.Catalog {
	t.Helper()
	set, err := fence.NewSet("grid", fence.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var fences []fence.Fence
	for y := range side {
		for x := range side {
			area, err := geometry.Rectangle(float64(x), float64(y), float64(x+1), float64(y+1))
			if err != nil {
				t.Fatal(err)
			}
			fences = append(fences, fence.Fence{Key: fmt.Sprintf("%d-%d", x, y), Geometry: area})
		}
	}
	if _, err := set.Replace(&geojson.Collection{Fences: fences}); err != nil {
		t.Fatal(err)
	}
	c := &fence.Catalog{}
	if err := c.Add(set); err != nil {
		t.Fatal(err)
	}
	return c
}

// inColumns encodes points for a request.
func inColumns(lonLat ...float64) []byte {
	var b []byte
	for _, f := range lonLat {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return b
}

// scattered returns n points over a grid and around it.
func scattered(n, side int) []byte {
	rng := rand.New(rand.NewPCG(1, 2))
	var at []float64
	for range 2 * n {
		at = append(at, rng.Float64()*float64(side+2)-1)
	}
	return inColumns(at...)
}

// readColumns decodes an answer as docs/reference/wire-kinds.md describes it.
func readColumns(t *testing.T, b []byte) (generation uint64, answers [][]uint32) {
	t.Helper()
	generation = binary.LittleEndian.Uint64(b)
	n := int(binary.LittleEndian.Uint32(b[8:]))
	offsets, refs := b[12:][:4*(n+1)], b[12+4*(n+1):]
	u32 := func(b []byte, i int) int { return int(binary.LittleEndian.Uint32(b[4*i:])) }
	if u32(offsets, 0) != 0 || 4*u32(offsets, n) != len(refs) {
		t.Fatalf("offsets from %d to %d, %d bytes of refs", u32(offsets, 0), u32(offsets, n), len(refs))
	}
	for i := range n {
		answer := []uint32{}
		for j := u32(offsets, i); j < u32(offsets, i+1); j++ {
			answer = append(answer, uint32(u32(refs, j)))
		}
		answers = append(answers, answer)
	}
	return generation, answers
}

// Columns have the answers of single look-ups, also across the borders of chunks.
func TestColumns(t *testing.T) {
	const side = 8
	c, l := grid(t, side), &Lookup{}
	set, _ := c.Get("grid")
	for _, n := range []int{0, 1, 2, chunk - 1, chunk, chunk + 1, 3*chunk + 7} {
		points := scattered(n, side)
		if err := l.Begin(c, "grid"); err != nil {
			t.Fatal(err)
		}
		if err := l.Columns(points); err != nil {
			t.Fatal(err)
		}
		generation, answers := readColumns(t, l.Answer)
		if generation != 1 || len(answers) != n {
			t.Fatalf("generation %d, %d answers for %d points", generation, len(answers), n)
		}
		for i, got := range answers {
			lon, lat := pointAt(points[PointBytes*i:])
			want := []uint32{}
			for _, ref := range set.Snapshot().Append(nil, lon, lat) {
				want = append(want, uint32(ref))
			}
			if !slices.Equal(got, want) {
				t.Fatalf("point %d of %d: %v, want %v", i, n, got, want)
			}
		}
	}
}

func TestColumnsRefuse(t *testing.T) {
	c := grid(t, 2)
	nan, far := math.NaN(), make([]float64, 2*chunk+2)
	far[2*chunk+1] = 90.5
	for _, tc := range []struct {
		set    string
		points []byte
		kind   Kind
		reason string
	}{
		{"grid", make([]byte, 17), Invalid, "points: cut off: each has 16 bytes"},
		{"grid", inColumns(1, 1, nan, 1), Invalid, "points[1]: lon NaN is out of range -180 to 180"},
		{"grid", inColumns(1, nan), Invalid, "points[0]: lat NaN is out of range -90 to 90"},
		{"grid", inColumns(math.Inf(-1), 1), Invalid, "points[0]: lon -Inf is out of range -180 to 180"},
		{"grid", inColumns(180.5, 1), Invalid, "points[0]: lon 180.5 is out of range -180 to 180"},
		{"grid", inColumns(far...), Invalid, fmt.Sprintf("points[%d]: lat 90.5 is out of range -90 to 90: lon and lat swapped?", chunk)},
		{"", inColumns(1, 1), Invalid, "set missing: an answer in columns is that of one set"},
		{"grid", make([]byte, PointBytes*(MaxPoints+1)), TooLarge, "body: more than 1000000 points; send them in parts"},
	} {
		l := &Lookup{}
		if err := l.Begin(c, tc.set); err != nil {
			t.Fatal(err)
		}
		err := l.Columns(tc.points)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != tc.kind || e.Reason != tc.reason {
			t.Errorf("got %v, want %s", err, tc.reason)
		}
	}
}

// The memory of an answer is requested before it is taken. It includes the results of a chunk.
func TestColumnsHoldTheirMemory(t *testing.T) {
	c, points := grid(t, 2), inColumns(slices.Repeat([]float64{0.5, 0.5}, 100_000)...)
	for _, room := range []int64{0, 400_000, 700_000} {
		l := &Lookup{Hold: func(n int64) bool { return n <= room }}
		if err := l.Begin(c, "grid"); err != nil {
			t.Fatal(err)
		}
		err := l.Columns(points)
		if e, ok := errors.AsType[*Error](err); !ok || e.Kind != NoRoom || int64(cap(l.Answer)) > room {
			t.Errorf("room for %d bytes: %v, %d taken", room, err, cap(l.Answer))
		}
	}
	l := &Lookup{Hold: func(n int64) bool { return n <= 2_000_000 }}
	if err := errors.Join(l.Begin(c, "grid"), l.Columns(points)); err != nil {
		t.Error(err)
	}
}

// If all fences overlap, fewer points are looked up at once.
func TestChunksAreBoundedByWhatTheyMayFind(t *testing.T) {
	l := &Lookup{}
	if err := l.Begin(grid(t, 64), ""); err != nil {
		t.Fatal(err)
	}
	if n := l.chunkSize(); n != chunkRefs/4096 || n > chunk {
		t.Errorf("%d points at once", n)
	}
	l.End()
	if n := l.chunkSize(); n != chunk {
		t.Errorf("%d points at once without a fence", n)
	}
}

// A reused Lookup answers in columns without an allocation.
func TestColumnsDoNotAllocate(t *testing.T) {
	c, l, points := grid(t, 4), &Lookup{}, scattered(2*chunk, 4)
	ask := func() {
		if l.Begin(c, "grid") != nil || l.Columns(points) != nil {
			t.Error("refused")
		}
	}
	ask()
	if n := testing.AllocsPerRun(20, ask); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkColumns looks up 100,000 points in a set of 4,096 squares, in columns, on one processor,
// without a network. It compares with the set's own AppendBatch for the same points.
func BenchmarkColumns(b *testing.B) {
	const n, side = 100_000, 64
	c, l, points := grid(b, side), &Lookup{}, scattered(n, side)
	rate := func(b *testing.B) { b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "points/s") }
	b.Run("columns", func(b *testing.B) {
		b.SetBytes(int64(len(points)))
		b.ReportAllocs()
		for b.Loop() {
			if l.Begin(c, "grid") != nil || l.Columns(points) != nil {
				b.Fatal("refused")
			}
		}
		rate(b)
	})
	b.Run("bare", func(b *testing.B) {
		set, _ := c.Get("grid")
		var p pending
		if err := p.read(points, 0); err != nil {
			b.Fatal(err)
		}
		var found fence.Batch
		for b.Loop() {
			found.Reset()
			set.Snapshot().AppendBatch(&found, p.lon, p.lat)
		}
		rate(b)
	})
}
