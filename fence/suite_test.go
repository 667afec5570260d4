package fence_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// TestKinds is what every kind of index must do. A new kind needs only to be registered.
func TestKinds(t *testing.T) {
	t.Parallel()
	for _, kind := range fence.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			for name, test := range map[string]func(*testing.T, fence.Kind){
				"empty set":               testEmptySet,
				"agrees with the oracle":  testAgainstOracle,
				"one owner":               testOneOwner,
				"order and repetitions":   testOrder,
				"appends":                 testAppends,
				"batch":                   testBatch,
				"batch of uneven columns": testUnevenBatch,
				"points beyond the world": testBeyond,
				"edits equal a rebuild":   testEdits,
				"stats":                   testStats,
			} {
				t.Run(name, func(t *testing.T) { test(t, kind) })
			}
		})
	}
}

// TestLookUpsDoNotAllocate is not part of TestKinds, as allocations are not counted in parallel.
func TestLookUpsDoNotAllocate(t *testing.T) {
	for _, kind := range fence.Kinds() {
		t.Run(string(kind), func(t *testing.T) { testAllocates(t, kind) })
	}
}

func newSet(t testing.TB, kind fence.Kind, areas ...geometry.MultiPolygon) *fence.Set {
	t.Helper()
	return newSetOf(t, fence.Options{Kind: kind}, areas...)
}

// wantRefs asks the oracle for every fence of the snapshot.
func wantRefs(s *fence.Snapshot, p geometry.Point) []fence.Ref {
	var refs []fence.Ref
	for r, f := range s.All() {
		if oracleHolds(f.Geometry, p) {
			refs = append(refs, r)
		}
	}
	return refs
}

func checkRefs(t *testing.T, s *fence.Snapshot, p geometry.Point) {
	t.Helper()
	if got, want := s.Append(nil, p.Lon, p.Lat), wantRefs(s, p); !slices.Equal(got, want) {
		t.Fatalf("%v: %v, want %v", p, got, want)
	}
}

func testEmptySet(t *testing.T, kind fence.Kind) {
	s := newSet(t, kind).Snapshot()
	if got := s.Append(nil, 1, 2); len(got) != 0 {
		t.Errorf("got %v", got)
	}
	if s.Len() != 0 || !s.Bounds().Empty() {
		t.Errorf("%d fences in %v", s.Len(), s.Bounds())
	}
}

// hardQuestions returns overlapping areas, points on and beside their boundaries, and the areas
// that hold each point by exact arithmetic.
var hardQuestions = sync.OnceValues(func() (areas []geometry.MultiPolygon, answers map[geometry.Point][]fence.Ref) {
	rng := rand.New(rand.NewPCG(15, 16))
	for range 20 + 40/sampling.Slowdown {
		areas = append(areas, randomArea(rng))
	}
	answers = map[geometry.Point][]fence.Ref{}
	for _, a := range areas[:20] {
		for _, p := range some(rng, hardPoints(rng, a), 30) {
			answers[p] = nil
			for i, area := range areas {
				if oracleHolds(area, p) {
					answers[p] = append(answers[p], fence.Ref(i))
				}
			}
		}
	}
	return areas, answers
})

func testAgainstOracle(t *testing.T, kind fence.Kind) {
	areas, answers := hardQuestions()
	s := newSet(t, kind, areas...).Snapshot()
	for p, want := range answers {
		if got := s.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
			t.Fatalf("%v: %v, want %v", p, got, want)
		}
	}
}

func testOneOwner(t *testing.T, kind fence.Kind) {
	rng := rand.New(rand.NewPCG(17, 18))
	cells := tessellation(rng, 8)
	s := newSet(t, kind, cells...).Snapshot()
	for _, cell := range cells {
		for _, p := range hardPoints(rng, cell) {
			within := p.Lon >= -74 && p.Lon < -73 && p.Lat >= 40 && p.Lat < 41
			if got := s.Append(nil, p.Lon, p.Lat); (len(got) == 1) != within || len(got) > 1 {
				t.Fatalf("%v has owners %v", p, got)
			}
		}
	}
}

// testOrder puts fences with several parts that overlap on one spot.
func testOrder(t *testing.T, kind fence.Kind) {
	var areas []geometry.MultiPolygon
	for i := range 300 / sampling.Slowdown {
		d := float64(i%17) / 100
		areas = append(areas, geometry.MultiPolygon{{square(-1-d, -1, 3)}, {square(-2, -1+d, 3)}, {square(-1, -2-d, 3)}})
	}
	s := newSet(t, kind, areas...).Snapshot()
	got := s.Append(nil, 0, 0)
	if len(got) != len(areas) || !slices.IsSorted(got) {
		t.Errorf("%d answers: %v", len(got), got)
	}
	checkRefs(t, s, geometry.Point{Lon: 0, Lat: 0})
}

// testAppends makes sure that what dst held stays as it is, also if it looks like an answer.
func testAppends(t *testing.T, kind fence.Kind) {
	s := newSet(t, kind, geometry.MultiPolygon{{square(0, 0, 1)}}, geometry.MultiPolygon{{square(0, 0, 2)}}).Snapshot()
	got := s.Append([]fence.Ref{9, 0, 0}, 0.5, 0.5)
	if want := []fence.Ref{9, 0, 0, 0, 1}; !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}

func testBatch(t *testing.T, kind fence.Kind) {
	rng := rand.New(rand.NewPCG(19, 20))
	cells := tessellation(rng, 5)
	s := newSet(t, kind, cells...).Snapshot()
	var lon, lat []float64
	for range 500 {
		lon, lat = append(lon, -74.1+rng.Float64()*1.2), append(lat, 39.9+rng.Float64()*1.2)
	}
	lon[7] = math.NaN()
	var b fence.Batch
	for range 2 { // a batch that is used again, and one that is added to
		b.Reset()
		s.AppendBatch(&b, lon[:200], lat[:200])
		s.AppendBatch(&b, lon[200:], lat[200:])
		if b.Len() != len(lon) {
			t.Fatalf("%d answers", b.Len())
		}
		for i := range lon {
			if want := s.Append(nil, lon[i], lat[i]); !slices.Equal(b.Answer(i), want) {
				t.Fatalf("answer %d is %v, want %v", i, b.Answer(i), want)
			}
		}
	}
	var none fence.Batch
	s.AppendBatch(&none, nil, nil)
	if none.Len() != 0 || len(none.Offsets) != 1 {
		t.Errorf("an empty batch has offsets %v", none.Offsets)
	}
}

func testUnevenBatch(t *testing.T, kind fence.Kind) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	newSet(t, kind).Snapshot().AppendBatch(&fence.Batch{}, []float64{1}, nil)
}

func testBeyond(t *testing.T, kind fence.Kind) {
	world := geometry.MultiPolygon{{{{Lon: -180, Lat: -90}, {Lon: 180, Lat: -90}, {Lon: 180, Lat: 90}, {Lon: -180, Lat: 90}}}}
	s := newSet(t, kind, world).Snapshot()
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 181, 1e300, -1e300, -180.5} {
		if got := s.Append(nil, x, 0); len(got) != 0 {
			t.Errorf("longitude %v: %v", x, got)
		}
		if got := s.Append(nil, 0, x); len(got) != 0 {
			t.Errorf("latitude %v: %v", x, got)
		}
	}
	for _, lon := range []float64{-180, 180, 0, math.Copysign(0, -1), 5e-324} {
		if got := s.Append(nil, lon, -90); len(got) != 1 {
			t.Errorf("longitude %v: %v", lon, got)
		}
	}
}

func testAllocates(t *testing.T, kind fence.Kind) {
	s := newSet(t, kind, tessellation(rand.New(rand.NewPCG(21, 22)), 8)...).Snapshot()
	dst := make([]fence.Ref, 0, 64)
	if n := testing.AllocsPerRun(100, func() { dst = s.Append(dst[:0], -73.5, 40.5) }); n != 0 {
		t.Errorf("Append allocates %v times", n)
	}
	lon, lat := []float64{-73.5, -73.2, 0}, []float64{40.5, 40.1, 0}
	var b fence.Batch
	s.AppendBatch(&b, lon, lat)
	if n := testing.AllocsPerRun(100, func() { b.Reset(); s.AppendBatch(&b, lon, lat) }); n != 0 {
		t.Errorf("AppendBatch allocates %v times", n)
	}
}

// testEdits changes a set at random, and keeps every snapshot to see that none changes later.
func testEdits(t *testing.T, kind fence.Kind) {
	rng := rand.New(rand.NewPCG(23, 24))
	s := newSet(t, kind)
	type past struct {
		snap *fence.Snapshot
		p    geometry.Point
		want []fence.Ref
	}
	var history []past
	var live []string
	for i := range 300 / sampling.Slowdown {
		area := append(randomArea(rng), geometry.Polygon{square(float64(i%20), 0, 1)})
		switch op := rng.IntN(5); {
		case op < 2 || len(live) == 0:
			key, _, err := s.Add(fence.Fence{Geometry: area})
			if err != nil {
				t.Fatal(err)
			}
			live = append(live, key)
		case op < 4:
			if _, _, err := s.Put(fence.Fence{Key: live[rng.IntN(len(live))], Geometry: area}); err != nil {
				t.Fatal(err)
			}
		default:
			k := rng.IntN(len(live))
			if _, ok := s.Delete(live[k]); !ok {
				t.Fatalf("%q is gone", live[k])
			}
			live = slices.Delete(live, k, k+1)
		}
		want := geometry.EmptyBox()
		for _, f := range s.Snapshot().All() {
			want = want.Union(f.Geometry.Bounds())
		}
		if got := s.Snapshot().Bounds(); got != want {
			t.Fatalf("bounds %v, want %v", got, want)
		}
		if i%10 == 0 {
			pts := hardPoints(rng, area)
			p := pts[rng.IntN(len(pts))]
			history = append(history, past{s.Snapshot(), p, wantRefs(s.Snapshot(), p)})
		}
	}
	for _, h := range history {
		if got := h.snap.Append(nil, h.p.Lon, h.p.Lat); !slices.Equal(got, h.want) {
			t.Fatalf("generation %d, %v: %v, want %v", h.snap.Generation(), h.p, got, h.want)
		}
	}
}

func testStats(t *testing.T, kind fence.Kind) {
	s := newSet(t, kind, geometry.MultiPolygon{{square(0, 0, 1)}, {square(5, 5, 1), square(5.2, 5.2, 0.1)}})
	key, _, err := s.Add(fence.Fence{Geometry: geometry.MultiPolygon{{square(9, 9, 1)}}})
	if err != nil {
		t.Fatal(err)
	}
	got := s.Snapshot().Stats()
	if kind == fence.KindAuto {
		kind = fence.KindBBox
	}
	if got.Kind != kind || got.Fences != 2 || got.Parts != 3 || got.Edges != 16 || got.Bytes <= 0 {
		t.Errorf("got %+v", got)
	}
	snap, _ := s.Delete(key)
	if got := snap.Stats(); got.Fences != 1 || got.Parts != 2 || got.Edges != 12 {
		t.Errorf("after a deletion: %+v", got)
	}
}

func TestParseKind(t *testing.T) {
	if k, err := fence.ParseKind(""); k != fence.DefaultKind || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	for _, k := range fence.Kinds() {
		if got, err := fence.ParseKind(string(k)); got != k || err != nil {
			t.Errorf("%v, %v", got, err)
		}
	}
	if k, err := fence.ParseKind("city_bbox"); k != fence.KindCityBBox || err != nil {
		t.Errorf("%v, %v", k, err)
	}
	_, err := fence.ParseKind("quadtree")
	want := fmt.Sprintf("unknown kind of index %q: it must be one of brute, ", "quadtree")
	if !errors.Is(err, fence.ErrKind) || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v", err)
	}
}
