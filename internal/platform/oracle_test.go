package platform_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"strconv"
	"testing"
)

// oracle computes the fences that hold a point from the text of GeoJSON files. It shares no code
// with the product: it reads with encoding/json and decides with rationals.
type oracle struct{ sets []oracleSet }

type oracleSet struct {
	name   string
	fences []oracleFence
}

type oracleFence struct {
	key   string
	parts []oraclePart
}

// oraclePart is one polygon: the edges of all its rings, and the box around them. Comparisons of
// float64 are exact, so the box excludes no point of the polygon.
type oraclePart struct {
	edges                    []oracleEdge
	west, south, east, north float64
}

// oracleEdge goes from the lower end to the upper one; level edges go east.
type oracleEdge struct{ x0, y0, x1, y1 float64 }

// hit names a fence.
type hit struct{ Set, ID string }

// readOracle adds the polygons of a file as a set.
func (o *oracle) read(t *testing.T, name, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Features []struct {
			ID       json.RawMessage
			Geometry struct {
				Type        string
				Coordinates json.RawMessage
			}
		}
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	set := oracleSet{name: name}
	for i, f := range file.Features {
		var polygons [][][][]json.Number
		switch f.Geometry.Type {
		case "Polygon":
			polygons = make([][][][]json.Number, 1)
			err = json.Unmarshal(f.Geometry.Coordinates, &polygons[0])
		case "MultiPolygon":
			err = json.Unmarshal(f.Geometry.Coordinates, &polygons)
		default:
			t.Fatalf("%s: a %s", path, f.Geometry.Type)
		}
		if err != nil {
			t.Fatal(err)
		}
		fence := oracleFence{key: strconv.Itoa(i)}
		if f.ID != nil {
			fence.key = string(f.ID) // the ids of these files are numbers
		}
		for _, rings := range polygons {
			part, err := newOraclePart(rings)
			if err != nil {
				t.Fatalf("%s: feature %d: %v", path, i, err)
			}
			fence.parts = append(fence.parts, part)
		}
		set.fences = append(set.fences, fence)
	}
	o.sets = append(o.sets, set)
}

func newOraclePart(rings [][][]json.Number) (p oraclePart, err error) {
	for _, ring := range rings {
		xs, ys := make([]float64, len(ring)), make([]float64, len(ring))
		for i, c := range ring {
			if xs[i], err = c[0].Float64(); err != nil {
				return p, err
			}
			if ys[i], err = c[1].Float64(); err != nil {
				return p, err
			}
		}
		last := len(ring) - 1
		if xs[0] != xs[last] || ys[0] != ys[last] {
			return p, fmt.Errorf("a ring that is not closed")
		}
		for i := range last {
			e := oracleEdge{xs[i], ys[i], xs[i+1], ys[i+1]}
			if e.y0 > e.y1 || e.y0 == e.y1 && e.x0 > e.x1 {
				e = oracleEdge{e.x1, e.y1, e.x0, e.y0}
			}
			if len(p.edges) == 0 {
				p.west, p.east, p.south, p.north = e.x0, e.x0, e.y0, e.y1
			}
			p.west, p.east = min(p.west, e.x0, e.x1), max(p.east, e.x0, e.x1)
			p.south, p.north = min(p.south, e.y0), max(p.north, e.y1)
			p.edges = append(p.edges, e)
		}
	}
	return p, nil
}

// at returns the fences that hold the point, in the order of sets and files.
func (o *oracle) at(x, y float64) []hit {
	hits := []hit{}
	for i := range o.sets {
		for j := range o.sets[i].fences {
			f := &o.sets[i].fences[j]
			for k := range f.parts {
				if f.parts[k].holds(x, y) {
					hits = append(hits, hit{o.sets[i].name, f.key})
					break
				}
			}
		}
	}
	return hits
}

// holds reports whether an odd number of edges counts for the point.
func (p *oraclePart) holds(x, y float64) bool {
	if y < p.south || y >= p.north || x < p.west || x >= p.east {
		return false
	}
	odd := false
	for _, e := range p.edges {
		if e.y0 <= y && y < e.y1 && e.passesEastOf(x, y) {
			odd = !odd
		}
	}
	return odd
}

// passesEastOf reports whether the point lies strictly to the west of the edge, at a height that
// the edge has: orient(lo, hi, p) > 0.
func (e *oracleEdge) passesEastOf(x, y float64) bool {
	if x < min(e.x0, e.x1) {
		return true
	}
	if x >= max(e.x0, e.x1) {
		return false
	}
	left := new(big.Rat).Mul(difference(e.x1, e.x0), difference(y, e.y0))
	right := new(big.Rat).Mul(difference(e.y1, e.y0), difference(x, e.x0))
	return left.Cmp(right) > 0
}

func difference(a, b float64) *big.Rat {
	return new(big.Rat).Sub(new(big.Rat).SetFloat64(a), new(big.Rat).SetFloat64(b))
}

// TestOracle checks the oracle itself on a unit square with a hole and a slanted edge: west and
// south borders are in, east and north ones are not.
func TestOracle(t *testing.T) {
	path := t.TempDir() + "/set.json"
	text := `{"type":"FeatureCollection","features":[{"type":"Feature","id":7,"properties":{},"geometry":{"type":"Polygon","coordinates":[
		[[0,0],[8,0],[8,8],[0,8],[0,0]],[[2,2],[2,4],[4,4],[4,2],[2,2]]]}},
		{"type":"Feature","properties":{},"geometry":{"type":"MultiPolygon","coordinates":[[[[8,8],[16,0],[16,8],[8,8]]],[[[0,9],[8,10],[0,10],[0,9]]]]}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var o oracle
	o.read(t, "set", path)
	for _, c := range []struct {
		x, y float64
		want string
	}{
		{0, 0, "7"},
		{8, 0, ""},
		{0, 8, ""},
		{8, 8, ""},
		{1, 1, "7"},
		{2, 2, ""},
		{3, 3, ""},
		{4, 3, "7"},
		{3, 4, "7"},
		{12, 4, "1"},
		{11.999999999999998, 4, ""},
		{16, 4, ""},
		{0, 9, ""},
		{0, 9.5, "1"},
		{0, 10, ""},
		{4, 9.5, ""},
		{3.9999999999999996, 9.5, "1"},
	} {
		got := ""
		for _, h := range o.at(c.x, c.y) {
			got += h.ID
		}
		if got != c.want {
			t.Errorf("%v, %v is in %q, want %q", c.x, c.y, got, c.want)
		}
	}
}
