package fence_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

func lineFeature(id, properties, coordinates string) string {
	kind := "LineString"
	if strings.HasPrefix(coordinates, "[[[") {
		kind = "MultiLineString"
	}
	return fmt.Sprintf(`{"type":"Feature","id":%q,"properties":%s,"geometry":{"type":%q,"coordinates":%s}}`, id, properties, kind, coordinates)
}

func parsed(t *testing.T, doc string, o geojson.ReadOptions) fence.Fence {
	t.Helper()
	f, _, err := geojson.ParseFeature([]byte(doc), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestLinesAreWrittenAsRead: a line and a corridor read back equal, with the same area.
func TestLinesAreWrittenAsRead(t *testing.T) {
	for name, doc := range map[string]string{
		"line":     lineFeature("a", `{"direction":"left"}`, "[[1,2],[3,4],[5,4]]"),
		"lines":    lineFeature("a", "null", "[[[1,2],[3,4]],[[3,4],[5,4]]]"),
		"corridor": lineFeature("a", `{"paddock:buffer":50}`, "[[13.4,52.5],[13.41,52.51],[13.4,52.51]]"),
	} {
		f := parsed(t, doc, geojson.ReadOptions{Strict: true})
		text, err := f.MarshalJSON()
		if err != nil || string(text) != doc {
			t.Errorf("%s: %s, %v\nwant %s", name, text, err, doc)
		}
		if again := parsed(t, string(text), geojson.ReadOptions{}); !reflect.DeepEqual(f, again) {
			t.Errorf("%s: read back as %v, not %v", name, again, f)
		}
		if f.OnlyCrossed() != (name != "corridor") {
			t.Errorf("%s: only crossed is %v", name, f.OnlyCrossed())
		}
	}
}

// TestLinesHoldNothing: whatever the kind of index, a line is in the set and in no answer. Its
// corridor is in the answers within the buffer.
func TestLinesHoldNothing(t *testing.T) {
	t.Parallel()
	block := polygon("[[0,0],[2,0],[2,2],[0,2],[0,0]]")
	doc := collection(
		lineFeature("line", "null", "[[0,1],[4,1]]"), block,
		lineFeature("route", `{"paddock:buffer":1000}`, "[[0,1],[4,1]]"),
	)
	for _, kind := range fence.Kinds() {
		s := mustSet(t, fence.Options{Kind: kind})
		snap, err := s.Replace(read(t, doc, geojson.ReadOptions{}))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			for p, want := range map[geometry.Point][]fence.Ref{
				{Lon: 1, Lat: 1}: {1, 2}, {Lon: 1, Lat: 1.5}: {1}, {Lon: 3, Lat: 1}: {2}, {Lon: 3, Lat: 1.00903}: {2}, {Lon: 3, Lat: 1.00905}: nil,
			} {
				if got := snap.Append(nil, p.Lon, p.Lat); !slices.Equal(got, want) {
					t.Errorf("%s: %v: %v, want %v", kind, p, got, want)
				}
			}
			if b := snap.Bounds(); b.MaxLon < 4 || snap.Len() != 3 {
				t.Errorf("%s: %d fences within %v", kind, snap.Len(), b)
			}
			if got, want := snap.Stats().Edges, 1+4+snap.Fence(2).Geometry.Vertices(); got != want {
				t.Errorf("%s: %d edges, want %d", kind, got, want)
			}
			// Again, after an edit of each.
			for _, r := range []fence.Ref{0, 2} {
				if _, snap, err = s.Put(*snap.Fence(r)); err != nil {
					t.Fatal(err)
				}
			}
		}
		// A line and an area take turns under one key.
		line, area := *snap.Fence(0), *snap.Fence(1)
		line.Key, area.Key = area.Key, line.Key
		for _, f := range []fence.Fence{line, area} {
			if _, snap, err = s.Put(f); err != nil {
				t.Fatal(err)
			}
		}
		if got := snap.Append(nil, 1, 1); !slices.Equal(got, []fence.Ref{0, 2}) {
			t.Errorf("%s: turned round: %v", kind, got)
		}
		if snap, _ = s.Delete("route"); snap.Bounds().MaxLon != 4 {
			t.Errorf("%s: the line is not in the bounds %v", kind, snap.Bounds())
		}
		if snap, _ = s.Delete(line.Key); snap.Bounds().MaxLon != 2 {
			t.Errorf("%s: a deleted line is in the bounds %v", kind, snap.Bounds())
		}
	}
}

func TestFindingsOfLines(t *testing.T) {
	for name, c := range map[string]struct {
		doc  string
		want []string
	}{
		"repeated":     {lineFeature("x", "null", "[[1,2],[1,2],[3,4]]"), []string{"repeated-vertex: 1 repeated, at 1,2"}},
		"one dropped":  {lineFeature("x", "null", "[[[1,2],[3,4]],[[5,6],[5,6]]]"), []string{"dropped-line: line 1: 2 vertices without a length: the line is dropped, at 5,6"}},
		"half a world": {lineFeature("x", "null", "[[-170,2],[170,4]]"), []string{"long-edge: an edge spans over 180 degrees of longitude; it does not cross the antimeridian, at -170,2"}},
	} {
		c2 := read(t, collection(c.doc), geojson.ReadOptions{Strict: true})
		var got []string
		for _, f := range c2.Findings {
			got = append(got, strings.TrimPrefix(f.String(), `test.json: feature 0 "x": `))
		}
		if len(c2.Fences) != 1 || !slices.Equal(got, c.want) {
			t.Errorf("%s: %d fences, %q, want %q", name, len(c2.Fences), got, c.want)
		}
	}
	for buffer, reason := range map[string]string{
		`"50"`:  "no such shape: the property paddock:buffer is a string, not a number of metres",
		`-1`:    "no such shape: a buffer of -1 m is not within 0.1 and 10000",
		`1e5`:   "no such shape: a buffer of 100000 m is not within 0.1 and 10000",
		`1e999`: "no such shape: the property paddock:buffer is a number, not a number of metres",
	} {
		_, _, err := geojson.ParseFeature([]byte(lineFeature("x", `{"paddock:buffer":`+buffer+`}`, "[[1,2],[3,4]]")), geojson.ReadOptions{})
		if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Code != geojson.CodeInvalidGeometry || e.Finding.Reason != reason {
			t.Errorf("buffer %s: %v", buffer, err)
		}
	}
	o := geojson.ReadOptions{Limits: geojson.Limits{Vertices: 20}}
	if _, _, err := geojson.ParseFeature([]byte(lineFeature("x", `{"paddock:buffer":50}`, "[[1,2],[3,4]]")), o); !errors.Is(err, geojson.ErrLimit) {
		t.Errorf("a corridor of more vertices than allowed: %v", err)
	}
}

// TestCorridorsOfTooManyVertices: a few kilobytes that ask for gigabytes are refused before those
// are made, whether they are read or given by a Go program.
func TestCorridorsOfTooManyVertices(t *testing.T) {
	round := strings.Repeat("[-180,0],[180,0],", 1500) + "[-180,0]"
	doc := lineFeature("x", `{"paddock:buffer":50}`, "["+round+"]")
	allocs := testing.AllocsPerRun(1, func() {
		o := geojson.ReadOptions{Limits: geojson.Limits{Vertices: 10_000}}
		if _, _, err := geojson.ParseFeature([]byte(doc), o); !errors.Is(err, geojson.ErrLimit) {
			t.Errorf("read: %v", err)
		}
	})
	if allocs > 200 {
		t.Errorf("%v allocations", allocs)
	}
	line := geometry.Line{{Lon: -180}}
	for range 1500 {
		line = append(line, geometry.Point{Lon: 180}, geometry.Point{Lon: -180})
	}
	f := fence.Fence{Key: "x", Lines: geometry.MultiLine{line}, Properties: []byte(`{"paddock:buffer":50}`)}
	if _, err := f.Check(false); err == nil || !strings.Contains(err.Error(), "too many vertices") {
		t.Errorf("given: %v", err)
	}
}

// TestLinesThatNoSetTakes: what a Go program gives is checked as what is read.
func TestLinesThatNoSetTakes(t *testing.T) {
	line := geometry.MultiLine{{{Lon: 1, Lat: 2}, {Lon: 3, Lat: 4}}}
	for name, c := range map[string]struct {
		f    fence.Fence
		want geojson.Code
	}{
		"one vertex":        {fence.Fence{Lines: geometry.MultiLine{{{Lon: 1, Lat: 2}}}}, geojson.CodeNoLength},
		"no length":         {fence.Fence{Lines: geometry.MultiLine{{{Lon: 1, Lat: 2}, {Lon: 1, Lat: 2}}}}, geojson.CodeNoLength},
		"out of range":      {fence.Fence{Lines: geometry.MultiLine{{{Lon: 1, Lat: 2}, {Lon: 1, Lat: math.Inf(1)}}}}, geojson.CodeOutOfRange},
		"area, no buffer":   {fence.Fence{Lines: line, Geometry: geometry.MultiPolygon{{square(0, 0, 1)}}}, geojson.CodeInvalidGeometry},
		"a negative buffer": {fence.Fence{Lines: line, Properties: []byte(`{"paddock:buffer":-1}`)}, geojson.CodeInvalidGeometry},
	} {
		_, _, err := mustSet(t, fence.Options{}).Add(c.f)
		if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || e.Finding.Code != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, snap, err := mustSet(t, fence.Options{}).Add(fence.Fence{Lines: line, Properties: []byte(`{"paddock:buffer":100}`)})
	if err != nil || len(snap.Append(nil, 2, 3)) != 1 {
		t.Errorf("a corridor without its area: %v", err)
	}
}

func TestLinesOverTheAntimeridian(t *testing.T) {
	o := geojson.ReadOptions{Antimeridian: geometry.AntimeridianUnwrap}
	f := parsed(t, lineFeature("x", `{"paddock:buffer":5000}`, "[[179,0],[-179,0],[181.5,1]]"), o)
	if len(f.Lines) != 2 || f.Lines[1][0].Lon != -180 {
		t.Fatalf("%v", f.Lines)
	}
	for _, p := range []geometry.Point{{Lon: 179.5, Lat: 0.04}, {Lon: 180, Lat: 0.01}, {Lon: -179.5, Lat: 0.04}, {Lon: -178.7, Lat: 0.5}} {
		if !f.Geometry.Contains(p) || f.Distance(p) <= 0 {
			t.Errorf("%v is at %v", p, f.Distance(p))
		}
	}
	var out bytes.Buffer
	if err := geojson.WriteGeoJSON(&out, func(yield func(*fence.Fence) bool) { yield(&f) }); err != nil {
		t.Fatal(err)
	}
	if again := read(t, out.String(), o); !reflect.DeepEqual(again.Fences[0].Geometry, f.Geometry) {
		t.Error("what was cut reads back as another corridor")
	}
}

func TestMeasuresOfFences(t *testing.T) {
	s := mustSet(t, fence.Options{})
	snap, err := s.Replace(read(t, collection(
		lineFeature("line", "null", "[[13.4,52.5],[13.4,52.51]]"),
		lineFeature("route", `{"paddock:buffer":100}`, "[[13.4,52.5],[13.4,52.51]]"),
		polygon("[[13.4,52.5],[13.41,52.5],[13.41,52.51],[13.4,52.51],[13.4,52.5]]"),
	), geojson.ReadOptions{}))
	if err != nil {
		t.Fatal(err)
	}
	east := func(metres float64) geometry.Point { return geometry.Point{Lon: 13.4 + metres/67_885, Lat: 52.505} }
	for _, c := range []struct {
		ref              fence.Ref
		p                geometry.Point
		distance, length float64
		inradius         float64
	}{
		{0, east(40), -40, 556.4, 0},
		{0, east(0), 0, 556.4, 0},
		{1, east(40), 60, 556.4, 100},
		{1, east(140), -40, 556.4, 100},
		{2, east(40), 40, math.NaN(), 339},
		{2, east(-40), -40, math.NaN(), 339},
	} {
		f := snap.Fence(c.ref)
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				if got := f.Inradius(); got > c.inradius*1.01 || got < c.inradius*0.9 {
					t.Errorf("%d: inradius %v, want %v", c.ref, got, c.inradius)
				}
			})
		}
		all.Wait()
		if got := f.Distance(c.p); math.Abs(got-c.distance) > 0.1 || math.Signbit(got) && got == 0 {
			t.Errorf("%d: %v at %v, want %v", c.ref, c.p, got, c.distance)
		}
		if got := f.Progress(c.p); math.Abs(got-c.length) > 0.1 || math.IsNaN(got) != math.IsNaN(c.length) {
			t.Errorf("%d: progress of %v is %v, want %v", c.ref, c.p, got, c.length)
		}
		if n := testing.AllocsPerRun(50, func() { f.Distance(c.p); f.Progress(c.p); f.Inradius() }); n != 0 {
			t.Errorf("%d: %v allocations", c.ref, n)
		}
	}
}
