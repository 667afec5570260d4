package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
	"paddock/internal/process/keyring"
)

// withPast returns a history of two objects that move in and out of a fence.
func withPast(t *testing.T) *history.History {
	t.Helper()
	var positions []track.Position
	for n := range 60 {
		for _, id := range []string{"v", "w"} {
			positions = append(positions, track.Position{
				Fleet: "default", ID: id, Lon: float64(n), Lat: 5, Time: track.Millis(n) * 60_000,
				Speed: track.Measured(2.5), Props: json.RawMessage(`{"line":"M1"}`),
			})
		}
	}
	return pastOf(t, positions)
}

// pastOf returns a history of positions, and of the visits to a fence.
func pastOf(t *testing.T, positions []track.Position) *history.History {
	t.Helper()
	catalog := &fence.Catalog{}
	set, err := fence.NewSet("squares", fence.Options{})
	must(t, err)
	_, err = set.Replace(&geojson.Collection{Fences: []fence.Fence{square("a", 0, 0, 10, 10)}})
	must(t, err)
	must(t, catalog.Add(set))
	log := journal.NewMemory()
	fences, err := views.Open(views.Options{Catalog: catalog, Journal: log})
	must(t, err)
	p, err := ingest.Open(t.Context(), ingest.Config{Journal: log, Fences: fences, Track: track.Options{Initial: track.InitialEnter}})
	must(t, err)
	p.Start(logOnly{events.NewLog(1000, 1<<20, "run1")})
	_, err = p.Submit(t.Context(), &ingest.Batch{Positions: positions})
	must(t, err)
	h, err := history.Open(history.Options{Journal: log})
	must(t, err)
	ctx, stop := context.WithCancel(context.Background())
	ran := make(chan error)
	go func() { ran <- h.Run(ctx) }()
	t.Cleanup(func() {
		p.Close(context.Background())
		stop()
		must(t, <-ran)
	})
	return h
}

// Rules are tried on the past of an object with a key that may read objects, and no other.
func TestDryRunsOnThePastNeedAKeyForObjects(t *testing.T) {
	ring, err := keyring.Open(nil)
	must(t, err)
	defer ring.Close()
	must(t, ring.Add(keyring.Key{Name: "rules", SHA256: keyring.DigestOf("r"), Verbs: []string{"rules:write"}}))
	must(t, ring.Add(keyring.Key{Name: "both", SHA256: keyring.DigestOf("b"), Verbs: []string{"rules:write", "objects:read"}}))
	h := withPast(t)
	tw := newTown(t, options{config: func(c *Config) { c.History, c.Keys = h, ring }})
	const body = `{"rules":[{"id":"a","set":"squares"}],"history":{"object":"v","from":"1970-01-01T00:00:00Z","to":"1970-01-01T01:00:00Z"}}`
	if r := tw.post("/v1/rules/dry-run", body, "Authorization", "Bearer b"); r.status != 200 || !strings.Contains(string(r.body), `"point"`) {
		t.Errorf("%d %s", r.status, r.body)
	}
	tw.problem(tw.post("/v1/rules/dry-run", body, "Authorization", "Bearer r"),
		403, `the key "rules" may not do this with the past of an object: it needs objects:read`)
	tw.expect(tw.post("/v1/rules/dry-run", `{"positions":[{"id":"v","lon":1,"lat":1,"t":0}]}`, "Authorization", "Bearer r"), 200, "")
}

// A past position without properties leaves those of the object as they are, as it did then.
func TestDryRunsOnThePastKeepProperties(t *testing.T) {
	h := pastOf(t, []track.Position{
		{Fleet: "default", ID: "v", Lon: 50, Lat: 5, Time: 1000, Props: json.RawMessage(`{"line":"M1"}`)},
		{Fleet: "default", ID: "v", Lon: 5, Lat: 5, Time: 2000},
	})
	tw := newTown(t, options{config: func(c *Config) { c.History = h }})
	r := tw.post("/v1/rules/dry-run", `{"rules":[{"id":"a","set":"squares","when":"object.line == \"M1\""}],"policy":"raw",
		"history":{"object":"v","from":"1970-01-01T00:00:00Z","to":"1970-01-01T01:00:00Z"}}`)
	if !strings.Contains(string(r.body), `"properties":{"line":"M1"}`) {
		t.Errorf("%d %s", r.status, r.body)
	}
}

// Every answer about the past is as the document describes it.
func TestThePast(t *testing.T) {
	h := withPast(t)
	tw := newTown(t, options{config: func(c *Config) { c.History = h }})
	for _, path := range []string{
		"/v1/objects/v/track", "/v1/objects/v/track?limit=1", "/v1/objects/none/track", "/v1/objects/v/track?format=ndjson&limit=7",
		"/v1/objects/v/track?format=csv", "/v1/objects/v/track?format=gpx", "/v1/visits", "/v1/visits?limit=1", "/v1/visits?format=csv",
		"/v1/objects?at=1970-01-01T00:10:00Z", "/v1/objects?at=1970-01-01T00:10:00Z&limit=1",
	} {
		tw.expect(tw.get(path), 200, "")
	}
	for range 2 { // the second page is the last one
		r := tw.get("/v1/objects?at=1970-01-01T00:10:30Z&limit=1")
		page := decode[objectPage](tw, r)
		r = tw.get("/v1/objects?at=1970-01-01T00:10:30Z&limit=1&after=" + page.Next)
		last := decode[objectPage](tw, r)
		if o := last.Objects; len(o) != 1 || o[0].ID != "w" || o[0].Lon != 10 || last.Next != "" {
			t.Errorf("%s", r.body)
		}
	}
	r := tw.get("/v1/objects/v/track?tolerance=1")
	if f := decode[struct{ Properties struct{ Times []string } }](tw, r); len(f.Properties.Times) != 2 {
		t.Errorf("a straight line is %s", r.body)
	}
	tw.expect(tw.send(request{method: "DELETE", path: "/v1/objects/v?history=1"}), 204, "")
	tw.problem(tw.send(request{method: "DELETE", path: "/v1/objects/v?history=1"}), 404, `no object "v" in fleet "default"`)
	tw.problem(tw.send(request{method: "DELETE", path: "/v1/objects/v?history=2"}), 400, `query: history "2": use 0 or 1`)
}

// The fleet of some time comes in columns: in an area, of a fleet, thinned, page after page.
func TestPositionsOfATime(t *testing.T) {
	h := withPast(t)
	tw := newTown(t, options{config: func(c *Config) { c.History = h }})
	const anHour = "?from=1970-01-01T00:00:00Z&to=1970-01-01T01:00:00Z"
	for _, c := range []struct{ query, want string }{
		{anHour + "&every=20m&object=v", `"every_ms":1200000,"objects":[{"id":"v","fleet":"default","t":[0,1200000,2400000],"lon":[0,20,40],"lat":[5,5,5],"speed":[2.5,2.5,2.5]}]}`},
		{"?from=1970-01-01T00:09:30Z&to=1970-01-01T00:11:30Z&object=w", `"objects":[{"id":"w","fleet":"default","t":[-30000,30000,90000],"lon":[9,10,11],"lat":[5,5,5],`},
		{"?from=1970-01-01T00:09:30Z&to=1970-01-01T00:09:59Z&back=0s", `"objects":[]}`},
		{"?from=1970-01-01T00:20:00Z&to=1970-01-01T00:21:00Z&bbox=19.5,4,20.5,6&limit=1", `"objects":[{"id":"v","fleet":"default","t":[-60000,0],`},
		{anHour + "&bbox=70,4,80,6", `"objects":[]}`},
		{"?at=1970-01-01T00:10:30Z", `{"from":"1970-01-01T00:10:30.000Z","to":"1970-01-01T00:10:30.000Z","every_ms":0,"objects":[{"id":"v","fleet":"default","t":[-30000],"lon":[10],"lat":[5],"speed":[2.5]},{"id":"w",`},
		{"?at=1970-01-01T00:10:00Z&back=1s", `"t":[0],"lon":[10]`},
		{"?at=1970-01-01T01:30:00Z", `"objects":[]}`},
		{"?at=1970-01-01T01:30:00Z&back=40m&fleet=default", `"t":[-1860000],"lon":[59]`},
		{"?at=1970-01-01T00:10:00Z&fleet=none", `"objects":[]}`},
	} {
		r := tw.get("/v1/positions" + c.query)
		if tw.expect(r, 200, ""); !strings.Contains(string(r.body), c.want) {
			t.Errorf("%s: %s, want %s", c.query, r.body, c.want)
		}
	}
	type page struct{ Next string }
	r := tw.get("/v1/positions" + anHour + "&limit=60")
	next := decode[page](tw, r).Next
	if next == "" || r.header.Get("Paddock-Next") != next || strings.Contains(string(r.body), `"w"`) {
		t.Fatalf("the first page is %s", r.body)
	}
	r = tw.get("/v1/positions" + anHour + "&limit=60&after=" + next)
	if decode[page](tw, r).Next != "" || !strings.Contains(string(r.body), `"w"`) || strings.Contains(string(r.body), `"v"`) {
		t.Errorf("the second page is %s", r.body)
	}
	for query, detail := range map[string]string{
		"":                            "query: from missing: give from and to, or at",
		"?from=1970-01-01T00:00:00Z":  "query: to missing: give from and to, or at",
		anHour + "&every=1ms":         `query: every "1ms" is not a duration from 1s to 1h0m0s, such as 30s or 10m`,
		anHour + "&back=48h":          `query: back "48h" is not a duration from 0s to 24h0m0s, such as 30s or 10m`,
		anHour + "&at=now":            "query: at goes without from, to and every",
		anHour + "&bbox=1,2,3":        "",
		anHour + "&after=%25":         "query: after is not the next of an earlier answer",
		"?at=yesterday":               "",
		anHour + "&limit=1000000":     "",
		anHour + "&bbox=13,52,14,152": "",
		"?from=1970-01-01T00:00:00Z&to=1970-02-01T00:00:00Z": "query: to is more than 25 hours behind from: ask for one day after another",
	} {
		r := tw.get("/v1/positions" + query)
		if tw.expect(r, 400, ""); detail != "" {
			tw.problem(r, 400, detail)
		}
	}
	if used := tw.api.memory.Used(); used != 0 {
		t.Errorf("%d bytes are held for no answer", used)
	}
	tw = newTown(t, options{})
	tw.problem(tw.get("/v1/positions?at=1970-01-01T00:10:00Z"), 404, "no past is kept: start the server with a data directory (--data DIR)")
}

// A key for some fleets reads the past of these alone, whether it names one or not.
func TestPositionsOfAKey(t *testing.T) {
	h := withPast(t)
	ring, err := keyring.Open(nil)
	must(t, err)
	t.Cleanup(ring.Close)
	for name, fleets := range map[string][]string{"one": {"taxis"}, "two": {"taxis", "default"}, "all": nil} {
		must(t, ring.Add(keyring.Key{Name: name, SHA256: keyring.DigestOf(name), Verbs: []string{"objects:read"}, Fleets: fleets}))
	}
	must(t, ring.Add(keyring.Key{Name: "writer", SHA256: keyring.DigestOf("writer"), Verbs: []string{"positions:write"}}))
	tw := newTown(t, options{config: func(c *Config) { c.History, c.Keys, c.KeyRequired = h, ring, true }})
	const at = "/v1/positions?at=1970-01-01T00:10:00Z"
	for _, c := range []struct {
		key, query string
		status     int
		want       string
	}{
		{"one", "", 200, `"objects":[]`},
		{"one", "&fleet=default", 403, "default"},
		{"two", "", 200, `"id":"w"`},
		{"two", "&fleet=default", 200, `"id":"w"`},
		{"all", "", 200, `"id":"w"`},
		{"writer", "", 403, "objects:read"},
		{"none", "", 401, ""},
	} {
		r := tw.get(at+c.query, "Authorization", "Bearer "+c.key)
		if r.status != c.status || !strings.Contains(string(r.body), c.want) {
			t.Errorf("%s%s: %d %s", c.key, c.query, r.status, r.body)
		}
	}
}

// No position that is left out is further from the line than the tolerance, and the ends remain.
func TestSimplified(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var fixes []history.Fix
	lon, lat := 179.99, 52.0
	for n := range 3*stretch + 17 {
		lon, lat = lon+0.0001, lat+0.0001*(r.Float64()-0.5)
		fixes = append(fixes, history.Fix{Time: track.Millis(n), Lon: math.Remainder(lon, 360), Lat: lat})
	}
	for _, metres := range []float64{0, 1, 20} {
		kept := simplified(fixes, metres)
		if kept[0] != fixes[0] || kept[len(kept)-1] != fixes[len(fixes)-1] || (len(kept) == len(fixes)) != (metres == 0) {
			t.Fatalf("%v m: %d of %d fixes", metres, len(kept), len(fixes))
		}
		for i := 1; i < len(kept); i++ {
			points := flat(fixes[kept[i-1].Time : kept[i].Time+1])
			for _, p := range points {
				if d := distance(p, points[0], points[len(points)-1]); d > metres+0.01 {
					t.Fatalf("%v m: a position is %v m from the line", metres, d)
				}
			}
		}
	}
}
