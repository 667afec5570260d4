package httpapi

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/geometry"
	"paddock/internal/platform/budget"
	"paddock/internal/platform/lookup"
)

const (
	inA    = `{"fences":[{"set":"squares","id":"a","properties":{"name":"a"}}]}`
	inAB   = `{"fences":[{"set":"squares","id":"a","properties":{"name":"a"}},{"set":"squares","id":"b","properties":{"name":"b"}}]}`
	inC    = `{"fences":[{"set":"far","id":"c","properties":{"name":"c"}}]}`
	inNone = `{"fences":[]}`
)

func TestGetSearch(t *testing.T) {
	tw := newTown(t, options{})
	for query, want := range map[string]string{
		"lon=1&lat=1": inA, "lat=1&lon=1": inA, "lon=7&lat=5": inAB, "lon=105&lat=45": inC, "lon=50&lat=1": inNone,
		"lon=0&lat=0": inA, "lon=15&lat=5": inNone, "lon=1e0&lat=%2B1": inA,
		"lon=7&lat=5&set=squares": inAB, "lon=7&lat=5&set=far": inNone, "lon=180&lat=90": inNone,
	} {
		tw.expect(tw.get("/v1/search?"+query), 200, want)
	}
	for _, c := range []struct {
		query  string
		status int
		detail string
	}{
		{"", 400, "query: lon missing"},
		{"lon=1", 400, "query: lat missing"},
		{"lat=1", 400, "query: lon missing"},
		{"lon=x&lat=y", 400, `query: lon "x" is not a number`},
		{"lon=1&lat=", 400, "query: lat missing"},
		{"lon=1,5&lat=1", 400, `query: lon "1,5" is not a number`},
		{"lon=1e999&lat=1", 400, `query: lon "1e999" is not a number`},
		{"lon=NaN&lat=1", 400, "query: lon NaN is out of range -180 to 180"},
		{"lon=1&lat=NaN", 400, "query: lat NaN is out of range -90 to 90"},
		{"lon=1&lat=-Inf", 400, "query: lat -Inf is out of range -90 to 90"},
		{"lon=181&lat=1", 400, "query: lon 181 is out of range -180 to 180"},
		{"lon=40&lat=-100", 400, "query: lat -100 is out of range -90 to 90: lon and lat swapped?"},
		{"lon=1&lat=1&set=none", 404, `no set "none"; GET /v1/sets lists them`},
		{"lon=1&lat=1&lon=2", 400, `query: parameter "lon" given 2 times`},
		{"lon=1&lat=1&sets=far", 400, `query: unknown parameter "sets": use lon, lat, distance, nearest, set, generation, properties`},
		{"z=1&y=2&lon=1&lon=1", 400, `query: parameter "lon" given 2 times`},
		{"lon=1;lat=2", 400, "query: invalid semicolon separator in query"},
		{"lon=%zz", 400, `query: invalid URL escape "%zz"`},
	} {
		for range 3 { // always the same error
			tw.problem(tw.get("/v1/search?"+c.query), c.status, c.detail)
		}
	}
}

// metresNorth are so many metres to the north of the town's squares, at the longitude 3.
func metresNorth(metres float64) string { return fmt.Sprintf("lon=3&lat=%v", 10+metres/110_600) }

func TestGetSearchNear(t *testing.T) {
	tw := newTown(t, options{})
	squares, _ := tw.catalog.Get("squares")
	_, _, err := squares.Put(fence.Fence{Key: "line", Lines: geometry.MultiLine{{{Lon: 2, Lat: 10.01}, {Lon: 4, Lat: 10.01}}}})
	must(t, err)
	const one = `{"set":%q,"id":%q,"distance":%s,"properties":%s}`
	for _, c := range []struct {
		query string
		want  []string // id and distance
	}{
		{metresNorth(100) + "&distance=150", []string{"a 100."}},
		{metresNorth(100) + "&distance=90", nil},
		{metresNorth(100) + "&distance=1100", []string{"a 100.", "line 1006."}},
		{metresNorth(100) + "&nearest=1", []string{"a 100."}},
		{metresNorth(100) + "&nearest=9", []string{"a 100.", "line 1006.", "b 219", "c 9662"}},
		{metresNorth(100) + "&nearest=9&distance=2e3", []string{"a 100.", "line 1006."}},
		{metresNorth(-100) + "&distance=1", []string{"a -10"}},
		{metresNorth(-100) + "&nearest=2&properties=none", []string{"a -10", "line 120"}},
		{metresNorth(100) + "&nearest=1&set=far", []string{"c 9662"}},
		{"lon=7&lat=5&distance=1", []string{"a -3", "b -2"}},
		{"lon=0&lat=0&distance=100000", []string{"a 0"}},
	} {
		r := tw.get("/v1/search?" + c.query)
		var got struct {
			Fences []struct {
				Set, ID    string
				Distance   *json.Number
				Properties json.RawMessage
			}
		}
		if err := json.Unmarshal(r.body, &got); err != nil || r.status != 200 || len(got.Fences) != len(c.want) {
			t.Errorf("%s: %d %s, want %q", c.query, r.status, r.body, c.want)
			continue
		}
		for i, f := range got.Fences {
			if f.Distance == nil || !strings.HasPrefix(f.ID+" "+f.Distance.String(), c.want[i]) {
				t.Errorf("%s: %s, want %q", c.query, r.body, c.want)
			} else if text := fmt.Sprintf(one, f.Set, f.ID, *f.Distance, f.Properties); f.Properties != nil && !strings.Contains(string(r.body), text) {
				t.Errorf("%s: %s has no %s", c.query, r.body, text)
			}
		}
	}
	const distance, nearest = "is not a number of metres above 0 and up to 100000", "is not a whole number from 1 to 1000"
	for _, c := range []struct{ query, detail string }{
		{"distance=x", `query: distance "x" ` + distance},
		{"distance=", `query: distance "" ` + distance},
		{"distance=0", `query: distance "0" ` + distance},
		{"distance=-5", `query: distance "-5" ` + distance},
		{"distance=NaN", `query: distance "NaN" ` + distance},
		{"distance=100001", `query: distance "100001" ` + distance},
		{"nearest=0", `query: nearest "0" ` + nearest},
		{"nearest=1001", `query: nearest "1001" ` + nearest},
		{"nearest=1.5", `query: nearest "1.5" ` + nearest},
		{"nearest=", `query: nearest "" ` + nearest},
		{"nearest=1&nearest=2", `query: parameter "nearest" given 2 times`},
	} {
		tw.problem(tw.get("/v1/search?lon=1&lat=1&"+c.query), 400, c.detail)
	}
	tw.problem(tw.post("/v1/search?nearest=1", `[1,1]`), 400, `query: unknown parameter "nearest": use set, generation, properties`)
	tw.problem(tw.get("/v1/search?lon=1&lat=1&nearest=1&set=none"), 404, `no set "none"; GET /v1/sets lists them`)
	tw.problem(tw.get("/v1/search?lon=1&lat=1&nearest=1&set=far&generation=9"), 410, `set "far" is at generation 1: 9 is not kept; ask again for this one, or for none`)
}

// More fences than an answer has within a distance are refused, as the answer would not be all.
func TestSearchNearIsBounded(t *testing.T) {
	tw := newTown(t, options{})
	c := &geojson.Collection{}
	for i := range 10_001 {
		c.Fences = append(c.Fences, square(fmt.Sprint(i), 50, 20, 50.01, 20.01))
	}
	many, err := fence.NewSet("many", fence.Options{})
	must(t, err)
	_, err = many.Replace(c)
	must(t, err)
	must(t, tw.catalog.Add(many))
	at := "/v1/search?lon=50&lat=20.02&properties=none"
	tw.problem(tw.get(at+"&distance=5000"), 413, "more than 10000 fences within 5000 m: ask for a smaller distance, one set, or the nearest ones")
	if r := tw.get(at + "&distance=5000&nearest=3"); r.status != 200 || strings.Count(string(r.body), `"set":"many"`) != 3 {
		t.Errorf("%d %.200s", r.status, r.body)
	}
}

func TestPostSearch(t *testing.T) {
	tw := newTown(t, options{})
	for body, want := range map[string]string{
		`{"lon":1,"lat":1}`: inA,
		" \n[7,5,99]\n":     inAB,
		"\ufeff[7,5]":       inAB,
		`{"type":"Point","coordinates":[105,45]}`:                                            inC,
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,1]},"properties":{}}`: inA,
		`{"points":[]}`: `{"results":[]}`,
		`{"points":[[1,1],{"lon":7,"lat":5},{"type":"Point","coordinates":[50,1]}]}`: `{"results":[` + inA + `,` + inAB + `,` + inNone + `]}`,
	} {
		tw.expect(tw.post("/v1/search", body, "Content-Type", "application/json"), 200, want)
	}
	tw.expect(tw.post("/v1/search?set=far", `[7,5]`), 200, inNone)
	const point = ` send {"lon","lat"}, [lon, lat], a GeoJSON Point or a Feature with one`
	for body, detail := range map[string]string{
		``:                         `body: empty: send a point, {"points":[...]}, or one point a line as application/x-ndjson`,
		`{`:                        "body: malformed JSON: unexpected end of JSON input",
		`1`:                        "body: not a point:" + point,
		`"x"`:                      "body: not a point:" + point,
		`{}`:                       "body: lon or lat missing",
		`null`:                     "body: lon or lat missing",
		`[1]`:                      "body: a point has two coordinates, lon and lat",
		`[1,"2"]`:                  "body: not a pair of numbers",
		`[1,null]`:                 "body: a point has two coordinates, lon and lat",
		`[1,1e999]`:                "body: not a pair of numbers",
		`[1,91]`:                   "body: lat 91 is out of range -90 to 90: lon and lat swapped?",
		`{"lon":"1","lat":2}`:      "body: not a point:" + point,
		`{"lon":1}`:                "body: lon or lat missing",
		`{"points":5}`:             "points: must be an array",
		`{"points":{}}`:            "points: must be an array",
		`{"points":[[1,1],[1]]}`:   "points[1]: a point has two coordinates, lon and lat",
		`{"points":[[1,1],null]}`:  "points[1]: lon or lat missing",
		`{"points":[[1,1],[1,2]`:   "body: malformed JSON: unexpected end of JSON input",
		`{"points":[[1,1]]} trail`: "body: malformed JSON: invalid character 't' after top-level value",
		`{"type":"LineString","coordinates":[1,2]}`:                                 `body: geometry type "LineString": must be a Point`,
		`{"type":"Feature","geometry":{"type":"Polygon","coordinates":[[[1,2]]]}}`:  "body: not a point:" + point,
		`{"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[1,2,3]}}`: `body: geometry type "MultiPoint": must be a Point`,
	} {
		tw.problem(tw.post("/v1/search", body), 400, detail)
	}
	tw.problem(tw.post("/v1/search?set=none", `[1,1]`), 404, `no set "none"; GET /v1/sets lists them`)
}

// In lines, a bad line is answered in its place.
func TestSearchLines(t *testing.T) {
	tw := newTown(t, options{})
	r := tw.post("/v1/search", "\ufeff[1,1]\r\n\n{\"lon\":7,\"lat\":5}\nnonsense\n[1,99]", "Content-Type", "application/x-ndjson; charset=utf-8")
	tw.expect(r, 200, strings.Join([]string{
		inA, inAB, `{"error":"not a point: send {\"lon\",\"lat\"}, [lon, lat], a GeoJSON Point or a Feature with one"}`,
		`{"error":"lat 99 is out of range -90 to 90: lon and lat swapped?"}`,
	}, "\n"))
	if ct := r.header.Get("Content-Type"); ct != "application/x-ndjson" {
		t.Errorf("Content-Type %q", ct)
	}
	tw.expect(tw.post("/v1/search", "", "Content-Type", "application/x-ndjson"), 200, "")
}

// Points in columns are answered in columns, and their ordinals by the ids of the set's fences.
func TestSearchColumns(t *testing.T) {
	tw := newTown(t, options{})
	points := columns(7, 5, 50, 1, 1, 1)
	r := tw.post("/v1/search?set=squares&generation=1", points, "Content-Type", pointColumns)
	want := "\x01\x00\x00\x00\x00\x00\x00\x00" + "\x03\x00\x00\x00" + // generation 1, 3 points
		"\x00\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x00\x03\x00\x00\x00" + // end of none, of the first, ...
		"\x00\x00\x00\x00\x01\x00\x00\x00" + "\x00\x00\x00\x00" // a and b, a
	if r.status != 200 || string(r.body) != want || r.header.Get("Content-Type") != fenceColumns {
		t.Errorf("%d, %q, %q", r.status, r.header.Get("Content-Type"), r.body)
	}
	tw.problem(tw.post("/v1/search?set=squares", points[:47], "Content-Type", pointColumns), 400, "points: cut off: each has 16 bytes")
	tw.problem(tw.post("/v1/search", points, "Content-Type", pointColumns), 400, "set missing: an answer in columns is that of one set")
	tw.problem(tw.post("/v1/search?set=squares&generation=x", points, "Content-Type", pointColumns), 400, `query: generation "x" is not a whole number`)
	tw.expect(tw.post("/v1/search?set=squares&properties=none", `[1,1]`), 200, `{"fences":[{"set":"squares","id":"a"}]}`)
	tw.expect(tw.get("/v1/search?set=squares&properties=none&lon=1&lat=1"), 200, `{"fences":[{"set":"squares","id":"a"}]}`)
	tw.problem(tw.get("/v1/search?set=squares&generation=2&lon=1&lat=1"), 410, `set "squares" is at generation 1: 2 is not kept; ask again for this one, or for none`)
}

func columns(lonLat ...float64) string {
	var b []byte
	for _, f := range lonLat {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(f))
	}
	return string(b)
}

// A body with the maximum number of points counts in the budget, as the answer does.
func TestLargeColumnsAreHeld(t *testing.T) {
	tw := newTown(t, options{config: func(c *Config) { c.MaxBody = 2 << 20 }})
	body := columns(slices.Repeat([]float64{1, 1}, 100_000)...)
	r := tw.post("/v1/search?set=squares", body, "Content-Type", pointColumns)
	if r.status != 200 || len(r.body) != 12+4*100_001+4*100_000 {
		t.Errorf("%d, %d bytes", r.status, len(r.body))
	}
	tw.api.memory = budget.New(5 << 19) // enough for the body, but not for the answer
	tw.problem(tw.post("/v1/search?set=squares", body+columns(slices.Repeat([]float64{1, 1}, 30_000)...), "Content-Type", pointColumns),
		503, "too many large requests at once: send it again later, or in smaller parts")
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}

// A short request can have a long answer: one point in many fences with long properties, repeated.
func TestAnswersOfASearchAreBounded(t *testing.T) {
	tw := newTown(t, options{})
	set, err := fence.NewSet("heavy", fence.Options{})
	must(t, err)
	f := square("h", 0, 0, 10, 10)
	f.Properties = json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	_, err = set.Replace(&geojson.Collection{Fences: []fence.Fence{f}})
	must(t, err)
	must(t, tw.catalog.Add(set))
	body := `{"points":[` + strings.Repeat("[1,1],", 99) + `[1,1]]}`
	tw.problem(tw.post("/v1/search?set=heavy", body), 413, fmt.Sprintf("the answer is larger than %d bytes: ask for fewer points, or one set", lookup.MaxAnswer))
	tw.expect(tw.get("/v1/search?set=heavy&lon=1&lat=1"), 200, "")
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}
