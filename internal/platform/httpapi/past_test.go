package httpapi

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"paddock/fence"
	"paddock/fence/geojson"
	"paddock/fence/track"
	"paddock/internal/platform/events"
	"paddock/internal/platform/history"
	"paddock/internal/platform/ingest"
	"paddock/internal/platform/journal"
	"paddock/internal/platform/views"
)

// withPast returns a history of two objects that move in and out of a fence.
func withPast(t *testing.T) *history.History {
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
	p, err := ingest.Open(ingest.Config{Journal: log, Fences: fences, Track: track.Options{Initial: track.InitialEnter}})
	must(t, err)
	p.Start(logOnly{events.NewLog(1000, 1<<20, "run1")})
	b := &ingest.Batch{}
	for n := range 60 {
		for _, id := range []string{"v", "w"} {
			b.Positions = append(b.Positions, track.Position{
				Fleet: "default", ID: id, Lon: float64(n), Lat: 5, Time: track.Millis(n) * 60_000,
				Speed: track.Measured(2.5), Props: json.RawMessage(`{"line":"M1"}`),
			})
		}
	}
	_, err = p.Submit(t.Context(), b)
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
