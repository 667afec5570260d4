package fence_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
)

const (
	ring1 = `[[0,0],[4,0],[4,4],[0,4],[0,0]]`
	poly1 = `{"type":"Polygon","coordinates":[` + ring1 + `]}`
)

func feature(members string) string { return `{"type":"Feature",` + members + `}` }

func collection(features ...string) string {
	return `{"type":"FeatureCollection","features":[` + strings.Join(features, ",") + `]}`
}

// polygon is a feature with the rings given.
func polygon(rings ...string) string {
	return feature(`"properties":null,"geometry":{"type":"Polygon","coordinates":[` + strings.Join(rings, ",") + `]}`)
}

func multi(parts ...string) string {
	return feature(`"geometry":{"type":"MultiPolygon","coordinates":[[` + strings.Join(parts, "],[") + `]]}`)
}

func read(t *testing.T, doc string, o geojson.ReadOptions) *geojson.Collection {
	t.Helper()
	c, err := geojson.ReadGeoJSON(strings.NewReader(doc), "test.json", o)
	if err != nil {
		t.Fatal(err)
	}
	// A reader that gives one byte at a time meets every boundary between two reads.
	slow, err := geojson.ReadGeoJSON(iotest.OneByteReader(strings.NewReader(doc)), "test.json", o)
	if err != nil || fmt.Sprint(slow) != fmt.Sprint(c) {
		t.Fatalf("read byte by byte: %v, %v, want %v", slow, err, c)
	}
	return c
}

func TestReadDocuments(t *testing.T) {
	for name, doc := range map[string]string{
		"collection":              collection(feature(`"geometry":` + poly1)),
		"type after features":     `{"features":[` + feature(`"geometry":`+poly1) + `],"type":"FeatureCollection"}`,
		"members in any order":    `{"features":[{"geometry":{"coordinates":[` + ring1 + `],"type":"Polygon"},"type":"Feature"}],"bbox":[0,0,4,4],"type":"FeatureCollection","name":{"a":["]}"]}}`,
		"feature":                 feature(`"geometry":` + poly1),
		"polygon":                 poly1,
		"multipolygon":            `{"coordinates":[[` + ring1 + `]],"type":"MultiPolygon"}`,
		"byte order mark":         "\xef\xbb\xbf" + poly1,
		"white space":             "\r\n\t " + strings.ReplaceAll(strings.ReplaceAll(poly1, ",", " ,\n "), ":", " :\t") + " \n",
		"altitude":                strings.ReplaceAll(poly1, "[4,0]", "[4,0,17.5,1e9]"),
		"escaped names":           strings.ReplaceAll(poly1, `"type"`, `"t\u0079pe"`),
		"unknown members":         strings.Replace(poly1, "{", `{"x":[{"y":[[]]},null,true,false,-0.5e+3,"\ud83d\ude00\\"],"type":"no",`, 1),
		"null crs":                strings.Replace(poly1, "{", `{"crs":null,`, 1),
		"CRS84":                   strings.Replace(poly1, "{", `{"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:OGC:1.3:CRS84"}},`, 1),
		"EPSG:4326":               strings.Replace(poly1, "{", `{"crs":{"type":"name","properties":{"name":"EPSG:4326"}},`, 1),
		"EPSG code":               strings.Replace(poly1, "{", `{"crs":{"type":"EPSG","properties":{"code":4326}},`, 1),
		"urn of EPSG":             strings.Replace(poly1, "{", `{"crs":{"type":"name","properties":{"name":"urn:ogc:def:crs:EPSG::4326"}},`, 1),
		"numbers in other shapes": strings.ReplaceAll(poly1, "[4,4]", "[0.4E1,40e-1]"),
	} {
		t.Run(name, func(t *testing.T) {
			c := read(t, doc, geojson.ReadOptions{})
			if len(c.Fences) != 1 || len(c.Findings) != 0 || c.Skipped != 0 {
				t.Fatalf("got %+v", c)
			}
			want := geometry.MultiPolygon{{{{Lon: 0, Lat: 0}, {Lon: 4, Lat: 0}, {Lon: 4, Lat: 4}, {Lon: 0, Lat: 4}}}}
			if got := c.Fences[0].Geometry; fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReadRefusesDocuments(t *testing.T) {
	crs := func(name string) string {
		return strings.Replace(poly1, "{", `{"crs":{"type":"name","properties":{"name":"`+name+`"}},`, 1)
	}
	for name, tc := range map[string]struct {
		doc  string
		want error
		text string
	}{
		"array":               {`[1,2]`, geojson.ErrNotGeoJSON, "test.json: not GeoJSON: the document is no object"},
		"object":              {`{"a":1}`, geojson.ErrNotGeoJSON, "no type"},
		"other type":          {`{"type":"Table"}`, geojson.ErrNotGeoJSON, `"Table"`},
		"type is a number":    {`{"type":7}`, geojson.ErrNotGeoJSON, "the type is 7"},
		"TopoJSON":            {`{"type":"Topology","objects":{},"arcs":[[[0,0]]]}`, geojson.ErrNotGeoJSON, "TopoJSON"},
		"no features":         {`{"type":"FeatureCollection"}`, geojson.ErrNotGeoJSON, "no array of features"},
		"features is null":    {`{"type":"FeatureCollection","features":null}`, geojson.ErrNotGeoJSON, "no array of features"},
		"features without":    {`{"features":[]}`, geojson.ErrNotGeoJSON, "not FeatureCollection"},
		"feet":                {crs("urn:ogc:def:crs:EPSG::2263"), geojson.ErrCRS, `"urn:ogc:def:crs:EPSG::2263"`},
		"mercator":            {crs("EPSG:3857"), geojson.ErrCRS, `"EPSG:3857"`},
		"4326 of another":     {crs("ESRI:4326"), geojson.ErrCRS, "ESRI:4326"},
		"crs after features":  {`{"type":"FeatureCollection","features":[],"crs":{"type":"name","properties":{"name":"EPSG:2263"}}}`, geojson.ErrCRS, "EPSG:2263"},
		"crs that is a link":  {strings.Replace(poly1, "{", `{"crs":{"type":"link","properties":{"href":"http://example.com/crs/42"}},`, 1), geojson.ErrCRS, "example.com/crs/42"},
		"crs that is nothing": {strings.Replace(poly1, "{", `{"crs":"x",`, 1), geojson.ErrCRS, "x"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := geojson.ReadGeoJSON(strings.NewReader(tc.doc), "test.json", geojson.ReadOptions{})
			if c != nil || !errors.Is(err, tc.want) || !strings.Contains(err.Error(), tc.text) {
				t.Errorf("got %v, %v", c, err)
			}
		})
	}
}

func TestSyntaxErrors(t *testing.T) {
	deep := strings.Repeat("[", 63)
	for name, tc := range map[string]struct {
		doc          string
		line, column int
		offset       int64
		reason       string
	}{
		"empty":              {"", 1, 1, 0, "unexpected end of JSON"},
		"white space only":   {" \n ", 2, 2, 3, "unexpected end of JSON"},
		"no JSON":            {"hello", 1, 1, 0, `unexpected 'h', a JSON value is due`},
		"not a number":       {"{\"type\":\n NaN}", 2, 2, 10, `unexpected 'N'`},
		"cut in a string":    {`{"type":"Poly`, 1, 14, 13, "unexpected end of JSON, the end of the string is due"},
		"cut in a feature":   {`{"type":"FeatureCollection","features":[{"type":`, 1, 49, 48, "unexpected end"},
		"cut in a number":    {`{"bbox":[1.`, 1, 12, 11, "a digit is due"},
		"trailing comma":     {"{\"features\":[\n1,\n]}", 3, 1, 17, "unexpected ']'"},
		"missing comma":      {`{"features":[1 2]}`, 1, 16, 15, "a comma or the end of the array is due"},
		"missing colon":      {`{"features" []}`, 1, 13, 12, "a colon is due"},
		"no name":            {`{1:2}`, 1, 2, 1, "a member name"},
		"leading zero":       {`{"bbox":[01]}`, 1, 11, 10, "unexpected '1'"},
		"plus":               {`{"bbox":[+1]}`, 1, 10, 9, "unexpected '+'"},
		"bare minus":         {`{"bbox":[-]}`, 1, 11, 10, "a digit is due"},
		"bare exponent":      {`{"bbox":[1e]}`, 1, 12, 11, "a digit is due"},
		"control character":  {"{\"a\":\"x\ty\"}", 1, 8, 7, "byte 0x09"},
		"bad escape":         {`{"a":"\x"}`, 1, 8, 7, "an escape sequence is due"},
		"bad unicode escape": {`{"a":"\u12g4"}`, 1, 11, 10, "a hexadecimal digit is due"},
		"misspelt literal":   {`{"a":nul}`, 1, 9, 8, "null is due"},
		"zero byte":          {"{\"a\":1}\x00", 1, 8, 7, "byte 0x00"},
		"text after the end": {"{}\n{}", 2, 1, 3, "the end of the document is due"},
		"UTF-16":             {"\xff\xfe{\x00}\x00", 1, 1, 0, "UTF-16"},
		"half a mark":        {"\xef\xbb{}", 1, 3, 2, "a byte order mark is due"},
		"too deep":           {`{"a":` + deep + "[", 1, 69, 68, "nested deeper than 64"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(tc.doc), iotest.OneByteReader(strings.NewReader(tc.doc))} {
				_, err := geojson.ReadGeoJSON(r, "test.json", geojson.ReadOptions{})
				e, ok := errors.AsType[*geojson.SyntaxError](err)
				if !ok {
					t.Fatalf("got %v", err)
				}
				if e.File != "test.json" || e.Line != tc.line || e.Column != tc.column || e.Offset != tc.offset || !strings.Contains(e.Reason, tc.reason) {
					t.Errorf("got %+v", *e)
				}
			}
		})
	}
}

func TestSyntaxErrorFarIntoAStream(t *testing.T) {
	line := polygon(ring1) + ",\n"
	doc := `{"type":"FeatureCollection","features":[` + "\n" + strings.Repeat(line, 5000) + "  oops"
	_, err := geojson.ReadGeoJSON(strings.NewReader(doc), "big.json", geojson.ReadOptions{})
	want := fmt.Sprintf("big.json:5002:3: unexpected 'o', a JSON value is due (byte %d)", len(doc)-4)
	if err == nil || err.Error() != want {
		t.Errorf("got %v\nwant %s", err, want)
	}
}

func TestReadPassesOnErrors(t *testing.T) {
	broken := errors.New("disk on fire")
	for _, doc := range []string{"", `{"type`, poly1} {
		r := io.MultiReader(strings.NewReader(doc), iotest.ErrReader(broken))
		if _, err := geojson.ReadGeoJSON(r, "test.json", geojson.ReadOptions{}); !errors.Is(err, broken) {
			t.Errorf("after %q: %v", doc, err)
		}
	}
}

func TestKeys(t *testing.T) {
	g := `,"geometry":` + poly1
	doc := collection(
		feature(`"id":"a b"`+g), feature(`"id":7`+g), feature(`"id":1.50`+g), feature(`"id":"a b"`+g), feature(`"id":"a b"`+g),
		feature(`"id":null,"properties":{"code":"K1"}`+g), feature(`"properties":{"code":12}`+g), feature(`"properties":{"other":1}`+g),
		feature(`"id":"a b~2"`+g), feature(`"id":""`+g), feature(`"id":{}`+g), feature(`"id":"7"`+g), feature(`"id":"\u00e9\n"`+g),
	)
	c := read(t, doc, geojson.ReadOptions{IDProperty: "code"})
	var keys, ids []string
	for _, f := range c.Fences {
		keys, ids = append(keys, f.Key), append(ids, string(f.ID))
	}
	if want := []string{"a b", "7", "1.50", "a b~2", "a b~3", "K1", "12", "7~2", "a b~2~2", "9", "10", "7~3", "é\n"}; !slices.Equal(keys, want) {
		t.Errorf("keys %q, want %q", keys, want)
	}
	if want := []string{`"a b"`, "7", "1.50", `"a b"`, `"a b"`, "", "", "", `"a b~2"`, `""`, "", `"7"`, `"\u00e9\n"`}; !slices.Equal(ids, want) {
		t.Errorf("ids %q, want %q", ids, want)
	}
	var found []string
	for _, f := range c.Findings {
		found = append(found, fmt.Sprintf("%d %s", f.Feature, f.Code))
	}
	if want := []string{"3 duplicate-id", "4 duplicate-id", "7 duplicate-id", "8 duplicate-id", "10 invalid-id", "11 duplicate-id"}; !slices.Equal(found, want) {
		t.Errorf("findings %q, want %q", found, want)
	}
}

func TestPropertiesAreKept(t *testing.T) {
	for given, want := range map[string]string{
		`"properties":{"b": 1.0, "a":"\u003c"},`: `{"b":1.0,"a":"\u003c"}`,
		`"properties":null,`:                     "",
		``:                                       "",
		`"properties":{},`:                       "{}",
		`"properties":[1],`:                      "",
	} {
		c := read(t, feature(given+`"geometry":`+poly1), geojson.ReadOptions{})
		if got := string(c.Fences[0].Properties); got != want {
			t.Errorf("%s: %s", given, got)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	doc := collection(
		feature(`"id":"a","properties":{"x": [1, "ü"]},"geometry":`+poly1),
		feature(`"id":2.50,"geometry":{"type":"MultiPolygon","coordinates":[[[[-0,1e-7],[0.1,0.2],[1e-300,5]],[[1,1],[2,2],[1,3]]],[`+ring1+`]]}`),
	)
	c := read(t, doc, geojson.ReadOptions{})
	var b strings.Builder
	if err := geojson.WriteGeoJSON(&b, pointers(c.Fences)); err != nil {
		t.Fatal(err)
	}
	if !json.Valid([]byte(b.String())) {
		t.Fatalf("not JSON: %s", b.String())
	}
	again := read(t, b.String(), geojson.ReadOptions{})
	if fmt.Sprint(again.Fences) != fmt.Sprint(c.Fences) {
		t.Errorf("got %v\nwant %v", again.Fences, c.Fences)
	}
	for _, f := range c.Fences {
		data, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		var g fence.Fence
		if err := json.Unmarshal(data, &g); err != nil || fmt.Sprint(g.Geometry) != fmt.Sprint(f.Geometry) {
			t.Errorf("%s: %v, %v", data, g, err)
		}
	}
}

func pointers(fences []fence.Fence) func(func(*fence.Fence) bool) {
	return func(yield func(*fence.Fence) bool) {
		for i := range fences {
			if !yield(&fences[i]) {
				return
			}
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	big := feature(`"id":"big","properties":{"x":"` + strings.Repeat("x", 300_000) + `"},"geometry":` + poly1)
	small := feature(`"id":"small","geometry":` + poly1)
	c := read(t, collection(small, big, small), geojson.ReadOptions{Limits: geojson.Limits{FeatureBytes: 1000}})
	if len(c.Fences) != 2 || c.Skipped != 1 || c.Findings[0].Code != geojson.CodeTooLarge || c.Findings[0].Feature != 1 || !c.Findings[0].Fatal {
		t.Errorf("large feature: %+v", c)
	}
	c = read(t, big, geojson.ReadOptions{Limits: geojson.Limits{FeatureBytes: 1000}})
	if len(c.Fences) != 0 || c.Skipped != 1 || c.Findings[0].Code != geojson.CodeTooLarge {
		t.Errorf("large document of one feature: %+v", c)
	}
	_, err := geojson.ReadGeoJSON(strings.NewReader(collection(small, small)), "f", geojson.ReadOptions{Limits: geojson.Limits{Vertices: 9}})
	if !errors.Is(err, geojson.ErrLimit) {
		t.Errorf("vertices: %v", err)
	}
	c = read(t, collection(small, small, small, small), geojson.ReadOptions{Limits: geojson.Limits{Findings: 2}})
	if len(c.Fences) != 4 || len(c.Findings) != 2 || c.Omitted != 1 {
		t.Errorf("findings: %+v", c)
	}
}
