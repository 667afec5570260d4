package httpapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"paddock/internal/process/keyring"
)

// Ordinals keep their meaning when fences are added and removed.
func TestListFences(t *testing.T) {
	tw := newTown(t, options{})
	const path = "/v1/sets/squares/fences"
	tw.expect(tw.get(path), 200, `{"set":"squares","generation":1,"fences":[{"ordinal":0,"id":"a"},{"ordinal":1,"id":"b"}]}`)
	tw.expect(tw.get(path+"?properties=all&ordinals=1"), 200, `{"set":"squares","generation":1,"fences":[{"ordinal":1,"id":"b","properties":{"name":"b"}}]}`)
	tag := tw.get(path).header.Get("ETag")
	tw.expect(tw.get(path, "If-None-Match", tag), 304, "")

	tw.expect(tw.send(request{method: http.MethodDelete, path: path + "/a"}), 204, "")
	tw.expect(tw.send(request{method: http.MethodPut, path: path + "/c", body: triangle}), 201, "")
	tw.expect(tw.get(path, "If-None-Match", tag), 200, `{"set":"squares","generation":3,"fences":[{"ordinal":1,"id":"b"},{"ordinal":2,"id":"c"}]}`)
	tw.expect(tw.get(path+"?ordinals=2,0,1,9"), 200, `{"set":"squares","generation":3,"fences":[{"ordinal":2,"id":"c"},{"ordinal":1,"id":"b"}]}`)

	tw.problem(tw.get("/v1/sets/none/fences"), 404, `no set "none"; GET /v1/sets lists them`)
	for _, bad := range []string{"", "a", "1,", "-1", "4294967296"} {
		tw.expect(tw.get(path+"?ordinals="+bad), 400, "")
	}
	tw.problem(tw.get(path+"?ordinals=1,x"), 400, `query: ordinals: "x" is not a whole number below 2^32`)
	tw.expect(tw.send(request{method: http.MethodPut, path: path + "/d-7", body: strings.Replace(triangle, `"properties":{`, `"properties":{"DistrictName":"North Harbour",`, 1)}), 201, "")
	tw.expect(tw.get(path+"?text=harb"), 200, `{"set":"squares","generation":4,"fences":[{"ordinal":3,"id":"d-7"}]}`)
	tw.expect(tw.get(path+"?text=D-7&limit=1"), 200, `{"set":"squares","generation":4,"fences":[{"ordinal":3,"id":"d-7"}]}`)
	tw.expect(tw.get(path+"?text=b&limit=1"), 200, `{"set":"squares","generation":4,"fences":[{"ordinal":1,"id":"b"}]}`)
	tw.expect(tw.get(path+"?text=nothing"), 200, `{"set":"squares","generation":4,"fences":[]}`)
	tw.problem(tw.get(path+"?text="), 400, "query: text is empty")
	tw.problem(tw.get(path+"?limit=3"), 400, "query: text is empty")
	tw.expect(tw.get(path+"?text=b&limit=0"), 400, "")
	tw.problem(tw.get(path+"?properties=some"), 400, `query: properties "some": use all or none`)
}

// A line and a corridor come back as they were put. A point is found in the corridor, and the line
// by its distance.
func TestLinesAreFences(t *testing.T) {
	tw := newTown(t, options{})
	const route = `{"type":"Feature","id":%q,"properties":%s,"geometry":{"type":"LineString","coordinates":[[40,20],[40.01,20],[40.01,20.01]]}}`
	for id, properties := range map[string]string{"line": `{"name":"Line"}`, "route": `{"paddock:buffer":50}`} {
		body, path := fmt.Sprintf(route, id, properties), "/v1/sets/far/fences/"+id
		tw.expect(tw.send(request{method: http.MethodPut, path: path, body: body}), 201, "")
		tw.expect(tw.get(path), 200, body)
	}
	tw.expect(tw.get("/v1/search?lon=40.005&lat=20.0004&properties=none"), 200, `{"fences":[{"set":"far","id":"route"}]}`)
	tw.expect(tw.get("/v1/search?lon=40.005&lat=20.0004&properties=none&distance=45"), 200, `{"fences":[{"set":"far","id":"route","distance":-5.718},{"set":"far","id":"line","distance":44.282}]}`)
	if r := tw.get("/v1/sets/far"); r.status != 200 || strings.Count(string(r.body), "LineString") != 2 {
		t.Errorf("%d %s", r.status, r.body)
	}
	const bad = `{"type":"Feature","properties":{"paddock:buffer":"50 m"},"geometry":{"type":"LineString","coordinates":[[40,20],[41,20]]}}`
	if r := tw.send(request{method: http.MethodPut, path: "/v1/sets/far/fences/bad", body: bad}); r.status != 422 && r.status != 400 || !strings.Contains(string(r.body), "paddock:buffer is a string, not a number of metres") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A fence may have settings of its own. One that is invalid is refused, and is a finding where a
// whole set is put.
func TestSettingsOfOneFence(t *testing.T) {
	tw := newTown(t, options{})
	const square = `{"type":"Feature","id":"x","properties":%s,"geometry":{"type":"Polygon","coordinates":[[[40,20],[41,20],[41,21],[40,21],[40,20]]]}}`
	put := func(properties string) reply {
		return tw.send(request{method: http.MethodPut, path: "/v1/sets/far/fences/x", body: fmt.Sprintf(square, properties)})
	}
	tw.problem(put(`{"paddock:metres":"wide"}`), 400, `properties: paddock:metres: "wide" is not a number from 0 to 100000`)
	tw.problem(put(`{"paddock:ceiling":"high"}`), 400, `properties: paddock:ceiling: "high" is not a number of metres from -100000 to 100000`)
	tw.expect(put(`{"paddock:floor":100,"paddock:ceiling":200.5}`), 201, "")
	object := func(altitude string, at int) string {
		tw.Helper()
		tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"drone","lon":40.5,"lat":20.5,"t":%d,"altitude":%s}`, int64(tw.begun)+int64(at), altitude)), 200, "")
		r := tw.get("/v1/objects/drone")
		if !strings.Contains(string(r.body), `"altitude":`+altitude+`,`) {
			t.Errorf("the object has no altitude: %s", r.body)
		}
		return string(r.body)
	}
	for i, c := range []struct {
		altitude string
		in       bool
	}{{"99.5", false}, {"100", true}, {"200", true}, {"200.5", false}} {
		if got := object(c.altitude, i); strings.Contains(got, `"fence":"x"`) != c.in {
			t.Errorf("at %s: %s", c.altitude, got)
		}
	}
	doc := `{"type":"FeatureCollection","features":[` + fmt.Sprintf(square, `{"paddock:fixes":0}`) + `]}`
	r := tw.send(request{method: http.MethodPut, path: "/v1/sets/other", body: doc})
	if r.status != 201 || !strings.Contains(string(r.body), `"fence":"x","code":"invalid-setting","reason":"paddock:fixes: \"0\" is not a whole number from 1 to 100"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// Circles and boxes are fences like others: the fast path and net/http find them, and nothing
// outside of them.
func TestCirclesAndBoxesAreFound(t *testing.T) {
	tw := newTown(t, options{})
	server := NewServer(tw.api, slog.New(slog.DiscardHandler))
	short, long := open(t, server), open(t, NewFallback(tw.api, slog.New(slog.DiscardHandler)))
	asked := uint64(0)
	for id, shape := range map[string]struct {
		body    string
		in, out [2]float64
	}{
		"circle":   {`{"type":"Feature","properties":{},"circle":{"lon":40,"lat":20,"radius_m":1000}}`, [2]float64{40.009, 20}, [2]float64{40.01, 20}},
		"point":    {`{"type":"Feature","properties":{"radius":1000},"geometry":{"type":"Point","coordinates":[50,20]}}`, [2]float64{50, 20.0089}, [2]float64{50, 20.0091}},
		"box":      {`{"type":"Feature","properties":{},"bbox":[60,20,61,21]}`, [2]float64{60.99, 20.01}, [2]float64{61.01, 20.01}},
		"dateline": {`{"type":"Feature","properties":{},"bbox":[179,20,-179,21]}`, [2]float64{-179.5, 20.5}, [2]float64{-178.5, 20.5}},
	} {
		tw.expect(tw.send(request{method: http.MethodPut, path: "/v1/sets/squares/fences/" + id, body: shape.body}), 201, "")
		for found, at := range map[string][2]float64{`"id":"` + id + `"`: shape.in, `"fences":[]}`: shape.out} {
			for _, text := range []string{
				getting(fmt.Sprintf("/v1/search?lon=%v&lat=%v", at[0], at[1])),
				posting("/v1/search?set=squares", fmt.Sprintf(`{"lon":%v,"lat":%v}`, at[0], at[1])),
				posting("/v1/search", fmt.Sprintf(`{"type":"Feature","geometry":{"type":"Point","coordinates":[%v,%v]}}`, at[0], at[1])),
			} {
				got, want := short.ask(text), long.ask(text)
				if asked++; got != want || !strings.Contains(got, found) {
					t.Errorf("%s: %.200q:\ngot  %s\nwant %s", id, text, got, want)
				}
			}
		}
	}
	if n := server.Stats().Requests; n != asked {
		t.Errorf("%d of %d took the fast path", n, asked)
	}
}

// A dry run of a fence tells what a change would find, with the place, refuses what a change would
// refuse, and changes nothing.
func TestDryRunOfAFence(t *testing.T) {
	tw := newTown(t, options{})
	const (
		bow    = `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[40,20],[42,22],[42,20],[40,22],[40,20]]]}}`
		path   = "/v1/sets/far/fences/bow"
		found  = `"findings":[{"feature":-1,"fence":"bow","code":"self-crossing","reason":"ring 0: two of its edges cross","at":[41,21],"refused":false}]`
		badLat = `{"type":"Feature","properties":{},"geometry":{"type":"Polygon","coordinates":[[[40,20],[41,20],[41,91],[40,20]]]}}`
	)
	before := string(tw.get("/v1/sets/far").body)
	try := func(query, body string, headers ...string) reply {
		t.Helper()
		return tw.send(request{method: http.MethodPut, path: path + query, body: body, headers: headers})
	}
	r := try("?dry-run=1", bow, "If-None-Match", "*")
	if text := string(r.body); r.status != 200 || !strings.Contains(text, found) || !strings.Contains(text, `"dry_run":true`) {
		t.Errorf("%d %s", r.status, text)
	}
	for _, dry := range []string{"?dry-run=1", ""} {
		r := try(dry, badLat)
		if text := string(r.body); r.status != 400 || !strings.Contains(text, `"code":"out-of-range"`) || !strings.Contains(text, `"at":[41,91],"refused":true`) {
			t.Errorf("%q: %d %s", dry, r.status, text)
		}
		r = try(dry, strings.Replace(bow, "{}", `{"paddock:fixes":0}`, 1))
		if text := string(r.body); r.status != 400 || !strings.Contains(text, `"code":"invalid-setting"`) || !strings.Contains(text, `"code":"self-crossing"`) {
			t.Errorf("%q: %d %s", dry, r.status, text)
		}
		tw.expect(try(dry, bow, "If-Match", "*"), 412, "")
	}
	tw.expect(try("?dry-run=yes", bow), 400, "")

	// The set may be one that is still to be made.
	first := func(set, body string, headers ...string) reply {
		t.Helper()
		return tw.send(request{method: http.MethodPut, path: "/v1/sets/" + set + "/fences/bow?dry-run=1", body: body, headers: headers})
	}
	r = first("unmade", bow, "If-None-Match", "*")
	if text := string(r.body); r.status != 200 || !strings.Contains(text, found) || !strings.Contains(text, `"set":"unmade","id":"bow","generation":0,"etag":"","dry_run":true`) {
		t.Errorf("%d %s", r.status, text)
	}
	if r := first("unmade", badLat); r.status != 400 || !strings.Contains(string(r.body), `"code":"out-of-range"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	tw.expect(first("unmade", bow, "If-Match", "*"), 412, "")
	tw.expect(first("No-Name", bow), 400, "")
	tw.expect(try("?dry-run=1&x=1", bow), 400, "")
	tw.expect(tw.get("/v1/sets/unmade"), 404, "")
	tw.expect(tw.send(request{method: http.MethodPut, path: "/v1/sets/unmade/fences/bow", body: bow}), 404, "")
	tw.expect(tw.get(path), 404, "")
	if now := string(tw.get("/v1/sets/far").body); now != before {
		t.Errorf("a dry run made %s of %s", now, before)
	}
	if r := try("", bow); r.status != 201 || !strings.Contains(string(r.body), found) || strings.Contains(string(r.body), "dry_run") {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// A search among fences ends with its request.
func TestSearchForFencesEndsWithItsRequest(t *testing.T) {
	tw := newTown(t, options{emptyCatalog: true})
	tw.addSquares(1000)
	ctx, cancel := context.WithCancel(keyring.With(t.Context(), keyring.Everything("test")))
	defer cancel()
	for _, gone := range []bool{false, true} {
		if gone {
			cancel()
		}
		r, w := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/sets/many/fences?text=f999", nil), httptest.NewRecorder()
		r.SetPathValue("set", "many")
		must(t, tw.api.getFences(w, r))
		if found := strings.Contains(w.Body.String(), `"f999"`); found == gone {
			t.Errorf("the client is gone: %v; the last fence was looked at: %v", gone, found)
		}
	}
}
