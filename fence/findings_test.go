package fence_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

// TestFindings gives each defect once, with the place that it must name.
func TestFindings(t *testing.T) {
	hole := func(x, y, s float64) string {
		return fmt.Sprintf("[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]", x, y, x+s, y, x+s, y+s, x, y+s, x, y)
	}
	for name, tc := range map[string]struct {
		feature string
		want    string // code: reason, at
		lax     bool   // Strict takes it too
	}{
		"unclosed ring":      {polygon(`[[0,0],[4,0],[4,4],[0,4]]`), "unclosed-ring: ring 0: the last position is not the first, at 0,4", true},
		"repeated vertex":    {polygon(`[[0,0],[4,0],[4,0],[4,4],[0,0]]`), "repeated-vertex: ring 0: 1 repeated, at 4,0", true},
		"spike":              {polygon(`[[0,0],[4,0],[9,0],[4,0],[4,4],[0,0]]`), "spike: ring 0: 1, where the ring turns back over itself, at 9,0", true},
		"hole of two points": {polygon(ring1, `[[1,1],[2,2],[1,1]]`), "dropped-ring: ring 1: 2 vertices without an area: the ring is dropped, at 1,1", true},
		"hole on a line":     {polygon(ring1, `[[1,1],[2,2],[3,3],[1,1]]`), "dropped-ring: ring 1: 3 vertices without an area: the ring is dropped, at 1,1", true},
		"empty hole":         {polygon(ring1, `[]`), "dropped-ring: ring 1: 0 vertices without an area: the ring is dropped", true},
		"long edge":          {polygon(`[[-170,0],[170,0],[170,5],[-170,0]]`), "long-edge: ring 0: an edge spans over 180 degrees of longitude; it does not cross the antimeridian, at -170,0", true},
		"bow tie":            {polygon(`[[0,0],[4,4],[4,0],[0,4],[0,0]]`), "self-crossing: ring 0: two of its edges cross, at 2,2", false},
		"overlapping edges":  {polygon(`[[0,0],[4,0],[4,4],[3,4],[3,0],[2,0],[2,5],[0,0]]`), "self-crossing: ring 0: two of its edges overlap, at 2,0", false},
		"touching itself":    {polygon(`[[0,0],[4,0],[4,4],[2,0],[0,4],[0,0]]`), "self-touch: ring 0: it touches itself, at 2,0", false},
		"hole across":        {polygon(ring1, hole(3, 1, 2)), "rings-cross: ring 1: it crosses ring 0, at 4,1", false},
		"hole on the border": {polygon(ring1, hole(0, 1, 2)), "rings-cross: ring 1: it shares an edge with ring 0, at 0,1", false},
		"hole outside":       {polygon(ring1, hole(7, 7, 1)), "hole-outside: ring 1: the hole is outside its shell, at 7,7", false},
		"hole in a hole":     {polygon(hole(0, 0, 9), hole(1, 1, 5), hole(2, 2, 1)), "nested-holes: ring 2: the hole is within the hole of ring 1, at 2,2", false},
		"parts overlap":      {multi(hole(0, 0, 4), hole(2, 2, 4)), "parts-overlap: part 1 ring 0: it crosses part 0 ring 0, at 2,4", false},
		"part within a part": {multi(hole(0, 0, 9), hole(2, 2, 4)), "parts-overlap: part 1 ring 0: the part is within part 0, at 2,2", false},
		"part twice":         {multi(hole(0, 0, 4), hole(0, 0, 4)), "parts-overlap: part 1 ring 0: it shares an edge with part 0 ring 0, at 0,0", false},
		"id is an object":    {feature(`"id":{},"geometry":` + poly1), "invalid-id: the id is an object: ignored", true},
		"properties":         {feature(`"properties":"x","geometry":` + poly1), "invalid-properties: the properties are a string: ignored", true},
	} {
		t.Run(name, func(t *testing.T) {
			c := read(t, collection(polygon(ring1), tc.feature), geojson.ReadOptions{})
			if len(c.Fences) != 2 || len(c.Findings) != 1 {
				t.Fatalf("%d fences, %v", len(c.Fences), c.Findings)
			}
			if got, want := c.Findings[0].String(), `test.json: feature 1 "1": `+tc.want; got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			strict := read(t, tc.feature, geojson.ReadOptions{Strict: true})
			if taken := len(strict.Fences) == 1; taken != tc.lax || strict.Findings[0].Fatal == tc.lax {
				t.Errorf("strict: %+v", strict)
			}
		})
	}
}

// TestNothingToFind is valid data that looks odd.
// TestFindingsKeepTheirPlace: the fences are looked at one after the other, in the same memory.
func TestFindingsKeepTheirPlace(t *testing.T) {
	s := mustSet(t, fence.Options{})
	for i := range 3 {
		x := float64(10 * i)
		ring := geometry.Ring{{Lon: x}, {Lon: x + 4}, {Lon: x + 4}, {Lon: x + 9}, {Lon: x + 4}, {Lon: x + 4, Lat: 4}}
		if _, _, err := s.Put(fence.Fence{Key: fmt.Sprint(i), Geometry: geometry.MultiPolygon{{ring}}}); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	for _, f := range s.Snapshot().Findings() {
		got = append(got, fmt.Sprint(f.Key, " ", f.Code, " ", f.At.Lon))
	}
	want := []string{
		"0 repeated-vertex 4", "0 spike 9", "1 repeated-vertex 14", "1 spike 19", "2 repeated-vertex 24", "2 spike 29",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

func TestNothingToFind(t *testing.T) {
	for name, f := range map[string]string{
		"collinear vertices":     polygon(`[[0,0],[1,0],[2,0],[4,0],[4,4],[0,0]]`),
		"clockwise":              polygon(`[[0,0],[0,4],[4,4],[4,0],[0,0]]`),
		"hole touching at a dot": polygon(ring1, `[[4,2],[1,1],[1,3],[4,2]]`),
		"holes touching":         polygon(ring1, `[[1,1],[2,1],[2,2],[1,1]]`, `[[2,2],[3,2],[3,3],[2,2]]`),
		"parts touching":         multi(`[[0,0],[1,0],[1,1],[0,0]]`, `[[1,1],[2,1],[2,2],[1,1]]`),
		"island in a lake":       multi(`[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[8,1],[8,8],[1,8],[1,1]]`, `[[2,2],[3,2],[3,3],[2,2]]`),
		"the world":              polygon(`[[-180,-90],[0,-90],[180,-90],[180,90],[0,90],[-180,90],[-180,-90]]`),
	} {
		if c := read(t, f, geojson.ReadOptions{Strict: true}); len(c.Fences) != 1 || len(c.Findings) != 0 {
			t.Errorf("%s: %v", name, c.Findings)
		}
	}
}

// TestSkippedAndRefused: a feature that gives no fence costs itself only.
func TestSkippedAndRefused(t *testing.T) {
	geometry := func(typ, coordinates string) string {
		return feature(`"id":"x","geometry":{"type":"` + typ + `","coordinates":` + coordinates + `}`)
	}
	for name, tc := range map[string]struct {
		feature string
		want    string
		fatal   bool
	}{
		"null geometry":         {feature(`"id":"x","geometry":null`), "no-geometry: it has no geometry", false},
		"no geometry":           {feature(`"id":"x"`), "no-geometry: it has no geometry", false},
		"point":                 {geometry("Point", "[1,2]"), "not-polygon: a Point has no area", false},
		"points":                {geometry("MultiPoint", "[]"), "not-polygon: a MultiPoint has no area", false},
		"no line":               {geometry("MultiLineString", "[]"), "no-length: no line with a length is left", true},
		"flat line":             {geometry("LineString", "[1,2]"), "invalid-geometry: coordinates[0] is a number, not a position", true},
		"line out of range":     {geometry("MultiLineString", "[[[1,2],[3,94]]]"), "out-of-range: coordinates[0][1] 3,94 is out of range: longitude and latitude swapped?, at 3,94", true},
		"line without any":      {feature(`"id":"x","geometry":{"type":"LineString"}`), "invalid-geometry: the geometry has no coordinates", true},
		"geometry collection":   {feature(`"id":"x","geometry":{"type":"GeometryCollection","geometries":[` + poly1 + `]}`), "geometry-collection: a GeometryCollection is not read: use a MultiPolygon", true},
		"unknown geometry":      {geometry("Circle", "[]"), `invalid-geometry: the geometry's type is "Circle"`, true},
		"geometry is a list":    {feature(`"id":"x","geometry":[1]`), "invalid-geometry: the geometry is an array", true},
		"geometry without type": {feature(`"id":"x","geometry":{}`), "invalid-geometry: the geometry has no type", true},
		"no coordinates":        {feature(`"id":"x","geometry":{"type":"Polygon"}`), "invalid-geometry: the geometry has no coordinates", true},
		"coordinates are null":  {geometry("Polygon", "null"), "invalid-geometry: coordinates is null, not an array of rings", true},
		"too flat":              {geometry("Polygon", "[[1,2],[3,4]]"), "invalid-geometry: coordinates[0][0] is a number, not a position", true},
		"too nested":            {geometry("Polygon", "[[[[1,2]]]]"), "invalid-geometry: coordinates[0][0][0] is an array, not a number", true},
		"text":                  {geometry("Polygon", `[[[1,2],[3,"4"]]]`), "invalid-geometry: coordinates[0][1][1] is a string, not a number", true},
		"null number":           {geometry("Polygon", `[[[1,2],[3,null]]]`), "invalid-geometry: coordinates[0][1][1] is null, not a number", true},
		"one number":            {geometry("MultiPolygon", `[[[[1,2],[3]]]]`), "invalid-geometry: coordinates[0][0][1] has fewer than two numbers", true},
		"out of range":          {geometry("Polygon", `[[[1,2],[3,4],[200,1]]]`), "out-of-range: coordinates[0][2] 200,1 is out of range, at 200,1", true},
		"swapped":               {geometry("Polygon", `[[[40.7,-74],[40,-95],[41,-95]]]`), "out-of-range: coordinates[0][1] 40,-95 is out of range: longitude and latitude swapped?, at 40,-95", true},
		"feet":                  {geometry("Polygon", `[[[987654,198765],[3,4],[5,1]]]`), "out-of-range: coordinates[0][0] 987654,198765 is out of range: not degrees but feet or metres?, at 987654,198765", true},
		"beyond float64":        {geometry("Polygon", `[[[1,2],[1e999,4],[5,1]]]`), "out-of-range: coordinates[0][1] +Inf,4 is not finite, at +Inf,4", true},
		"no ring":               {geometry("Polygon", `[]`), "no-area: no ring with an area is left", true},
		"no part":               {geometry("MultiPolygon", `[]`), "no-area: no ring with an area is left", true},
		"crs of a geometry":     {feature(`"id":"x","geometry":` + strings.Replace(poly1, "{", `{"crs":{"properties":{"name":"EPSG:2263"}},`, 1)), `crs: the geometry's coordinate reference system is "EPSG:2263"`, true},
		"crs of a point":        {feature(`"id":"x","properties":{"radius":5},"geometry":{"type":"Point","coordinates":[1,2],"crs":{"properties":{"name":"EPSG:2263"}}}`), `crs: the geometry's coordinate reference system is "EPSG:2263"`, true},
		"own crs":               {feature(`"id":"x","crs":{"properties":{"name":"EPSG:2263"}},"geometry":` + poly1), `crs: the feature's coordinate reference system is "EPSG:2263"`, true},
	} {
		t.Run(name, func(t *testing.T) {
			c := read(t, collection(polygon(ring1), tc.feature, polygon(ring1)), geojson.ReadOptions{})
			if len(c.Fences) != 2 || len(c.Findings) != 1 || c.Skipped != 1 {
				t.Fatalf("%d fences, %d skipped, %v", len(c.Fences), c.Skipped, c.Findings)
			}
			if c.Fences[1].Key != "2" {
				t.Errorf("the ordinal of the last is %q", c.Fences[1].Key)
			}
			prefix := `test.json: feature 1 "x": `
			if tc.fatal {
				prefix += "refused: "
			}
			if got := c.Findings[0]; got.String() != prefix+tc.want || got.Fatal != tc.fatal {
				t.Errorf("got  %s\nwant %s", got, prefix+tc.want)
			}
			_, _, err := geojson.ParseFeature([]byte(tc.feature), geojson.ReadOptions{})
			if e, ok := errors.AsType[*geojson.RefusedError](err); !ok || !strings.HasSuffix(e.Error(), tc.want) {
				t.Errorf("ParseFeature: %v", err)
			}
		})
	}
}

func TestElementsThatAreNoFeatures(t *testing.T) {
	c := read(t, collection("1", "null", `{"type":"Point","coordinates":[1,2]}`, `{}`, polygon(ring1)), geojson.ReadOptions{})
	var got []string
	for _, f := range c.Findings {
		got = append(got, f.String())
	}
	want := `test.json: feature 0: refused: not-feature: it is a number
test.json: feature 1: refused: not-feature: it is null
test.json: feature 2: refused: not-feature: its type is "Point"
test.json: feature 3: refused: not-feature: it has no type`
	if strings.Join(got, "\n") != want || len(c.Fences) != 1 || c.Skipped != 4 {
		t.Errorf("got %d fences and\n%s", len(c.Fences), strings.Join(got, "\n"))
	}
}

func TestParseFeature(t *testing.T) {
	data := []byte(feature(`"id":"a","properties":{"p":1},"geometry":` + poly1))
	f, findings, err := geojson.ParseFeature(data, geojson.ReadOptions{})
	clear(data) // the fence keeps nothing of it
	if err != nil || len(findings) != 0 || f.Key != "a" || string(f.ID) != `"a"` || string(f.Properties) != `{"p":1}` {
		t.Errorf("got %+v, %v, %v", f, findings, err)
	}
	f, _, err = geojson.ParseFeature([]byte(polygon(ring1)), geojson.ReadOptions{})
	if err != nil || f.Key != "" || f.ID != nil || f.Properties != nil {
		t.Errorf("without id: %+v, %v", f, err)
	}
	for _, doc := range []string{"", "{", polygon(ring1) + "x"} {
		if _, _, err := geojson.ParseFeature([]byte(doc), geojson.ReadOptions{}); errors.As(err, new(*geojson.SyntaxError)) == false {
			t.Errorf("%q: %v", doc, err)
		}
	}
	for _, doc := range []string{poly1, collection(polygon(ring1)), "null", "[]"} {
		if _, _, err := geojson.ParseFeature([]byte(doc), geojson.ReadOptions{}); errors.As(err, new(*geojson.RefusedError)) == false {
			t.Errorf("%q: %v", doc, err)
		}
	}
}
