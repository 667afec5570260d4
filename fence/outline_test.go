package fence_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/sampling"
)

// outlineScene is fences of all sorts around a place, and points among them.
type outlineScene struct {
	rng    *rand.Rand
	centre geometry.Point
	size   float64 // degrees
}

func (s *outlineScene) point(spread float64) geometry.Point {
	return geometry.Point{
		Lon: geometry.WrapLon(s.centre.Lon + s.rng.NormFloat64()*s.size*spread),
		Lat: min(max(s.centre.Lat+s.rng.NormFloat64()*s.size*spread, -90), 90),
	}
}

// vertices are some in a row that do not wrap.
func (s *outlineScene) vertices(n int, size float64) []geometry.Point {
	p := s.point(1)
	p.Lat = min(max(p.Lat, -89), 89)
	points := []geometry.Point{p}
	for range n - 1 {
		p = geometry.Point{Lon: p.Lon + s.rng.NormFloat64()*s.size*size, Lat: min(max(p.Lat+s.rng.NormFloat64()*s.size*size, -89), 89)}
		points = append(points, p)
	}
	return points
}

func (s *outlineScene) fence(t *testing.T) fence.Fence {
	t.Helper()
	size := math.Pow(10, -2*s.rng.Float64())
	switch s.rng.IntN(5) {
	case 0:
		return fence.Fence{Lines: geometry.UnwrapLines(geometry.MultiLine{s.vertices(2+s.rng.IntN(40), size)})}
	case 1:
		f := fence.Fence{
			Lines:      geometry.UnwrapLines(geometry.MultiLine{s.vertices(2+s.rng.IntN(4), size/3)}),
			Properties: []byte(`{"paddock:buffer":30}`),
		}
		if _, err := f.Check(false); err != nil {
			t.Fatal(err)
		}
		return f
	case 2: // parts that overlap
		return fence.Fence{Geometry: geometry.Unwrap(geometry.MultiPolygon{{s.vertices(4, size)}, {s.vertices(5, size)}})}
	}
	return fence.Fence{Geometry: geometry.Unwrap(geometry.MultiPolygon{{s.vertices(3+s.rng.IntN(40), size)}})}
}

// outlineSets are sets of every kind with the same fences, of which the first is brute.
func outlineSets(t *testing.T, fences []fence.Fence) (sets []*fence.Set) {
	t.Helper()
	for _, kind := range fence.Kinds() {
		s := mustSet(t, fence.Options{Kind: kind})
		t.Cleanup(s.Settle)
		if _, err := s.Replace(&geojson.Collection{Fences: slices.Clone(fences)}); err != nil {
			t.Fatal(err)
		}
		sets = append(sets, s)
	}
	return sets
}

// compareOutlines asks all sets about a path and its beginning.
func compareOutlines(t *testing.T, sets []*fence.Set, a, b geometry.Point, metres float64, most int) {
	t.Helper()
	along := sets[0].Snapshot().AppendAlong(nil, a, b)
	near := sets[0].Snapshot().AppendNear(nil, a.Lon, a.Lat, metres, most)
	for _, s := range sets[1:] {
		if got := s.Snapshot().AppendAlong(nil, a, b); !slices.Equal(got, along) {
			t.Fatalf("%s: %v to %v: along %v, want %v", s.Kind(), a, b, got, along)
		}
		if got := s.Snapshot().AppendNear(nil, a.Lon, a.Lat, metres, most); !slices.Equal(got, near) {
			t.Fatalf("%s: %v, %v m, %d: near %v, want %v", s.Kind(), a, metres, most, got, near)
		}
	}
}

func (s *outlineScene) ask(t *testing.T, sets []*fence.Set, n int) {
	t.Helper()
	for i := range n {
		a, b := s.point(2), s.point(2)
		if i%2 == 0 {
			a = s.beside(sets[0].Snapshot())
		}
		if s.rng.IntN(2) == 0 {
			by := s.size * math.Pow(10, -1-3*s.rng.Float64())
			b = geometry.Point{Lon: geometry.WrapLon(a.Lon + s.rng.NormFloat64()*by), Lat: min(max(a.Lat+s.rng.NormFloat64()*by, -90), 90)}
		}
		metres := math.Inf(1)
		if s.rng.IntN(2) == 0 {
			metres = s.rng.Float64() * s.size * 111_000
		}
		compareOutlines(t, sets, a, b, metres, 1+s.rng.IntN(8))
		s.checkClearance(t, sets, a)
		s.checkEnds(t, sets[0].Snapshot(), a, b)
	}
}

// beside is a point near a vertex of a fence, or within a corridor or where parts overlap.
func (s *outlineScene) beside(snap *fence.Snapshot) geometry.Point {
	var vertices []geometry.Point
	for _, f := range snap.All() {
		for _, part := range f.Geometry {
			vertices = append(vertices, part[0][s.rng.IntN(len(part[0]))])
		}
		for _, l := range f.Lines {
			vertices = append(vertices, l[s.rng.IntN(len(l))])
		}
	}
	p := vertices[s.rng.IntN(len(vertices))]
	by := s.size * math.Pow(10, -1-3*s.rng.Float64())
	return geometry.Point{
		Lon: geometry.WrapLon(p.Lon + s.rng.NormFloat64()*by), Lat: min(max(p.Lat+s.rng.NormFloat64()*by, -90), 90),
	}
}

// checkClearance: no boundary is nearer than Clearance, and whatever is nearer has the same answer.
func (s *outlineScene) checkClearance(t *testing.T, sets []*fence.Set, p geometry.Point) {
	t.Helper()
	least := math.Inf(1)
	for _, f := range sets[0].Snapshot().All() {
		least = min(least, math.Abs(f.Distance(p)))
	}
	m := geometry.MetricAt(p)
	want := sets[0].Snapshot().Append(nil, p.Lon, p.Lat)
	for _, set := range sets {
		snap := set.Snapshot()
		c := snap.Clearance(p.Lon, p.Lat)
		if c > least || c < 0 {
			t.Fatalf("%s: %v has %v m, but a boundary is at %v m", set.Kind(), p, c, least)
		}
		sin, cos := math.Sincos(s.rng.Float64() * 2 * math.Pi)
		q := geometry.Point{Lon: geometry.WrapLon(p.Lon + c*cos/111_000), Lat: p.Lat + c*sin/112_000}
		if math.Abs(q.Lat) > 90 || m.To(q) >= c {
			continue
		}
		if got := snap.Append(nil, q.Lon, q.Lat); !slices.Equal(got, want) {
			t.Fatalf("%s: %v has %v m, but %v is in %v and not in %v", set.Kind(), p, c, q, got, want)
		}
		if got := snap.AppendAlong(nil, p, q); len(got) > 0 {
			t.Fatalf("%s: %v has %v m, but meets %v on the way to %v", set.Kind(), p, c, got, q)
		}
	}
}

// checkEnds: a fence that holds one end of a path is met.
func (s *outlineScene) checkEnds(t *testing.T, snap *fence.Snapshot, a, b geometry.Point) {
	t.Helper()
	along := snap.AppendAlong(nil, a, b)
	for r, f := range snap.All() {
		if f.Geometry.Contains(a) != f.Geometry.Contains(b) && !slices.Contains(along, r) {
			t.Fatalf("%v to %v: %d holds one end, and is not in %v", a, b, r, along)
		}
	}
}

// TestOutlines: sets of all kinds agree about what is along a path and near a point, whatever the
// scale and the place, and after edits.
func TestOutlines(t *testing.T) {
	sampling.Sequential(t)
	t.Parallel()
	met := 0
	for i, centre := range []geometry.Point{{Lon: -74, Lat: 40.7}, {Lon: 180, Lat: -17}, {Lon: 175, Lat: 50}, {Lon: 20, Lat: 0}, {Lon: 0, Lat: 88}} {
		for _, size := range []float64{0.02, 3} {
			s := &outlineScene{rand.New(rand.NewPCG(uint64(i), 91)), centre, size}
			var fences []fence.Fence
			for range 25 {
				fences = append(fences, s.fence(t))
			}
			sets := outlineSets(t, fences)
			s.ask(t, sets, 200/sampling.Slowdown)
			for range 12 / sampling.Slowdown {
				s.edit(t, sets)
				s.ask(t, sets, 24/sampling.Slowdown)
			}
			met += len(sets[0].Snapshot().AppendAlong(nil, s.point(1), s.point(1)))
		}
	}
	if met == 0 {
		t.Error("no path met anything: the test is too easy")
	}
}

// edit changes all sets alike. Some fences are outside of all others.
func (s *outlineScene) edit(t *testing.T, sets []*fence.Set) {
	t.Helper()
	f := s.fence(t)
	if s.rng.IntN(8) == 0 {
		far := *s
		far.centre.Lon = geometry.WrapLon(s.centre.Lon + 6*s.size)
		f = far.fence(t)
	}
	keys := slices.Collect(func(yield func(string) bool) {
		for _, g := range sets[0].Snapshot().All() {
			if !yield(g.Key) {
				return
			}
		}
	})
	f.Key = keys[s.rng.IntN(len(keys))]
	gone := s.rng.IntN(4) == 0 && len(keys) > 5
	if s.rng.IntN(4) == 0 {
		f.Key = "new" + f.Key
	}
	for _, set := range sets {
		if gone {
			set.Delete(f.Key)
		} else if _, _, err := set.Put(f); err != nil {
			t.Fatal(err)
		}
	}
}

// TestOutlinesStay: what an old snapshot answers does not depend on later edits.
func TestOutlinesStay(t *testing.T) {
	t.Parallel()
	s := &outlineScene{rand.New(rand.NewPCG(7, 91)), geometry.Point{Lon: -74, Lat: 40.7}, 0.02}
	var fences []fence.Fence
	for range 25 {
		fences = append(fences, s.fence(t))
	}
	sets := outlineSets(t, fences)
	set := sets[len(sets)-1:]
	type answer struct {
		along     []fence.Ref
		near      []fence.Near
		clearance float64
	}
	ask := func(snap *fence.Snapshot, a, b geometry.Point) answer {
		return answer{snap.AppendAlong(nil, a, b), snap.AppendNear(nil, a.Lon, a.Lat, 1e4, 5), snap.Clearance(a.Lon, a.Lat)}
	}
	var again []func()
	for range 40 / sampling.Slowdown {
		snap := set[0].Snapshot()
		for range 20 {
			a, b := s.point(1), s.point(1)
			then := ask(snap, a, b)
			again = append(again, func() {
				if now := ask(snap, a, b); !reflect.DeepEqual(now, then) {
					t.Errorf("generation %d, %v to %v: %v, and %v before", snap.Generation(), a, b, now, then)
				}
			})
		}
		s.edit(t, set)
	}
	for _, check := range again {
		check()
	}
}

func TestNearOrder(t *testing.T) {
	t.Parallel()
	doc := collection(
		polygon("[[1,0],[2,0],[2,1],[1,1],[1,0]]"),
		polygon("[[-1,0],[0,0],[0,1],[-1,1],[-1,0]]"),
		polygon("[[0.2,0.2],[0.9,0.2],[0.9,0.9],[0.2,0.9],[0.2,0.2]]"),
		polygon("[[-9,-9],[9,-9],[9,9],[-9,9],[-9,-9]]"),
		lineFeature("line", "null", "[[0.5,0.6],[0.6,0.6]]"),
	)
	for _, kind := range fence.Kinds() {
		s := mustSet(t, fence.Options{Kind: kind})
		snap, err := s.Replace(read(t, doc, geojson.ReadOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		refs := func(metres float64, most int) (refs []fence.Ref) {
			for _, n := range snap.AppendNear(nil, 0.5, 0.5, metres, most) {
				refs = append(refs, n.Ref)
				if d := snap.Fence(n.Ref).Distance(geometry.Point{Lon: 0.5, Lat: 0.5}); d != n.Distance || (d > 0) != (n.Ref == 2 || n.Ref == 3) {
					t.Errorf("%s: %d is at %v, not %v", kind, n.Ref, d, n.Distance)
				}
			}
			return refs
		}
		for _, c := range []struct {
			metres float64
			most   int
			want   []fence.Ref
		}{
			{math.Inf(1), 10, []fence.Ref{2, 3, 4, 0, 1}},
			{math.Inf(1), 1, []fence.Ref{2}},
			{math.Inf(1), 4, []fence.Ref{2, 3, 4, 0}},
			{0, 10, []fence.Ref{2, 3}},
			{11_100, 10, []fence.Ref{2, 3, 4}},
			{11_000, 10, []fence.Ref{2, 3}},
			{math.Inf(1), 0, nil},
			{-1, 10, nil},
			{math.NaN(), 10, nil},
		} {
			if got := refs(c.metres, c.most); !slices.Equal(got, c.want) {
				t.Errorf("%s: %v m, %d: %v, want %v", kind, c.metres, c.most, got, c.want)
			}
		}
		if got := snap.AppendNear(nil, math.NaN(), 0, 1, 1); len(got) > 0 {
			t.Errorf("%s: %v is near no point", kind, got)
		}
		if got := snap.AppendAlong([]fence.Ref{7}, geometry.Point{Lon: math.Inf(1)}, geometry.Point{}); len(got) != 1 {
			t.Errorf("%s: %v is on no path", kind, got)
		}
	}
}

func TestOutlineOfNoFences(t *testing.T) {
	for _, kind := range fence.Kinds() {
		s := mustSet(t, fence.Options{Kind: kind})
		for range 2 {
			snap := s.Snapshot()
			if c := snap.Clearance(1, 2); c != fence.MostClearance {
				t.Errorf("%s: the clearance is %v", kind, c)
			}
			if c := snap.Clearance(math.NaN(), 2); c != 0 {
				t.Errorf("%s: the clearance of no point is %v", kind, c)
			}
			if got := snap.AppendAlong(nil, geometry.Point{}, geometry.Point{Lon: 1}); len(got) > 0 {
				t.Errorf("%s: %v", kind, got)
			}
			if got := snap.AppendNear(nil, 0, 0, math.Inf(1), 5); len(got) > 0 {
				t.Errorf("%s: %v", kind, got)
			}
			if _, _, err := s.Put(fence.Fence{Key: "a", Geometry: geometry.MultiPolygon{{square(0, 0, 1)}}}); err != nil {
				t.Fatal(err)
			}
			if got := s.Snapshot().AppendAlong(nil, geometry.Point{Lon: -1, Lat: 0.5}, geometry.Point{Lon: 1, Lat: 0.5}); len(got) != 1 {
				t.Errorf("%s: %v", kind, got)
			}
			s.Delete("a")
		}
	}
}

func TestOutlinesDoNotAllocate(t *testing.T) {
	s := &outlineScene{rand.New(rand.NewPCG(5, 91)), geometry.Point{Lon: -74, Lat: 40.7}, 0.02}
	var fences []fence.Fence
	for range 40 {
		fences = append(fences, s.fence(t))
	}
	for _, set := range outlineSets(t, fences) {
		snap := set.Snapshot()
		dst := make([]fence.Ref, 0, 1024)
		snap.Clearance(0, 0)
		if n := testing.AllocsPerRun(100, func() {
			a, b := s.point(1), s.point(1)
			dst = snap.AppendAlong(dst[:0], a, b)
			snap.Clearance(a.Lon, a.Lat)
		}); n != 0 {
			t.Errorf("%s: %v allocations", set.Kind(), n)
		}
	}
}

// TestNearestOfMany holds the order against a sort of all.
func TestNearestOfMany(t *testing.T) {
	t.Parallel()
	s := &outlineScene{rand.New(rand.NewPCG(6, 91)), geometry.Point{Lon: 179.9, Lat: 50}, 0.1}
	var fences []fence.Fence
	for range 300 {
		fences = append(fences, s.fence(t))
	}
	set := mustSet(t, fence.Options{})
	snap, err := set.Replace(&geojson.Collection{Fences: fences})
	if err != nil {
		t.Fatal(err)
	}
	for range 100 / sampling.Slowdown {
		p := s.point(2)
		var want []fence.Near
		for r, f := range snap.All() {
			want = append(want, fence.Near{Ref: r, Distance: f.Distance(p)})
		}
		slices.SortStableFunc(want, func(a, b fence.Near) int { return cmp.Compare(max(-a.Distance, 0), max(-b.Distance, 0)) })
		if got := snap.AppendNear(nil, p.Lon, p.Lat, math.Inf(1), 20); !slices.Equal(got, want[:20]) {
			t.Fatalf("%v: %v, want %v", p, got, want[:20])
		}
	}
}
