package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/subjects"
)

func TestPostPositions(t *testing.T) {
	tw := newTown(t, options{})
	const ok = `{"accepted":1,"late":0,"rejected":[]}`
	tw.expect(tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`), 200, ok)
	tw.expect(tw.post("/v1/positions", `[{"id":"b","lon":1,"lat":2}]`, "Content-Type", "application/json"), 200, ok)
	tw.expect(tw.post("/v1/positions", `{"id":"c","lon":1,"lat":2}`, "Content-Type", "application/x-www-form-urlencoded"), 200, ok) // curl -d
	tw.expect(tw.post("/v1/positions", "{\"id\":\"d\",\"lon\":1,\"lat\":2}\n{\"id\":\"e\",\"lon\":1}\n", "Content-Type", "application/x-ndjson"), 200,
		`{"accepted":1,"late":0,"rejected":[{"index":1,"reason":"lat: missing"}]}`)
	tw.expect(tw.post("/v1/positions?fleet=trams&id_property=vehicle&time_property=ts",
		`{"type":"Feature","geometry":{"type":"Point","coordinates":[1,2]},"properties":{"vehicle":"f","ts":1773314205250}}`,
		"Content-Type", "application/geo+json"), 200, ok)
	if o := decode[objectJSON](tw, tw.get("/v1/objects/f?fleet=trams")); o.T != "2026-03-12T11:16:45.250Z" {
		t.Errorf("got %+v", o)
	}
	tw.expect(tw.post("/v1/positions", `{"id":"h","lon":1,"lat":2,"timestamp":5}`), 200,
		`{"accepted":1,"late":0,"rejected":[],"ignored":["timestamp"],"ignored_count":1,"hints":["timestamp: did you mean t?"]}`)
	tw.expect(tw.post("/v1/positions", `[]`), 200, `{"accepted":0,"late":0,"rejected":[]}`)
	at := tw.begun
	same := fmt.Sprintf(`{"id":"g","lon":1,"lat":2,"t":%d}`, at)
	tw.expect(tw.post("/v1/positions", same), 200, ok)
	tw.expect(tw.post("/v1/positions", same), 200, `{"accepted":0,"late":1,"rejected":[],`+
		`"late_positions":[{"index":0,"reason":"not newer than `+events.FormatTime(at.Time())+`, which this object has"}]}`) // sending twice is allowed
}

func TestRefusedPositions(t *testing.T) {
	tw := newTown(t, options{})
	tw.expect(tw.post("/v1/positions", `{"id":"e","lon":1}`), 400, `{"accepted":0,"late":0,"rejected":[{"index":0,"reason":"lat: missing"}]}`)
	tw.problem(tw.post("/v1/positions", `{"id":"e"`), 400, "body: malformed JSON: unexpected end of JSON input at byte 9")
	tw.problem(tw.post("/v1/positions", ``), 400, "body: empty body: send a position, an array, a GeoJSON Feature or FeatureCollection, or one JSON object a line")
	tw.problem(tw.post("/v1/positions", `{}`, "Content-Type", "a/b/c"), 415, "Content-Type: mime: unexpected content after media subtype")
	tw.problem(tw.post("/v1/positions", `{}`, "Content-Encoding", "gzip"), 415, `Content-Encoding: "gzip": send the body as it is`)
	tw.problem(tw.post("/v1/positions?fleets=x", `{}`), 400, `query: unknown parameter "fleets": use fleet, id_property, time_property`)
	tw.problem(tw.post("/v1/positions?fleet="+strings.Repeat("x", 257), `{}`), 400, "query: fleet: 257 bytes, the limit is 256")
	tw.problem(tw.post("/v1/positions?fleet=%FF", `{}`), 400, "query: fleet: not valid UTF-8")
	r := tw.send(request{method: "PUT", path: "/v1/positions"})
	tw.problem(r, 405, "this path takes GET, HEAD, POST")
	if r.header.Get("Allow") != "GET, HEAD, POST" {
		t.Errorf("Allow %q", r.header.Get("Allow"))
	}
}

// Known objects are still updated when there is no room for new ones.
func TestNoRoomForNewObjects(t *testing.T) {
	tw := newTown(t, options{track: track.Options{MaxObjects: 3}}) // one for each partition
	full, known := 0, ""
	taken := map[int]bool{}
	const sent = 90
	for i := range sent {
		taken[subjects.Partition("default", fmt.Sprint(i))] = true
		r := tw.post("/v1/positions", fmt.Sprintf(`{"id":%d,"lon":1,"lat":1}`, i))
		switch r.status {
		case http.StatusOK:
			known = fmt.Sprint(i)
		case http.StatusTooManyRequests:
			full++
			tw.expect(r, 429, `{"accepted":0,"late":0,"rejected":[{"index":0,"reason":"too many objects: the limit is reached and this one is new"}]}`)
			if r.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
		default:
			t.Fatalf("%d %s", r.status, r.body)
		}
	}
	if want := sent - len(taken); full != want || want == 0 {
		t.Errorf("%d refused, want %d", full, want)
	}
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":%s,"lon":2,"lat":1,"t":%d}`, known, tw.begun+3_610_000)), 200, `{"accepted":1,"late":0,"rejected":[]}`)
}

func TestNoPositionsAfterTheEnd(t *testing.T) {
	tw := newTown(t, options{})
	tw.api.cfg.Pipeline.Close(context.Background())
	r := tw.post("/v1/positions", `{"id":"a","lon":1,"lat":2}`)
	tw.problem(r, 503, "shutting down")
	if r.header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
}

func TestObjects(t *testing.T) {
	tw := newTown(t, options{})
	for i, id := range []string{"c", "a", "é/1", "b2", "b1"} {
		tw.move(id, i, 1+float64(i), 5)
	}
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"a","fleet":"z","lon":50,"lat":5,"t":%d,"speed":3.5,"heading":90,"accuracy":4,"props":{"line":"M1"}}`, tw.begun)), 200, "")
	tw.move("a", 9, 7, 5)
	list := func(query string) (ids []string, next string) {
		tw.Helper()
		page := decode[objectPage](tw, tw.get("/v1/objects"+query))
		for _, o := range page.Objects {
			ids = append(ids, o.Fleet+"/"+o.ID)
		}
		return ids, page.Next
	}
	for query, want := range map[string]string{
		"":                                   "[default/a default/b1 default/b2 default/c default/é/1 z/a]",
		"?fleet=z":                           "[z/a]",
		"?prefix=b":                          "[default/b1 default/b2]",
		"?set=squares":                       "[default/a default/b1 default/b2 default/c default/é/1]",
		"?set=squares&fence=b":               "[default/a default/b1]",
		"?set=squares&fence=b&prefix=b":      "[default/b1]",
		"?set=far":                           "[]",
		"?set=none":                          "[]",
		"?fleet=none":                        "[]",
		"?limit=6":                           "[default/a default/b1 default/b2 default/c default/é/1 z/a]",
		"?fleet=default&prefix=%C3%A9&set=&": "[default/é/1]",
	} {
		if ids, next := list(query); fmt.Sprint(ids) != want || next != "" {
			t.Errorf("%s: %v, next %q", query, ids, next)
		}
	}
	for limit := 1; limit < 6; limit++ { // the pages together are the list
		var all []string
		after := ""
		for {
			ids, next := list(fmt.Sprintf("?limit=%d&after=%s", limit, after))
			if all = append(all, ids...); next == "" {
				break
			}
			if len(ids) != limit {
				t.Errorf("a page of %d, not %d", len(ids), limit)
			}
			after = next
		}
		if fmt.Sprint(all) != "[default/a default/b1 default/b2 default/c default/é/1 z/a]" {
			t.Errorf("limit %d: %v", limit, all)
		}
	}
	for query, detail := range map[string]string{
		"?limit=0": `query: limit "0" is not a number from 1 to 10000`, "?limit=10001": `query: limit "10001" is not a number from 1 to 10000`,
		"?limit=x": `query: limit "x" is not a number from 1 to 10000`, "?after=*": "query: after is not the next of an earlier answer",
		"?fence=a": "query: fence needs its set", "?sort=id": `query: unknown parameter "sort": use fleet, prefix, set, fence, bbox, near, since, at, limit, after`,
	} {
		tw.problem(tw.get("/v1/objects"+query), 400, detail)
	}
}

func TestObject(t *testing.T) {
	tw := newTown(t, options{})
	at := int64(tw.begun)
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"v 1","fleet":"z","lon":1,"lat":5,"t":%d}`, at)), 200, "")
	tw.expect(tw.post("/v1/positions", fmt.Sprintf(`{"id":"v 1","fleet":"z","lon":7,"lat":5,"t":%d,"speed":3.5,"heading":90,"accuracy":4,"props":{"line": "M1"}}`, at+6000)), 200, "")
	r := tw.get("/v1/objects/v%201?fleet=z")
	o := decode[objectJSON](tw, r)
	seen := o.Seen
	since, now := track.Millis(at+4000).Time().Format("2006-01-02T15:04:05.000Z07:00"), track.Millis(at+6000).Time().Format("2006-01-02T15:04:05.000Z07:00")
	inSince := o.Fences[0].Since // the first position put it there: no event began this visit
	tw.expect(r, 200, `{"id":"v 1","fleet":"z","lon":7,"lat":5,"t":"`+now+`","seen":"`+seen+`","state":"moving","accuracy":4,"speed":3.5,"heading":90,"props":{"line":"M1"},"fences":[`+
		`{"set":"squares","fence":"a","since":"`+inSince+`","visit":"z/v%201/0"},{"set":"squares","fence":"b","since":"`+since+`","visit":"z/v%201/1"}]}`)
	tw.problem(tw.get("/v1/objects/v%201"), 404, `no object "v 1" in fleet "default"`)
	tw.problem(tw.get("/v1/objects/nobody?fleet=z"), 404, `no object "nobody" in fleet "z"`)
	tw.problem(tw.get("/v1/objects/"), 404, "no endpoint /v1/objects/; GET /v1/openapi.json lists them")
}

// A removed object leaves its fences, and is forgotten.
func TestRemoveObject(t *testing.T) {
	tw := newTown(t, options{track: track.Options{MaxObjects: 2}})
	remove := func(path string) reply {
		tw.Helper()
		return tw.send(request{method: http.MethodDelete, path: path})
	}
	tw.move("v 1", 0, -1, 5)
	tw.move("v 1", 2, 7, 5)
	tw.expect(tw.post("/v1/positions?fleet=z", `{"id":"v 1","lon":1,"lat":5}`), 200, "")
	tw.problem(remove("/v1/objects/w"), 404, `no object "w" in fleet "default"`)
	tw.problem(remove("/v1/objects/v%201?set=squares"), 400, `query: unknown parameter "set": use fleet, history`)
	tw.expect(remove("/v1/objects/v%201"), 204, "")
	var got []string
	for line := range strings.Lines(string(tw.get("/v1/events?wait=0").body)) {
		var e cloudEvent
		must(t, json.Unmarshal([]byte(line), &e))
		got = append(got, e.String()+" "+e.Data.Reason)
	}
	if want := "[v%201/1 enter squares/a move v%201/2 enter squares/b move v%201/3 exit squares/a object_removed v%201/4 exit squares/b object_removed]"; fmt.Sprint(got) != want {
		t.Errorf("got  %v\nwant %s", got, want)
	}
	tw.problem(tw.get("/v1/objects/v%201"), 404, `no object "v 1" in fleet "default"`)
	tw.problem(remove("/v1/objects/v%201"), 404, `no object "v 1" in fleet "default"`)
	tw.expect(tw.get("/v1/objects/v%201?fleet=z"), 200, "") // another one
	tw.move("new", 0, 1, 5)                                 // there is room
	tw.expect(remove("/v1/objects/v%201?fleet=z"), 204, "")
	tw.move("v 1", 1, 7, 5) // it is known again, at an earlier time than before
	if page := decode[objectPage](tw, tw.get("/v1/objects")); len(page.Objects) != 2 {
		t.Errorf("%+v", page)
	}
	tw.problem(tw.send(request{method: http.MethodDelete, path: "/v1/objects/new", headers: []string{"Origin", "https://elsewhere.example", "Sec-Fetch-Site", "cross-site"}}),
		403, "cross-origin request from a browser")
	tw.api.cfg.Pipeline.Close(t.Context())
	tw.problem(remove("/v1/objects/new"), 503, "shutting down")
}

// A page ends early if its objects are large.
func TestLargeObjectsMakeSmallPages(t *testing.T) {
	tw := newTown(t, options{})
	var lines strings.Builder
	props := `{"x":"` + strings.Repeat("x", 16_000) + `"}`
	for i := range 400 {
		fmt.Fprintf(&lines, `{"id":%d,"lon":1,"lat":1,"props":%s}`+"\n", i, props)
	}
	tw.expect(tw.post("/v1/positions", lines.String()), 200, "")
	seen, after := 0, ""
	for pages := 0; ; pages++ {
		r := tw.get("/v1/objects?limit=10000&after=" + after)
		if len(r.body) > maxPageProps+100_000 {
			t.Errorf("a page of %d bytes", len(r.body))
		}
		page := decode[objectPage](tw, r)
		seen += len(page.Objects)
		if after = page.Next; after == "" {
			if pages != 1 {
				t.Errorf("%d pages", pages+1)
			}
			break
		}
	}
	if seen != 400 {
		t.Errorf("saw %d of 400", seen)
	}
}
