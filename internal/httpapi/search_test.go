package httpapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/internal/lookup"
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
		{"lon=1&lat=1&sets=far", 400, `query: unknown parameter "sets": use lon, lat, set`},
		{"z=1&y=2&lon=1&lon=1", 400, `query: parameter "lon" given 2 times`},
		{"lon=1;lat=2", 400, "query: invalid semicolon separator in query"},
		{"lon=%zz", 400, `query: invalid URL escape "%zz"`},
	} {
		for range 3 { // always the same one
			tw.problem(tw.get("/v1/search?"+c.query), c.status, c.detail)
		}
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

// In lines, a bad one is answered in its place.
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

// A short request can have a long answer: one point in many fences with long
// properties, asked for often.
func TestAnswersOfASearchAreBounded(t *testing.T) {
	tw := newTown(t, options{})
	set, err := fence.NewSet("heavy", fence.Options{})
	must(t, err)
	f := square("h", 0, 0, 10, 10)
	f.Properties = json.RawMessage(`{"x":"` + strings.Repeat("x", 1<<20) + `"}`)
	_, err = set.Replace(&fence.Collection{Fences: []fence.Fence{f}})
	must(t, err)
	must(t, tw.catalog.Add(set))
	body := `{"points":[` + strings.Repeat("[1,1],", 99) + `[1,1]]}`
	tw.problem(tw.post("/v1/search?set=heavy", body), 413, fmt.Sprintf("the answer is larger than %d bytes: ask for fewer points, or one set", lookup.MaxAnswer))
	tw.expect(tw.get("/v1/search?set=heavy&lon=1&lat=1"), 200, "")
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are still held", used)
	}
}
